#include "rl/episodes/sources.h"

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/generation/ask_pool.h"
#include "rl/environment/environment.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_turns.h"

namespace reprise::rl {

absl::StatusOr<Episodes> LiveSource::Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) {
  const bool has_turns = turns_.environment != nullptr;
  if (phase == Phase::kSft) return has_turns ? Demonstrations(step, tasks) : Answers(tasks);
  std::vector<models::Prompt> prompts;
  for (const TaskRecord& task : tasks)
    prompts.push_back({CompletionOf(task).tokens, static_cast<uint64_t>(task.prompt)});
  options_.step = static_cast<uint64_t>(step);
  if (turns_.process != nullptr) options_.is_cancelled = [this] { return turns_.process->IsCancelled(); };
  models::GenerateResult sampled;
  std::optional<Player> player;
  if (has_turns) {
    player.emplace(*turns_.environment, tokenizer_, turns_.rules,
                   MakeDialogues(turns_, phase, step, tasks, options_.num_generations));
    ASSIGN_OR_RETURN(sampled, models::GenerateEpisodes(model_.decoder(), prompts, options_, *player, pool_, &memory_));
  } else {
    sampled = models::Generate(model_.decoder(), prompts, options_, pool_, &memory_);
  }
  refills_ += sampled.refills;
  Episodes episodes;
  for (size_t i = 0; i < sampled.completions.size(); ++i) {
    models::SampledCompletion& drawn = sampled.completions[i];
    EpisodeRecord episode;
    CompletionEpisode& completion = CompletionOf(episode);
    episode.prompt = tasks[i / static_cast<size_t>(options_.num_generations)].prompt;
    episode.sample = static_cast<int64_t>(i) % options_.num_generations;
    episode.terminated = drawn.terminated;
    if (player) {
      completion.turn_K = RecordTurns(drawn, player->dialogue(static_cast<int64_t>(i)));
      episode.terminated = EndedByEnvironment(completion);
    }
    completion.tokens = std::move(drawn.tokens);
    episode.decisions = MakeDecisions(completion);
    episode.logprobs = std::move(drawn.logprobs);
    episode.entropies = std::move(drawn.entropies);
    episode.behaviour_logprobs = std::move(drawn.behaviour_logprobs);
    episodes.episode_N.push_back(std::move(episode));
  }
  episodes.expert_count_LE = std::move(sampled.expert_count_LE);
  if (turns_.scorer != nullptr) {
    const std::vector<Dialogue> without_turns = MakeDialogues(turns_, phase, step, tasks, options_.num_generations);
    const auto dialogue = [&](int64_t n) -> const Dialogue& { return player ? player->dialogue(n) : without_turns[n]; };
    RETURN_IF_ERROR(Score(dialogue, &episodes));
  }
  return episodes;
}

absl::Status LiveSource::ForEachOnPartnerThreads(int64_t count, const std::function<void(int64_t)>& work) const {
  std::function<bool()> look = nullptr;
  if (turns_.process != nullptr) look = [this] { return turns_.process->IsCancelled(); };
  std::unique_ptr<ThreadPool> askers;
  if (turns_.process != nullptr && turns_.askers > 0) {
    ASSIGN_OR_RETURN(askers, ThreadPool::Create(static_cast<int>(turns_.askers)));
  }
  models::ForEachLooking(askers == nullptr ? pool_ : *askers, count, work, look);
  return absl::OkStatus();
}

