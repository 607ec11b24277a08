#include "rl/workloads/quiet_star/quiet_star_workload.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "kernels/sums/sums.h"
#include "rl/workload/replay.h"
#include "rl/workloads/quiet_star/thought_metrics.h"
#include "rl/workloads/quiet_star/thought_record.h"

namespace reprise::rl {
namespace {

// One text and its thoughts, as passes take them.
ShardInput MakeShardInput(const TaskRecord& task, absl::Span<const EpisodeRecord> episode_G) {
  EpisodeGroup group;
  group.task = &task;
  for (size_t g = 0; g < episode_G.size(); ++g) {
    group.episode_G.push_back(&episode_G[g]);
    group.index_G.push_back(static_cast<int64_t>(g));
  }
  return {std::move(group)};
}

std::vector<int64_t> PositionsIn(const EpisodeRecord& episode) {
  std::vector<int64_t> position_M;
  for (const models::Thought& thought : GetThoughts(episode)) position_M.push_back(thought.position);
  return position_M;
}

}  // namespace

QuietStarWorkload::QuietStarWorkload(const WorkloadRun& run, ThoughtPolicy& policy, ThoughtTexts texts,
                                     bool earns_by_turn)
    : run_(run),
      policy_(policy),
      texts_(std::move(texts)),
      schema_(ThoughtSchema({run.config, policy.model().config().vocab_size})),
      rewards_({.names_F = {"thoughts"},
                .weights_F = {run.config.quiet_star.reward_weight},
                .by_turn = earns_by_turn ? std::optional<size_t>(0) : std::nullopt}),
      // Nothing is differentiated here, so that one layer's activations are enough.
      workspace_(policy.NewWorkspace({.max_rows = run.config.execution.micro_batch_tokens, .recompute = true},
                                     Team(run.pool))) {}

models::ThoughtSampling QuietStarWorkload::MakeSampling(Purpose purpose, int64_t step, int64_t samples,
                                                        bool greedy) const {
  models::ThoughtSampling sampling = policy_.options().sampling;
  sampling.num_thoughts = samples;
  sampling.sampling.greedy = greedy;
  sampling.slots = run_.config.execution.decode_slots;
  sampling.purpose = purpose;
  sampling.step = static_cast<uint64_t>(step);
  return sampling;
}

void QuietStarWorkload::ScoreTasks(absl::Span<const TaskRecord> task_P, absl::Span<const EpisodeRecord> episode_N,
                                   const ReceiveScores& receive) {
  const size_t samples = task_P.empty() ? 0 : episode_N.size() / task_P.size();
  for (size_t p = 0; p < task_P.size(); ++p) {
    const absl::Span<const EpisodeRecord> episode_G = episode_N.subspan(p * samples, samples);
    const ThoughtPlaces places = {PositionsIn(episode_G.front()), static_cast<int64_t>(samples),
                                  run_.config.quiet_star.tokens_ahead};
    policy_.ScoreGroups(
        MakeShardInput(task_P[p], episode_G),
        [&](size_t, const models::ThoughtScores& scores) { receive(p, places, scores); }, workspace_.get());
  }
}

std::vector<int64_t> QuietStarWorkload::ChoosePositions(const TaskRecord& task, int64_t answer_begin, bool held_out) {
  const QuietStarConfig& quiet_star = run_.config.quiet_star;
  const int64_t last = static_cast<int64_t>(TextIn(task).token_S.size()) - 1;
  std::vector<int64_t> positions;
  if (quiet_star.positions == ThoughtPositions::kDifficult) {
    const std::vector<EpisodeRecord> silent = {ThoughtEpisode(task, 0, {})};
    ScoreTasks({&task, 1}, silent, [&](size_t, const ThoughtPlaces&, const models::ThoughtScores& scores) {
      positions = DifficultPositions(quiet_star, policy_.model().config().vocab_size, scores, held_out);
    });
    return positions;
  }
  for (int64_t p = quiet_star.positions == ThoughtPositions::kAnswer ? answer_begin - 1 : 0; p < last; ++p)
    positions.push_back(p);
  return positions;
}

std::vector<EpisodeRecord> QuietStarWorkload::Think(absl::Span<const TaskRecord> task_P,
                                                    absl::Span<const int64_t> answer_begin_P,
                                                    const models::ThoughtSampling& sampling) {
  std::vector<models::ThinkingText> texts;
  for (size_t p = 0; p < task_P.size(); ++p) {
    texts.push_back({TextIn(task_P[p]).token_S, static_cast<uint64_t>(task_P[p].prompt),
                     ChoosePositions(task_P[p], answer_begin_P[p], sampling.purpose == models::kEvaluationThought)});
  }
  const size_t samples = static_cast<size_t>(sampling.num_thoughts);
  std::vector<EpisodeRecord> episode_N;
  models::SampledThoughts sampled =
      models::SampleThoughts(policy_.model().decoder(), texts, sampling, run_.pool, &memory_);
  for (size_t p = 0; p < task_P.size(); ++p) {
    std::vector<models::SampledThought>& thoughts = sampled.by_text[p];
    CHECK_EQ(thoughts.size(), samples * texts[p].positions.size());
    thoughts_ += static_cast<int64_t>(thoughts.size());
    for (size_t g = 0; g < samples; ++g) {
      std::vector<models::Thought> of_sample;
      std::vector<float> logprobs, entropies, behaviour;
      for (size_t at = g; at < thoughts.size(); at += samples) {
        of_sample.push_back(std::move(thoughts[at].thought));
        logprobs.insert(logprobs.end(), thoughts[at].logprobs.begin(), thoughts[at].logprobs.end());
        entropies.insert(entropies.end(), thoughts[at].entropies.begin(), thoughts[at].entropies.end());
        behaviour.insert(behaviour.end(), thoughts[at].behaviour_logprobs.begin(),
                         thoughts[at].behaviour_logprobs.end());
      }
      EpisodeRecord& episode =
          episode_N.emplace_back(ThoughtEpisode(task_P[p], static_cast<int64_t>(g), std::move(of_sample)));
      episode.logprobs = std::move(logprobs);
      episode.entropies = std::move(entropies);
      episode.behaviour_logprobs = std::move(behaviour);
    }
  }
  return episode_N;
}

absl::StatusOr<std::vector<EpisodeRecord>> QuietStarWorkload::Stored(const StepRecord& stored,
                                                                     absl::Span<const TaskRecord> task_P) const {
  const int64_t samples = run_.config.rollout.num_generations;
  std::vector<EpisodeRecord> episode_N;
  for (const TaskRecord& task : task_P) {
    const int64_t last = static_cast<int64_t>(TextIn(task).token_S.size()) - 1;
    for (int64_t sample = 0; sample < samples; ++sample) {
      ASSIGN_OR_RETURN(const EpisodeRecord* const episode, StoredEpisode(stored, task.prompt, sample, samples));
      const auto is_lost = [&](absl::string_view what) {
        return absl::DataLossError(
            absl::StrCat("the run's step ", stored.step, " ", what, " prompt ", task.prompt, " sample ", sample));
      };
      std::vector<models::Thought> thoughts = GetThoughts(*episode);
      const size_t first = static_cast<size_t>(task.prompt * samples);
      if (PositionsIn(*episode) != PositionsIn(stored.episode_N[first])) {
        return is_lost("has thoughts at other positions than those of its other samples in");
      }
      if (!thoughts.empty() && thoughts.back().position >= last) {
        return is_lost("has a thought behind the end of the text of");
      }
      episode_N.push_back(ThoughtEpisode(task, sample, std::move(thoughts)));
    }
  }
  return episode_N;
}

absl::StatusOr<StepEpisodes> QuietStarWorkload::Draw(const StepPart& part) {
  return AgreeOk(run_.comm, DrawHere(part));
}

absl::StatusOr<StepEpisodes> QuietStarWorkload::DrawHere(const StepPart& part) {
  ASSIGN_OR_RETURN(const std::optional<StepRecord> stored, StoredStep(run_, part, *this));
  StepEpisodes result;
  std::vector<int64_t> answer_begin_P;
  for (int64_t prompt = part.begin; prompt < part.end; ++prompt) {
    result.task_P.push_back(ThoughtTask(texts_, part.phase, part.step, prompt));
    answer_begin_P.push_back(texts_.At(part.phase, part.step, prompt).answer_begin);
    result.num_tokens += static_cast<int64_t>(TextIn(result.task_P.back()).token_S.size());
  }
  if (part.phase == Phase::kSft) {
    for (const TaskRecord& task : result.task_P) result.episode_N.push_back(TextEpisode(task));
    return result;
  }
  if (stored) {
    ASSIGN_OR_RETURN(result.episode_N, Stored(*stored, result.task_P));
  } else {
    result.episode_N =
        Think(result.task_P, answer_begin_P,
              MakeSampling(models::kThought, part.step, run_.config.rollout.num_generations, /*greedy=*/false));
  }
  for (const EpisodeRecord& episode : result.episode_N) result.num_tokens += episode.decisions.count;
  return result;
}

absl::Status QuietStarWorkload::Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) {
  const size_t samples = static_cast<size_t>(run_.config.rollout.num_generations);
  ScoreTasks(task_P, episode_N, [&](size_t p, const ThoughtPlaces& places, const models::ThoughtScores& scores) {
    const std::vector<std::vector<double>> reward_GM =
        ComputeThoughtRewards(run_.config.quiet_star, TextIn(task_P[p]), places, scores);
    for (size_t g = 0; g < samples; ++g) {
      EpisodeRecord& episode = episode_N[p * samples + g];
      const std::vector<models::Thought>& thoughts = GetThoughts(episode);
      episode.earned_T.assign(static_cast<size_t>(episode.decisions.count), 0.0);
      size_t end = 0;
      for (size_t m = 0; m < thoughts.size(); ++m) {
        end += thoughts[m].tokens.size();
        episode.earned_T[end - 1] = reward_GM[g][m];
      }
      const double sum = kernels::TreeSum(reward_GM[g]);
      episode.rewards_F = {sum};
      episode.reward = run_.config.quiet_star.reward_weight * sum;
    }
  });
  for (const EpisodeRecord& episode : episode_N) {
    const bool sound =
        IsWithinBounds(episode.reward) && std::all_of(episode.earned_T.begin(), episode.earned_T.end(),
                                                      [](double earned) { return IsWithinBounds(earned); });
    if (sound) continue;
    return absl::InternalError(absl::StrCat("a reward of prompt ", episode.prompt, " sample ", episode.sample,
                                            " is not within bounds; their sum is ", episode.reward));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> QuietStarWorkload::PromptBaselines(const PromptBaselineRequest& request,
                                                                       const std::vector<TaskRecord>&) {
  return absl::InternalError(absl::StrCat("algorithm.baseline ", BaselineName(request.algorithm.advantage.baseline),
                                          " is refused for thoughts when the configuration is checked"));
}

std::vector<StreamTable> QuietStarWorkload::EncodeStep(StepRecord part) { return ThoughtTables(texts_, part); }

absl::StatusOr<StepRecord> QuietStarWorkload::DecodeStep(const StepTables& step) const {
  RETURN_IF_ERROR(CheckThoughtTables({run_.config, policy_.model().config().vocab_size}, step));
  return ReadThoughtRecord(texts_, step);
}

void QuietStarWorkload::AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const {
  AddThoughtMetrics(record, metrics);
  const double policy_loss = ValueOf(*metrics, "loss");
  AddTextLosses(run_.config.quiet_star, metrics);
  if (run_.config.quiet_star.paper_metrics) AddPaperMetrics(algorithm, record, policy_loss, metrics);
}

QuietStarWorkload::NamedCounts QuietStarWorkload::execution_counts() const { return {{"thoughts", thoughts_}}; }

}  // namespace reprise::rl
