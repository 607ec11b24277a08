#include "rl/evaluation/evaluate.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/environment/environment.h"
#include "rl/episodes/sources.h"
#include "rl/gradient/corruption_origin.h"
#include "rl/gradient/step_loss.h"
#include "rl/policy/decoder/decoder_policy.h"
#include "rl/record/completions/record_turns.h"
#include "rl/reward/reward.h"
#include "rl/workload/workload.h"

namespace reprise::rl {
namespace {

bool IsCorrect(const Evaluator& evaluator, const TaskRecord& task, const EpisodeRecord& episode) {
  const CompletionEpisode& completion = CompletionOf(episode);
  const CompletionTask& asked = CompletionOf(task);
  const double least = evaluator.rewards.correct_reward;
  if (least > 0) return episode.reward >= least;  // false where it could not be scored
  if (!completion.turn_K.empty()) return EnvironmentReward(completion, /*turn_reward=*/0) >= 1.0;
  if (!asked.has_answer) return false;  // then it is not defined (DefinesAccuracy)
  const Scored scored =
      MakeScoredCompletion(evaluator.tokenizer, evaluator.rewards.rules, completion.tokens, episode.terminated);
  return ExactMatch({asked.text, asked.answer, scored.text, scored.terminated}) == 1.0;
}

StoredReplies SelectReplies(const std::vector<EvaluationReply>& stored, bool greedy) {
  StoredReplies replies(StoredReplies::Lack::kEndsEpisode);
  for (const EvaluationReply& entry : stored) {
    if (entry.greedy == greedy) replies.Add(entry.prompt, entry.sample, entry.turn, entry.reply);
  }
  return replies;
}

// Returns the digest of the first `count` tokens of an episode.
Digest DigestOfTokens(const CompletionEpisode& episode, int64_t count) {
  return Sha256(AsBytes(absl::MakeConstSpan(episode.tokens).first(static_cast<size_t>(count))));
}

// Appends the external process's replies in the episodes.
void AppendReplies(const TurnDeps& turns, const std::vector<EpisodeRecord>& episode_N,
                   std::vector<EvaluationReply>* replies) {
  for (const EpisodeRecord& episode : episode_N) {
    const CompletionEpisode& completion = CompletionOf(episode);
    EvaluationReply entry = {.greedy = turns.greedy, .prompt = episode.prompt, .sample = episode.sample};
    int64_t tokens = 0;
    for (const TurnRecord& turn : completion.turn_K) {
      tokens += turn.observation_tokens + turn.action_tokens;
      if (turn.reply && turns.is_outside) {
        entry.reply = *turn.reply;
        entry.asked = DigestOfTokens(completion, tokens);
        replies->push_back(entry);
      }
      ++entry.turn;
    }
    if (turns.scorer == nullptr) continue;
    entry.turn = EvaluationReply::kScore;
    entry.reply = {.reward = completion.process_reward};
    entry.asked = DigestOfTokens(completion, static_cast<int64_t>(completion.tokens.size()));
    replies->push_back(entry);
  }
}

// Plays the episodes of this rank's tasks and scores them.
absl::StatusOr<std::vector<EpisodeRecord>> Play(const Evaluator& evaluator, const std::vector<TaskRecord>& tasks,
                                                const models::GenerateOptions& options,
                                                std::vector<EvaluationReply>* replies) {
  const bool is_stored = evaluator.stored != nullptr;
  TurnDeps turns = evaluator.turns;
  turns.greedy = options.sampling.greedy;
  StoredReplies stored;
  TurnDeps player = turns;
  if (is_stored) {
    stored = SelectReplies(*evaluator.stored, turns.greedy);
    if (turns.is_outside) player.environment = &stored;
    player.scorer = nullptr;
    player.process = nullptr;
  }
  LiveSource source(evaluator.model, evaluator.tokenizer, options, evaluator.pool, player);
  ASSIGN_OR_RETURN(Episodes episodes, source.Draw(Phase::kTraining, static_cast<int64_t>(options.step), tasks));
  if (is_stored && turns.scorer != nullptr) {
    for (EpisodeRecord& episode : episodes.episode_N) {
      CompletionOf(episode).process_reward = stored.Score(episode.prompt, episode.sample);
    }
  }
  for (const EpisodeRecord& episode : episodes.episode_N) {
    const absl::Status status = CheckLogprobs(episode);
    if (!status.ok()) return WithOrigin(status, FindCorruption(evaluator.model, FindTask(tasks, episode), episode));
  }
  AppendReplies(turns, episodes.episode_N, replies);
  RETURN_IF_ERROR(ScoreEpisodes(evaluator.tokenizer, evaluator.rewards, tasks, absl::MakeSpan(episodes.episode_N)));
  return std::move(episodes.episode_N);
}

// Evaluates this rank's tasks.
absl::StatusOr<Evaluation> ScoreHere(const Evaluator& evaluator, const std::vector<TaskRecord>& tasks,
                                     const models::GenerateOptions& options) {
  Evaluation here;
  models::GenerateOptions greedy_options = options;
  greedy_options.num_generations = 1;
  greedy_options.sampling = {.greedy = true};
  ASSIGN_OR_RETURN(const std::vector<EpisodeRecord> greedy, Play(evaluator, tasks, greedy_options, &here.replies));
  std::vector<EpisodeRecord> sampled;
  if (options.num_generations > 0) {
    ASSIGN_OR_RETURN(sampled, Play(evaluator, tasks, options, &here.replies));
  }
  for (size_t p = 0; p < tasks.size(); ++p) {
    const EpisodeRecord& best = greedy[p];
    ProblemScore score = {tasks[p].prompt, IsCorrect(evaluator, tasks[p], best) ? 1 : 0, best.reward};
    std::vector<double> rewards;
    const size_t samples = static_cast<size_t>(options.num_generations);
    for (size_t i = p * samples; i < (p + 1) * samples; ++i) {
      const EpisodeRecord& episode = sampled[i];
      score.correct += IsCorrect(evaluator, tasks[p], episode) ? 1 : 0;
      if (!std::isnan(episode.reward)) rewards.push_back(episode.reward);
      score.tokens += NumDrawn(episode.decisions);
    }
    if (samples > 0) score.reward = kernels::TreeSum(rewards) / static_cast<double>(rewards.size());  // NaN: no reward
    here.score_P.push_back(score);
  }
  return here;
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const Evaluator& evaluator, const std::vector<TaskRecord>& tasks,
                                    const models::GenerateOptions& options) {
  Communicator& comm = evaluator.comm;
  const int64_t count = static_cast<int64_t>(tasks.size());
  // Contiguous and equal, so that the ranks' scores follow each other in order.
  const int64_t begin = FirstPromptOfShard(count, comm.size(), comm.rank());
  const int64_t end = FirstPromptOfShard(count, comm.size(), comm.rank() + 1);
  const std::vector<TaskRecord> own(tasks.begin() + begin, tasks.begin() + end);
  ASSIGN_OR_RETURN(Evaluation mine, AgreeOk(comm, ScoreHere(evaluator, own, options)));
  ASSIGN_OR_RETURN(mine.score_P, AllgatherRows(comm, std::move(mine.score_P)));
  return mine;
}

}  // namespace reprise::rl
