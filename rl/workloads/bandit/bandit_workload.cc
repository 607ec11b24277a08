#include "rl/workloads/bandit/bandit_workload.h"

#include <algorithm>
#include <any>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sampling/sampling.h"
#include "kernels/sums/sums.h"
#include "rl/advantage/optimal_value.h"
#include "rl/evaluation/scores/scores.h"
#include "rl/workload/replay.h"
#include "rl/workload/task_purpose.h"
#include "rl/workloads/bandit/bandit_record.h"

namespace reprise::rl {
namespace {

const CategoricalPolicy& AsCategoricalPolicy(const Policy& policy) {
  const auto* const categorical = dynamic_cast<const CategoricalPolicy*>(&policy);
  CHECK(categorical != nullptr);
  return *categorical;
}

std::vector<float> LogitsOf(const CategoricalPolicy& policy, const BanditProblem& problem) {
  std::vector<float> logit_A(problem.allowed_A.size());
  policy.Logits(problem.feature_F, problem.allowed_A, absl::MakeSpan(logit_A));
  return logit_A;
}

// Returns the most probable action; of several, the first.
int32_t GreedyAction(const CategoricalPolicy& policy, const BanditProblem& problem) {
  const std::vector<float> logit_A = LogitsOf(policy, problem);
  return static_cast<int32_t>(std::max_element(logit_A.begin(), logit_A.end()) - logit_A.begin());
}

double ActionReward(const BanditProblem& problem, int32_t action) { return problem.reward_A[action]; }

double Mean(const std::vector<double>& values) {
  return kernels::TreeSum(values) / static_cast<double>(std::max<size_t>(1, values.size()));
}

}  // namespace

BanditWorkload::BanditWorkload(const WorkloadRun& run, CategoricalPolicy& policy)
    : run_(run),
      world_(run.config.bandit, static_cast<uint64_t>(run.config.run.seed)),
      schema_(BanditSchema(run.config)),
      rewards_({{"bandit"}, {1.0}}),
      policy_(policy) {}

std::vector<EpisodeRecord> BanditWorkload::Sample(const CategoricalPolicy& policy, const TaskRecord& task,
                                                  Purpose purpose, int64_t step, int64_t samples) const {
  const std::vector<float> logits = LogitsOf(policy, GetProblem(task));
  const kernels::SamplingOptions options = {.temperature = static_cast<float>(run_.config.rollout.temperature)};
  kernels::SamplingWorkspace workspace;
  std::vector<EpisodeRecord> episode_G;
  for (int64_t sample = 0; sample < samples; ++sample) {
    std::vector<float> logit_A = logits;
    const double uniform = DrawUniform(static_cast<uint64_t>(run_.config.run.seed), purpose,
                                       {.step = static_cast<uint64_t>(step),
                                        .prompt = static_cast<uint64_t>(task.prompt),
                                        .sample = static_cast<uint64_t>(sample)});
    const kernels::SampledToken drawn =
        kernels::SampleToken(static_cast<int64_t>(logit_A.size()), logit_A.data(), options, uniform, &workspace);
    episode_G.push_back(BanditEpisode(task, sample, drawn.token));
    episode_G.back().logprobs = {drawn.logprob};
  }
  return episode_G;
}

absl::StatusOr<std::vector<EpisodeRecord>> BanditWorkload::Replay(const StepRecord& stored, const TaskRecord& task,
                                                                  int64_t samples) const {
  std::vector<EpisodeRecord> episode_G;
  for (int64_t sample = 0; sample < samples; ++sample) {
    ASSIGN_OR_RETURN(const EpisodeRecord* const episode, StoredEpisode(stored, task.prompt, sample, samples));
    const size_t action = static_cast<size_t>(GetAction(*episode));
    const std::vector<uint8_t>& allowed_A = GetProblem(task).allowed_A;
    if (action >= allowed_A.size() || allowed_A[action] == 0) {
      return absl::DataLossError(absl::StrCat("the run's step ", stored.step, ", prompt ", task.prompt, ", sample ",
                                              sample, " has action ", action,
                                              ", which its problem does not allow: the run was not made with its "
                                              "configuration"));
    }
    episode_G.push_back(BanditEpisode(task, sample, GetAction(*episode)));
  }
  return episode_G;
}

absl::StatusOr<StepEpisodes> BanditWorkload::Draw(const StepPart& part) { return AgreeOk(run_.comm, DrawHere(part)); }

absl::StatusOr<StepEpisodes> BanditWorkload::DrawHere(const StepPart& part) const {
  const bool is_sft = part.phase == Phase::kSft;
  ASSIGN_OR_RETURN(const std::optional<StepRecord> stored, StoredStep(run_, part, *this));
  const int64_t samples = is_sft ? 1 : run_.config.rollout.num_generations;
  StepEpisodes result;
  for (int64_t prompt = part.begin; prompt < part.end; ++prompt) {
    const TaskRecord& task = result.task_P.emplace_back(BanditTask(world_, TaskPurpose(part.phase), part.step, prompt));
    std::vector<EpisodeRecord> episode_G;
    if (is_sft) {
      episode_G.push_back(BanditEpisode(task, 0, GetProblem(task).best));
    } else if (stored) {
      ASSIGN_OR_RETURN(episode_G, Replay(*stored, task, samples));
    } else {
      episode_G = Sample(policy_, task, Purpose::kSampling, part.step, samples);
    }
    for (EpisodeRecord& episode : episode_G) result.episode_N.push_back(std::move(episode));
  }
  result.num_tokens = static_cast<int64_t>(result.episode_N.size());
  return result;
}

absl::Status BanditWorkload::Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) {
  for (EpisodeRecord& episode : episode_N) {
    const BanditProblem& problem = GetProblem(FindTask(task_P, episode));
    const double noise =
        world_.NoiseAt(problem.step, static_cast<uint64_t>(episode.prompt), static_cast<uint64_t>(episode.sample));
    episode.reward = ActionReward(problem, GetAction(episode)) + noise;
    episode.rewards_F = {episode.reward};
    RETURN_IF_ERROR(CheckReward(episode));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> BanditWorkload::PromptBaselines(const PromptBaselineRequest& request,
                                                                    const std::vector<TaskRecord>& task_P) {
  const CategoricalPolicy& policy = AsCategoricalPolicy(request.policy);
  const OptimalValueOptions& optimal = request.algorithm.optimal;
  std::vector<double> baseline_P;
  for (const TaskRecord& task : task_P) {
    if (request.algorithm.advantage.baseline == Baseline::kGreedy) {
      baseline_P.push_back(ActionReward(GetProblem(task), GreedyAction(policy, GetProblem(task))));
      continue;
    }
    std::vector<double> rewards;
    for (const EpisodeRecord& episode :
         Sample(policy, task, Purpose::kValueSampling, request.step, optimal.num_samples)) {
      rewards.push_back(ActionReward(GetProblem(task), GetAction(episode)));
    }
    baseline_P.push_back(OptimalValue(rewards, optimal));
  }
  return baseline_P;
}

absl::StatusOr<Metrics> BanditWorkload::Evaluate(int64_t step, int64_t) {
  const EvaluationConfig& evaluation = run_.config.evaluation;
  const int64_t count = evaluation.num_prompts;
  std::vector<ProblemScore> mine;
  for (int64_t prompt = FirstPromptOfShard(count, run_.comm.size(), run_.comm.rank());
       prompt < FirstPromptOfShard(count, run_.comm.size(), run_.comm.rank() + 1); ++prompt) {
    const TaskRecord task = BanditTask(world_, Purpose::kEvaluationTask, 0, prompt);
    const BanditProblem& problem = GetProblem(task);
    const int32_t greedy = GreedyAction(policy_, problem);
    ProblemScore score = {prompt, greedy == problem.best ? 1 : 0, ActionReward(problem, greedy)};
    std::vector<double> rewards;
    for (const EpisodeRecord& episode :
         Sample(policy_, task, Purpose::kEvaluationSampling, step, evaluation.num_generations)) {
      score.correct += GetAction(episode) == problem.best ? 1 : 0;
      rewards.push_back(ActionReward(problem, GetAction(episode)));
      ++score.tokens;
    }
    if (!rewards.empty()) score.reward = Mean(rewards);
    mine.push_back(score);
  }
  ASSIGN_OR_RETURN(const std::vector<ProblemScore> all, AllgatherRows(run_.comm, std::move(mine)));
  return ScoreMetrics(all, evaluation.num_generations);
}

std::vector<StreamTable> BanditWorkload::EncodeStep(StepRecord part) { return BanditTables(part); }

absl::StatusOr<StepRecord> BanditWorkload::DecodeStep(const StepTables& step) const {
  RETURN_IF_ERROR(CheckBanditTables(run_.config, step));
  return RecordOfTables(world_, step);
}

void BanditWorkload::AddMetrics(const AlgorithmConfig&, const StepRecord& record, Metrics* metrics) const {
  std::vector<double> best, regret;
  for (const EpisodeRecord& episode : record.episode_N) {
    const BanditProblem& problem = GetProblem(FindTask(record.task_P, episode));
    best.push_back(GetAction(episode) == problem.best ? 1.0 : 0.0);
    regret.push_back(1.0 - ActionReward(problem, GetAction(episode)));
  }
  metrics->emplace_back("bandit/best_action", Mean(best));
  metrics->emplace_back("bandit/regret", Mean(regret));
}

}  // namespace reprise::rl
