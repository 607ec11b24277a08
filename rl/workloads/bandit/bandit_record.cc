#include "rl/workloads/bandit/bandit_record.h"

#include <algorithm>
#include <any>
#include <functional>
#include <string>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/record/stored_episode.h"
#include "rl/record/table_row.h"
#include "rl/workload/task_purpose.h"

namespace reprise::rl {
namespace {

std::vector<StreamSchema> BanditStreams() {
  return {RecordStream("problems", {ScalarColumn("prompt", DType::kI64), RaggedColumn("features", DType::kF32),
                                    RaggedColumn("allowed", DType::kI32), ScalarColumn("best", DType::kI32)}),
          RecordStream("episodes", {ScalarColumn("prompt", DType::kI64), ScalarColumn("sample", DType::kI64),
                                    ScalarColumn("action", DType::kI32), RaggedColumn("logprobs", DType::kF32),
                                    RaggedColumn("ref_logprobs", DType::kF32), RaggedColumn("rewards", DType::kF64),
                                    ScalarColumn("reward", DType::kF64), ScalarColumn("advantage", DType::kF64)})};
}

std::vector<Comparison> BanditComparisons() {
  const std::vector<std::string> episode = {"prompt", "sample"};
  const ComparedColumn features = {"features", "", "feature"}, allowed = {"allowed", "", "allowed action"};
  const ComparedColumn action = {"action", ""}, logprobs = {"logprobs", "", "decision"};
  const ComparedColumn reference = {"ref_logprobs", "under the reference", "decision"};
  const ComparedColumn reward = {"reward", ""}, advantage = {"advantage", ""};
  std::vector<Comparison> comparisons = {{"tasks", "problems", {"prompt"}, {features, allowed, "best"}},
                                         {"actions", "episodes", episode, {action}},
                                         {"logprobs", "episodes", episode, {logprobs, reference}},
                                         {"rewards", "episodes", episode, {{"rewards", "", "function"}, reward}},
                                         {"advantages", "episodes", episode, {advantage}}};
  for (Comparison& digests : CompareDigests()) comparisons.push_back(std::move(digests));
  comparisons.push_back(CompareMetrics());
  return comparisons;
}

void EpisodeColumns(auto&& row, auto& episode, auto& action) {
  row.Columns(episode.prompt, episode.sample, action, episode.logprobs, episode.ref_logprobs, episode.rewards_F,
              episode.reward, episode.advantage);
}

// Returns what is wrong with a problem that was read; "" if nothing.
absl::string_view FaultOfProblem(const BanditConfig& bandit, absl::Span<const float> features,
                                 absl::Span<const int32_t> allowed, int32_t best) {
  if (static_cast<int64_t>(features.size()) != bandit.features || !AreWithinBounds(features)) {
    return "its features are not bandit.features finite numbers";
  }
  const bool ascends = std::adjacent_find(allowed.begin(), allowed.end(), std::greater_equal<>()) == allowed.end();
  if (allowed.size() < 2 || !ascends || allowed.front() < 0 || allowed.back() >= bandit.actions) {
    return "its allowed actions are not at least two of bandit.actions in ascending order";
  }
  return std::binary_search(allowed.begin(), allowed.end(), best) ? "" : "its best action is not allowed";
}

// Returns what is wrong with an episode that was read; "" if nothing. rewards: how many it must have.
absl::string_view FaultOfChoice(const EpisodeRecord& episode, int32_t action, absl::Span<const int32_t> allowed,
                                int64_t sample, size_t rewards) {
  if (episode.sample != sample) return "it is not the next sample of its problem";
  if (!std::binary_search(allowed.begin(), allowed.end(), action)) return "its action is not allowed";
  if (episode.logprobs.size() != 1) return "it has not exactly one log-probability";
  if (episode.ref_logprobs.size() > 1) return "it has more than one log-probability under the reference";
  return FaultOfEpisode(episode, /*decisions=*/1, rewards);
}

}  // namespace

RecordSchema BanditSchema(const Config& config) {
  std::vector<StreamSchema> streams = BanditStreams();
  for (StreamSchema& results : ResultStreams(/*has_counts=*/false)) streams.push_back(std::move(results));
  return {.streams = std::move(streams), .comparisons = BanditComparisons(), .check = [config](const StepTables& step) {
            return CheckBanditTables(config, step);
          }};
}

absl::Status CheckBanditTables(const Config& config, const StepTables& step) {
  const bool is_sft = step.phase == Phase::kSft;
  const int64_t prompts = is_sft ? config.sft.prompts_per_step : config.rollout.prompts_per_step;
  const int64_t samples = is_sft ? 1 : config.rollout.num_generations;
  RowReader problems(step.Find("problems")), episodes(step.Find("episodes"));
  for (int64_t prompt = 0; problems.has_row(); ++prompt, problems.Next()) {
    if (problems.Peek<int64_t>(0) != prompt || prompt >= prompts) return problems.Broken("it is not the next prompt");
    int64_t read_prompt = 0;
    std::vector<float> features;
    std::vector<int32_t> allowed;
    int32_t best = 0;
    problems.Columns(read_prompt, features, allowed, best);
    const absl::string_view fault = FaultOfProblem(config.bandit, features, allowed, best);
    if (!fault.empty()) return problems.Broken(fault);
    for (int64_t sample = 0; sample < samples; ++sample, episodes.Next()) {
      if (!episodes.has_row() || episodes.Peek<int64_t>(0) != prompt) return problems.Broken("it lacks an episode");
      EpisodeRecord episode;
      int32_t action = 0;
      EpisodeColumns(episodes, episode, action);
      const absl::string_view wrong = FaultOfChoice(episode, action, allowed, sample, is_sft ? 0 : 1);
      if (!wrong.empty()) return episodes.Broken(wrong);
    }
  }
  return episodes.has_row() ? episodes.Broken("it belongs to no problem") : absl::OkStatus();
}

std::vector<StreamTable> BanditTables(const StepRecord& part) {
  std::vector<StreamTable> tables = EmptyTables(BanditStreams());
  for (const TaskRecord& task : part.task_P) {
    const BanditProblem& problem = GetProblem(task);
    std::vector<int32_t> allowed;
    for (size_t a = 0; a < problem.allowed_A.size(); ++a) {
      if (problem.allowed_A[a] != 0) allowed.push_back(static_cast<int32_t>(a));
    }
    RowWriter(part.phase, part.step, tables[0]).Columns(task.prompt, problem.feature_F, allowed, problem.best);
  }
  for (const EpisodeRecord& episode : part.episode_N) {
    const int32_t action = GetAction(episode);
    EpisodeColumns(RowWriter(part.phase, part.step, tables[1]), episode, action);
  }
  return tables;
}

TaskRecord BanditTask(const BanditWorld& world, Purpose purpose, int64_t step, int64_t prompt) {
  TaskRecord task;
  task.prompt = prompt;
  task.content = world.ProblemAt(purpose, static_cast<uint64_t>(step), static_cast<uint64_t>(prompt));
  return task;
}

EpisodeRecord BanditEpisode(const TaskRecord& task, int64_t sample, int32_t action) {
  const BanditProblem& problem = GetProblem(task);
  EpisodeRecord episode;
  episode.prompt = task.prompt;
  episode.sample = sample;
  episode.terminated = true;
  episode.decisions.count = 1;
  episode.content = FeatureDecisions{problem.feature_F, problem.allowed_A, {action}};
  return episode;
}

const BanditProblem& GetProblem(const TaskRecord& task) {
  const auto* const problem = std::any_cast<BanditProblem>(&task.content);
  CHECK(problem != nullptr);
  return *problem;
}

int32_t GetAction(const EpisodeRecord& episode) {
  const auto* const decisions = std::any_cast<FeatureDecisions>(&episode.content);
  CHECK(decisions != nullptr);
  return decisions->action_T.at(0);
}

StepRecord RecordOfTables(const BanditWorld& world, const StepTables& step) {
  StepRecord record;
  static_cast<StepResults&>(record) = ReadResults(step);
  for (RowReader problems(step.Find("problems")); problems.has_row(); problems.Next()) {
    record.task_P.push_back(BanditTask(world, TaskPurpose(step.phase), step.step, problems.Peek<int64_t>(0)));
  }
  for (RowReader episodes(step.Find("episodes")); episodes.has_row(); episodes.Next()) {
    EpisodeRecord read;
    int32_t action = 0;
    EpisodeColumns(episodes, read, action);
    EpisodeRecord& episode =
        record.episode_N.emplace_back(BanditEpisode(FindTask(record.task_P, read), read.sample, action));
    TakeNumbers(std::move(read), &episode);
  }
  return record;
}

}  // namespace reprise::rl