// Returns the error of the first episode that has one; after an error the external process is not called any more.
absl::Status LiveSource::Score(const std::function<const Dialogue&(int64_t)>& dialogue, Episodes* episodes) const {
  std::vector<absl::Status> status_N(episodes->episode_N.size());
  RETURN_IF_ERROR(ForEachOnPartnerThreads(static_cast<int64_t>(status_N.size()), [&](int64_t n) {
    EpisodeRecord& episode = episodes->episode_N[n];
    const absl::StatusOr<double> reward = ScoreDialogue(turns_, tokenizer_, dialogue(n), episode);
    status_N[n] = reward.status();
    if (reward.ok()) CompletionOf(episode).process_reward = *reward;
  }));
  for (const absl::Status& status : status_N) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::StatusOr<Episodes> LiveSource::Answers(const std::vector<TaskRecord>& tasks) const {
  Episodes episodes;
  for (const TaskRecord& task : tasks) {
    EpisodeRecord episode;
    CompletionEpisode& completion = CompletionOf(episode);
    episode.prompt = task.prompt;
    episode.terminated = true;
    ASSIGN_OR_RETURN(completion.tokens, tokenizer_.Encode(CompletionOf(task).answer));
    completion.tokens.push_back(turns_.rules.end_tokens.at(0));
    episode.decisions = MakeDecisions(completion);
    episodes.episode_N.push_back(std::move(episode));
  }
  return episodes;
}

absl::StatusOr<Episodes> LiveSource::Demonstrations(int64_t step, const std::vector<TaskRecord>& tasks) const {
  Player player(*turns_.environment, tokenizer_, turns_.rules, MakeDialogues(turns_, Phase::kSft, step, tasks, 1));
  Episodes episodes;
  episodes.episode_N.resize(tasks.size());
  std::vector<absl::Status> status_N(tasks.size());
  RETURN_IF_ERROR(ForEachOnPartnerThreads(static_cast<int64_t>(tasks.size()), [&](int64_t n) {
    absl::StatusOr<EpisodeRecord> episode = Demonstrate(turns_, tokenizer_, player, n);
    status_N[n] = episode.status();
    if (episode.ok()) episodes.episode_N[n] = *std::move(episode);
  }));
  for (const absl::Status& status : status_N) RETURN_IF_ERROR(status);
  return episodes;
}

ReplaySource::ReplaySource(const std::vector<StepTables>& steps, RecordForm form, const models::DecoderConfig& decoder,
                           int64_t num_generations, const models::Tokenizer& tokenizer, TurnDeps turns,
                           std::unique_ptr<EpisodeSource> rest)
    : steps_(steps),
      form_(form),
      decoder_(decoder),
      num_generations_(num_generations),
      tokenizer_(tokenizer),
      turns_(std::move(turns)),
      rest_(std::move(rest)) {}

namespace {

StoredReplies SelectReplies(const StepRecord& record) {
  StoredReplies replies;
  for (const EpisodeRecord& episode : record.episode_N) {
    const std::vector<TurnRecord>& turn_K = CompletionOf(episode).turn_K;
    for (size_t k = 0; k < turn_K.size(); ++k) {
      const std::optional<Reply>& reply = turn_K[k].reply;
      if (reply) replies.Add(episode.prompt, episode.sample, static_cast<int64_t>(k), *reply);
    }
  }
  return replies;
}

}  // namespace

const std::vector<EvaluationReply>* ReplaySource::StoredEvaluation(int64_t step) const {
  if (!stored_) return nullptr;
  CHECK_EQ(stored_->step, step);
  return &GetEvaluationReplies(*stored_);
}

absl::StatusOr<Episodes> ReplaySource::Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) {
  stored_.reset();
  if (rest_ != nullptr && IsAfter(steps_, phase, step)) return rest_->Draw(phase, step, tasks);
  const StepTables* const tables = FindStep(steps_, phase, step);
  if (tables == nullptr) return absl::DataLossError(absl::StrCat("the run contains no step ", step));
  ASSIGN_OR_RETURN(stored_, FromTables(*tables, form_));
  const int64_t generations = phase == Phase::kSft ? 1 : num_generations_;
  const bool has_turns = turns_.environment != nullptr;
  StoredReplies replies;
  if (turns_.is_outside) replies = SelectReplies(*stored_);
  std::optional<Player> player;
  if (has_turns) {
    player.emplace(turns_.is_outside ? replies : *turns_.environment, tokenizer_, turns_.rules,
                   MakeDialogues(turns_, phase, step, tasks, generations));
  }
  Episodes episodes;
  for (const TaskRecord& task : tasks) {
    for (int64_t sample = 0; sample < generations; ++sample) {
      const auto replay = [&]() -> absl::StatusOr<EpisodeRecord> {
        ASSIGN_OR_RETURN(const EpisodeRecord* stored, StoredEpisode(task, sample, generations));
        EpisodeRecord episode;
        if (has_turns) {
          const int64_t index = static_cast<int64_t>(episodes.episode_N.size());
          ASSIGN_OR_RETURN(episode, ReplayTurns(turns_, tokenizer_, *player, index, *stored, phase));
        } else {
          episode = Replay(*stored);
        }
        if (turns_.scorer == nullptr || phase == Phase::kSft) return episode;
        if (turns_.scorer_place >= stored->rewards_F.size()) return absl::DataLossError("it lacks a reward");
        CompletionOf(episode).process_reward = stored->rewards_F[turns_.scorer_place];
        return episode;
      };
      absl::StatusOr<EpisodeRecord> episode = replay();
      if (!episode.ok()) {
        return WithContext(episode.status(),
                           absl::StrCat("the run's step ", step, ", prompt ", task.prompt, " sample ", sample));
      }
      episodes.episode_N.push_back(*std::move(episode));
    }
  }
  return episodes;
}

absl::StatusOr<const EpisodeRecord*> ReplaySource::StoredEpisode(const TaskRecord& task, int64_t sample,
                                                                 int64_t generations) const {
  const std::vector<EpisodeRecord>& stored = stored_->episode_N;
  const size_t at = static_cast<size_t>(task.prompt * generations + sample);
  if (at >= stored.size()) return absl::DataLossError("it is missing");
  const EpisodeRecord& episode = stored[at];
  if (episode.prompt != task.prompt || episode.sample != sample) {
    return absl::DataLossError(absl::StrCat("in its place is prompt ", episode.prompt, " sample ", episode.sample));
  }
  const std::vector<int32_t>& tokens = CompletionOf(episode).tokens;
  const int64_t positions = static_cast<int64_t>(CompletionOf(task).tokens.size() + tokens.size());
  if (positions > decoder_.max_position_embeddings) {
    return absl::DataLossError(absl::StrCat("it has ", tokens.size(), " tokens"));
  }
  for (int32_t token : tokens) {
    if (token < 0 || token >= decoder_.vocab_size) {
      return absl::DataLossError(absl::StrCat("token ", token, " is not in the vocabulary of ", decoder_.vocab_size));
    }
  }
  return &episode;
}

EpisodeRecord ReplaySource::Replay(const EpisodeRecord& stored) const {
  EpisodeRecord episode;
  episode.prompt = stored.prompt;
  episode.sample = stored.sample;
  CompletionEpisode& completion = CompletionOf(episode);
  completion.tokens = CompletionOf(stored).tokens;
  episode.decisions = MakeDecisions(completion);
  episode.terminated = IsComplete(tokenizer_, turns_.rules, completion.tokens);
  return episode;
}

}  // namespace reprise::rl
