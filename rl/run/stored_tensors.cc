#include "rl/run/stored_tensors.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "data/artifact/run_state.h"
#include "rl/config/workload_traits.h"
#include "rl/evaluation/scores/best_so_far.h"
#include "rl/gradient/sharded_optimizer.h"
#include "rl/learner/schedule_state.h"
#include "rl/run/step_number.h"

namespace reprise::rl {
namespace {

constexpr double kMostCount = 9007199254740992.0;  // 2^53: every count up to here is a double

enum Counter { kUpdates, kNumTokens, kCounters };

bool HasGroup(const RunReader& reader, absl::string_view name) {
  const std::vector<CheckpointInfo> infos = reader.checkpoints();
  return std::any_of(infos.begin(), infos.end(), [&](const CheckpointInfo& info) { return info.group == name; });
}

absl::Status ReadCounters(const RunReader& reader, int64_t number, LearnerState* state) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(number, kCountersGroup));
  if (tensors.size() != 1 || tensors[0].dtype() != DType::kI64 || tensors[0].size() != kCounters) {
    return absl::DataLossError("its counters do not have the form of a state's");
  }
  state->updates = tensors[0].data<int64_t>()[kUpdates];
  state->num_tokens = tensors[0].data<int64_t>()[kNumTokens];
  return absl::OkStatus();
}

// Checks that the numbers are within bounds: some of them are counts, which must fit into 64-bit integers.
absl::Status CheckNumbers(const std::vector<double>& numbers, absl::string_view name) {
  const auto is_fine = [](double number) { return std::fabs(number) <= kLargestMagnitude; };
  if (std::all_of(numbers.begin(), numbers.end(), is_fine)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("its ", name, " contains a number that is out of bounds"));
}

absl::Status ReadBest(const RunReader& reader, int64_t number, LearnerState* state) {
  if (!HasGroup(reader, kBestGroup)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(number, kBestGroup));
  if (tensors.size() != 1 || tensors[0].dtype() != DType::kF64 ||
      tensors[0].size() != static_cast<int64_t>(kBestNumbers)) {
    return absl::DataLossError("its best evaluation does not have the form of a state's");
  }
  state->best.assign(tensors[0].data<double>().begin(), tensors[0].data<double>().end());
  return CheckNumbers(state->best, "best evaluation");
}

// Returns what a step's metrics contain about evaluations, which is enough for a finished run.
std::vector<double> BestOfMetrics(const Metrics& metrics) {
  BestSoFar best;
  for (const auto& [name, value] : metrics) {
    if (name == "eval_best_step") best.step = StoredCount(value);
    if (name == "eval_best") best.value = best.counted = value;
    if (name == "eval_no_improvement") best.waited = StoredCount(value);
  }
  return best.step == 0 ? std::vector<double>() : BestToNumbers(best);
}

absl::Status ReadSchedules(const RunReader& reader, const Config& config, int64_t number, LearnerState* state) {
  if (!HasGroup(reader, kSchedulesGroup)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(number, kSchedulesGroup));
  const size_t least = state->phase == Phase::kSft ? 1 : LeastScheduleNumbers(SelectKeptNumbers(config));
  if (tensors.size() != 1 || tensors[0].dtype() != DType::kF64 || tensors[0].size() < static_cast<int64_t>(least)) {
    return absl::DataLossError("its schedules do not have the form of a state's");
  }
  state->schedules.assign(tensors[0].data<double>().begin(), tensors[0].data<double>().end());
  return CheckNumbers(state->schedules, "schedules");
}

}  // namespace

absl::StatusOr<std::vector<float>> ReadFlat(const RunReader& reader, int64_t number, absl::string_view group,
                                            const FlatLayout& layout) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(number, group));
  const std::string holds = absl::StrCat("its group ", group, " of step number ", number, " holds ");
  const auto refuse = [&](const std::string& what) { return absl::FailedPreconditionError(holds + what); };
  if (tensors.size() != layout.specs.size()) {
    return refuse(absl::StrCat(tensors.size(), " tensors; the model has ", layout.specs.size()));
  }
  const bool is_weights = group == kWeightsGroup || group == kReferenceGroup || group == kBestWeightsGroup;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ParameterSpec& spec = layout.specs[i];
    const Tensor& tensor = tensors[i];
    if (tensor.name() != spec.name || tensor.dtype() != DType::kF32 || tensor.shape() != spec.shape) {
      return refuse(absl::StrCat(tensor.name(), " ", ToString(tensor.shape()), " where the model has ", spec.name, " ",
                                 ToString(spec.shape)));
    }
  }
  std::vector<float> flat(static_cast<size_t>(layout.total));  // the sizes are those of the file's tensors
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ParameterSpec& spec = layout.specs[i];
    const Tensor& tensor = tensors[i];
    if (const std::optional<size_t> at =
            is_weights ? FirstThatIsNoWeight(tensor.data<float>()) : FirstNotFinite(tensor.data<float>())) {
      return absl::DataLossError(absl::StrCat(holds, tensor.data<float>()[*at], " as element ", *at, " of ", spec.name,
                                              ", which is out of bounds"));
    }
    std::copy(tensor.data<float>().begin(), tensor.data<float>().end(), flat.begin() + spec.offset);
  }
  return flat;
}

