#include "rl/workloads/morphogenesis/growth_workload.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/status/status_macros.h"
#include "rl/workload/replay.h"
#include "rl/workloads/morphogenesis/growth_record.h"
#include "rl/workloads/morphogenesis/growth_timeline.h"

namespace reprise::rl {
GrowthWorkload::GrowthWorkload(const WorkloadRun& run, CategoricalPolicy& policy, const GrowthRules& rules,
                               const GrowthExamples& examples, bool earns_by_turn)
    : run_(run),
      policy_(policy),
      rules_(rules),
      examples_(examples),
      schema_(GrowthSchema(run.config)),
      rewards_({.names_F = {run.config.morphogenesis.reward},
                .weights_F = {1.0},
                .by_turn = earns_by_turn ? std::optional<size_t>(0) : std::nullopt}) {}

absl::StatusOr<std::vector<PlayedGrowth>> GrowthWorkload::PlayAll(const std::vector<Game>& games) {
  const GrowthDeps parts = {run_.config.morphogenesis, rules_, examples_};
  std::vector<absl::StatusOr<PlayedGrowth>> played_N(games.size(), absl::UnknownError("not played"));
  run_.pool.ForEach(static_cast<int64_t>(games.size()), [&](int64_t n, int) {
    const Game& game = games[n];
    played_N[n] = PlayGrowth(parts, game.host_seed, game.choose);
  });
  played_hosts_ += static_cast<int64_t>(games.size());
  std::vector<PlayedGrowth> result;
  for (absl::StatusOr<PlayedGrowth>& played : played_N) {
    RETURN_IF_ERROR(played.status());
    result.push_back(*std::move(played));
  }
  return result;
}

ChooseGrowth GrowthWorkload::Sampled(Purpose purpose, int64_t step, int64_t prompt, int64_t sample) const {
  return SampledChoices(policy_, static_cast<float>(run_.config.rollout.temperature),
                        {.seed = seed(),
                         .purpose = purpose,
                         .step = static_cast<uint64_t>(step),
                         .prompt = static_cast<uint64_t>(prompt),
                         .sample = static_cast<uint64_t>(sample)});
}

absl::StatusOr<StepEpisodes> GrowthWorkload::Draw(const StepPart& part) { return AgreeOk(run_.comm, DrawHere(part)); }

absl::StatusOr<StepEpisodes> GrowthWorkload::DrawHere(const StepPart& part) {
  const bool is_sft = part.phase == Phase::kSft;
  ASSIGN_OR_RETURN(const std::optional<StepRecord> stored, StoredStep(run_, part, *this));
  const int64_t samples = is_sft ? 1 : run_.config.rollout.num_generations;
  StepEpisodes result;
  std::vector<PlayedGrowth> played_N;
  std::vector<Game> games;
  for (int64_t prompt = part.begin; prompt < part.end; ++prompt) {
    const TaskRecord& task = result.task_P.emplace_back(GrowthTaskRecord(run_.config, part.phase, part.step, prompt));
    for (int64_t sample = 0; sample < samples; ++sample) {
      if (stored) {
        ASSIGN_OR_RETURN(const EpisodeRecord* const episode, StoredEpisode(*stored, prompt, sample, samples));
        played_N.push_back(GetPlayedGrowth(*episode));
        continue;
      }
      games.push_back({GetGrowthTask(task).host_seed, is_sft ? HeuristicChoices(rules_.actions)
                                                             : Sampled(Purpose::kSampling, part.step, prompt, sample)});
    }
  }
  if (!stored) {
    ASSIGN_OR_RETURN(played_N, PlayAll(games));
  }
  for (size_t n = 0; n < played_N.size(); ++n) {
    const int64_t prompt = part.begin + static_cast<int64_t>(n) / samples, sample = static_cast<int64_t>(n) % samples;
    std::vector<float> logprob_T = std::move(played_N[n].logprob_T);
    played_N[n].logprob_T.clear();
    ASSIGN_OR_RETURN(EpisodeRecord episode, GrowthEpisodeRecord(rules_, prompt, sample, std::move(played_N[n])));
    // A replay leaves them to the loop, which compares them with the stored ones.
    if (!stored && !is_sft) episode.logprobs = std::move(logprob_T);
    result.num_tokens += episode.decisions.count;
    result.episode_N.push_back(std::move(episode));
  }
  return result;
}

absl::Status GrowthWorkload::Reward(absl::Span<const TaskRecord>, absl::Span<EpisodeRecord> episode_N) {
  for (EpisodeRecord& episode : episode_N) {
    ASSIGN_OR_RETURN(const GrowthOutcome outcome, ComputeOutcome(rules_, GetPlayedGrowth(episode)));
    episode.reward = outcome.total_return();
    episode.rewards_F = {episode.reward};
    episode.earned_T = outcome.earned_T();
    RETURN_IF_ERROR(CheckReward(episode));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> GrowthWorkload::PromptBaselines(const PromptBaselineRequest&,
                                                                    const std::vector<TaskRecord>&) {
  return absl::InvalidArgumentError("run.workload morphogenesis has no baselines of prompts");
}

std::vector<GrowthWorkload::HeldOutHost> GrowthWorkload::HeldOutHosts() const {
  const int64_t all = run_.config.evaluation.num_prompts;
  const int ranks = run_.comm.size(), rank = run_.comm.rank();
  std::vector<HeldOutHost> hosts;
  for (int64_t p = FirstPromptOfShard(all, ranks, rank); p < FirstPromptOfShard(all, ranks, rank + 1); ++p) {
    const uint64_t prompt = static_cast<uint64_t>(p);
    hosts.push_back({prompt, HostSeed(seed(), Purpose::kEvaluationTask, 0, prompt)});
  }
  return hosts;
}

absl::StatusOr<std::vector<GrowthScore>> GrowthWorkload::ScoreGames(const std::vector<Game>& games) {
  ASSIGN_OR_RETURN(const std::vector<PlayedGrowth> played_N, PlayAll(games));
  std::vector<GrowthScore> scores;
  for (const PlayedGrowth& played : played_N) {
    ASSIGN_OR_RETURN(const GrowthOutcome outcome, ComputeOutcome(rules_, played));
    scores.push_back(ScoreGrowth(played, outcome));
  }
  return scores;
}

absl::StatusOr<std::vector<HeldOutGrowth>> GrowthWorkload::MeasureHere(int64_t step) {
  const std::vector<HeldOutHost> hosts = HeldOutHosts();
  const int64_t samples = run_.config.evaluation.num_generations;
  const bool is_first = heuristic_P_.empty() && !hosts.empty();
  std::vector<Game> greedy, sampled, heuristic, random;
  for (const HeldOutHost& host : hosts) {
    greedy.push_back({host.host_seed, GreedyChoices(policy_)});
    for (int64_t sample = 0; sample < samples; ++sample) {
      sampled.push_back(
          {host.host_seed, Sampled(Purpose::kEvaluationSampling, step, static_cast<int64_t>(host.prompt), sample)});
    }
    heuristic.push_back({host.host_seed, HeuristicChoices(rules_.actions)});
    random.push_back({host.host_seed, RandomChoices(seed(), host.prompt)});
  }
  if (is_first) {
    ASSIGN_OR_RETURN(heuristic_P_, ScoreGames(heuristic));
    ASSIGN_OR_RETURN(random_P_, ScoreGames(random));
  }
  ASSIGN_OR_RETURN(const std::vector<GrowthScore> greedy_P, ScoreGames(greedy));
  ASSIGN_OR_RETURN(const std::vector<GrowthScore> sampled_N, ScoreGames(sampled));
  std::vector<HeldOutGrowth> measured;
  for (size_t p = 0; p < hosts.size(); ++p) {
    const absl::Span<const GrowthScore> sampled_G =
        absl::MakeConstSpan(sampled_N).subspan(p * static_cast<size_t>(samples), static_cast<size_t>(samples));
    measured.push_back(SummarizeHeldOut(greedy_P[p], heuristic_P_[p], random_P_[p], sampled_G, rules_.task.max_epochs));
  }
  return measured;
}

absl::StatusOr<Metrics> GrowthWorkload::Evaluate(int64_t step, int64_t) {
  ASSIGN_OR_RETURN(const std::vector<HeldOutGrowth> mine, AgreeOk(run_.comm, MeasureHere(step)));
  ASSIGN_OR_RETURN(const std::vector<HeldOutGrowth> all, AllgatherRows(run_.comm, std::move(mine)));
  return HeldOutMetrics(all, run_.config.evaluation.num_generations);
}

absl::StatusOr<std::string> GrowthWorkload::Transcript(int64_t) {
  const uint64_t host_seed = HostSeed(seed(), Purpose::kEvaluationTask, 0, 0);
  const GrowthDeps parts = {run_.config.morphogenesis, rules_, examples_};
  ASSIGN_OR_RETURN(const PlayedGrowth played, PlayGrowth(parts, host_seed, GreedyChoices(policy_)));
  return FormatTimeline(rules_, played);
}

std::vector<StreamTable> GrowthWorkload::EncodeStep(StepRecord part) { return GrowthTables(part); }

absl::StatusOr<StepRecord> GrowthWorkload::DecodeStep(const StepTables& step) const {
  RETURN_IF_ERROR(CheckGrowthTables(run_.config, rules_, step));
  return ReadGrowthRecord(rules_, step);
}

void GrowthWorkload::AddMetrics(const AlgorithmConfig&, const StepRecord& record, Metrics* metrics) const {
  AddGrowthMetrics(rules_, record, metrics);
  if (!run_.config.morphogenesis.normalizes_entropy) return;
  for (auto& [name, value] : *metrics) name = name == "entropy" ? "normalized_entropy" : name;
}

}  // namespace reprise::rl