namespace {

absl::Status ReadGroups(const RunReader& reader, const Config& config, int64_t number, const FlatLayout& layout,
                        LearnerState* state) {
  ASSIGN_OR_RETURN(state->weights, ReadFlat(reader, number, kWeightsGroup, layout));
  for (const std::string& name : MakeOptimizer(config.optimizer)->groups()) {
    ASSIGN_OR_RETURN(std::vector<float> values, ReadFlat(reader, number, name, layout));
    state->optimizer.push_back({name, std::move(values)});
  }
  return absl::OkStatus();
}

// Returns the weights and the optimizer's state.
std::vector<TensorGroup> TrainedGroups(const PolicyState& state) {
  std::vector<TensorGroup> groups = {{std::string(kWeightsGroup), state.weights}};
  groups.insert(groups.end(), state.optimizer.begin(), state.optimizer.end());
  return groups;
}

}  // namespace

std::vector<TensorGroup> CheckpointGroups(const PolicyState& state) {
  std::vector<TensorGroup> groups = TrainedGroups(state);
  if (state.is_over && !state.best_weights.empty()) {
    groups.push_back({std::string(kBestWeightsGroup), state.best_weights});
  }
  return groups;
}

absl::StatusOr<LearnerState> StateOfCheckpoint(const RunReader& reader, const Config& config, const StepTables& step,
                                               const FlatLayout& layout) {
  LearnerState state;
  state.phase = step.phase;
  state.step = step.step;
  const int64_t number = ArtifactStep(config, step.phase, step.step);
  RETURN_IF_ERROR(ReadGroups(reader, config, number, layout, &state));
  const bool sft = step.phase == Phase::kSft;
  const Metrics metrics = ReadResults(step).metrics;
  const AlgorithmConfig& row = config.algorithm;
  const int64_t updates_a_step = row.update.num_iterations * row.update.num_mini_batches;
  state.updates = sft ? step.step : step.step * updates_a_step;
  for (const auto& [name, value] : metrics) {
    const bool tokens = name == "num_tokens", updates = name == "num_updates";  // updates: where some may be skipped
    if (!tokens && !updates) continue;
    if (!(value >= 0 && value <= kMostCount)) {
      return absl::DataLossError(absl::StrCat("a step's ", name, " is not a count"));
    }
    (tokens ? state.num_tokens : state.updates) = static_cast<int64_t>(value);
  }
  state.best = BestOfMetrics(metrics);
  if (const std::optional<FailureRule> rule =
          Traits(config).trends(config).failures) {  // a finished run knows why it ended
    const double failures = GetMetric(step, rule->failures);
    ScheduleState schedules;
    schedules.failures_in_a_row = failures >= 0 && failures <= kMostCount ? static_cast<int64_t>(failures) : 0;
    state.schedules = ToNumbers(schedules, SelectKeptNumbers(config));
  }
  if (HasGroup(reader, kBestWeightsGroup)) {  // only in the run's last checkpoint
    ASSIGN_OR_RETURN(state.best_weights, ReadFlat(reader, number, kBestWeightsGroup, layout));
  }
  return state;
}

absl::Status SaveLearnerState(FileSystem& files, absl::string_view run_directory, const RunHeader& header,
                              const Config& config, const PolicyState& state) {
  Tensor counters("counters", DType::kI64, {kCounters});
  counters.mutable_data<int64_t>()[kUpdates] = state.updates;
  counters.mutable_data<int64_t>()[kNumTokens] = state.num_tokens;
  std::vector<TensorGroup> groups = TrainedGroups(state);
  groups.push_back({std::string(kCountersGroup), {counters.view()}});
  Tensor schedules("schedules", DType::kF64, {static_cast<int64_t>(state.schedules.size())});
  std::copy(state.schedules.begin(), state.schedules.end(), schedules.mutable_data<double>().begin());
  if (!state.schedules.empty()) groups.push_back({std::string(kSchedulesGroup), {schedules.view()}});
  Tensor best("best", DType::kF64, {static_cast<int64_t>(state.best.size())});
  std::copy(state.best.begin(), state.best.end(), best.mutable_data<double>().begin());
  if (!state.best.empty()) groups.push_back({std::string(kBestGroup), {best.view()}});
  if (!state.best_weights.empty()) groups.push_back({std::string(kBestWeightsGroup), state.best_weights});
  if (!state.reference.empty()) groups.push_back({std::string(kReferenceGroup), state.reference});
  return WriteState(files, run_directory, header, ArtifactStep(config, state.phase, state.step), groups);
}

absl::StatusOr<LearnerState> LoadLearnerState(FileSystem& files, absl::string_view run_directory,
                                              const RunHeader& header, const Config& config, int64_t number,
                                              const FlatLayout& layout, const FlatLayout& reference) {
  ASSIGN_OR_RETURN(const RunReader reader, OpenState(files, run_directory, header, number));
  LearnerState state;
  std::tie(state.phase, state.step) = StepOfNumber(config, number);
  const auto read = [&]() -> absl::Status {
    RETURN_IF_ERROR(ReadGroups(reader, config, number, layout, &state));
    RETURN_IF_ERROR(ReadCounters(reader, number, &state));
    RETURN_IF_ERROR(ReadSchedules(reader, config, number, &state));
    RETURN_IF_ERROR(ReadBest(reader, number, &state));
    if (HasGroup(reader, kBestWeightsGroup)) {
      ASSIGN_OR_RETURN(state.best_weights, ReadFlat(reader, number, kBestWeightsGroup, layout));
    }
    if (!HasGroup(reader, kReferenceGroup)) return absl::OkStatus();
    ASSIGN_OR_RETURN(state.reference, ReadFlat(reader, number, kReferenceGroup, reference));
    return absl::OkStatus();
  };
  absl::Status status = read();
  // A state that lacks a group, or does not match this run's model, is corrupted.
  if (absl::IsFailedPrecondition(status) || absl::IsNotFound(status)) status = absl::DataLossError(status.message());
  RETURN_IF_ERROR(WithContext(status, absl::StrCat("the run's state after step number ", number)));
  return state;
}

}  // namespace reprise::rl
