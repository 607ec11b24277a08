#include "pipelines/stored/stored_weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "core/tensor/tensor.h"
#include "data/artifact/run_state.h"
#include "data/tables/schema.h"
#include "data/tables/table.h"
#include "rl/config/workload_traits.h"
#include "rl/evaluation/scores/best_so_far.h"
#include "rl/record/completions/record_streams.h"
#include "rl/run/step_number.h"
#include "rl/run/stored_tensors.h"

namespace reprise {
namespace {

constexpr absl::string_view kBest = "best";

constexpr int kTries = 3;  // attempts to read a state before the trainer removes it

struct StateStep {
  int64_t number = 0, step = 0;  // in the artifact's numbering, and of training
};

// Returns the training steps, ascending, of which a run without run.h5 has a state with weights; steps that are not, or
// no longer, committed are excluded.
std::vector<StateStep> StepsWithStates(const StoredRun& run) {
  std::vector<StateStep> steps;
  if (run.unfinished_in.empty()) return steps;
  const absl::StatusOr<std::vector<int64_t>> states = ListStates(PosixFileSystem(), run.unfinished_in);
  if (!states.ok()) return steps;
  for (const int64_t number : *states) {
    const auto [phase, step] = rl::StepOfNumber(run.config, number);
    if (phase == rl::Phase::kTraining && step > 0 && step <= run.last_training_step) steps.push_back({number, step});
  }
  return steps;
}

std::string NameSteps(const std::vector<int64_t>& steps) {
  return absl::StrCat(steps.size() == 1 ? "step " : "steps ", absl::StrJoin(steps, ", "));
}

absl::Status NoWeights(const StoredRun& run, int64_t step, const std::vector<int64_t>& steps) {
  std::vector<int64_t> states;
  for (const StateStep& state : StepsWithStates(run)) states.push_back(state.step);
  const std::string newest =
      states.empty() ? "" : absl::StrCat("its states keep the newest weights, of ", NameSteps(states));
  if (!steps.empty()) {
    return absl::NotFoundError(absl::StrCat("the run holds no checkpoint of step ", step, ", only of ",
                                            NameSteps(steps), newest.empty() ? "" : ", and ", newest,
                                            "; artifact.checkpoint_every keeps more of them"));
  }
  if (run.unfinished_in.empty() && run.config.run.steps == 0) {
    return absl::NotFoundError(
        "the run holds no checkpoint: run.steps is 0, and only steps of training store them; the language model after "
        "an SFT phase is in model/ of the run's folder");
  }
  if (run.unfinished_in.empty()) {
    return absl::NotFoundError(
        "the run holds no checkpoint: it was stopped between two; continue it with train --resume, or store them more "
        "often (artifact.checkpoint_every)");
  }
  if (!newest.empty()) {
    return absl::NotFoundError(absl::StrCat("the run holds no checkpoint yet: ", newest,
                                            "; artifact.checkpoint_every stores those of chosen steps during the run"));
  }
  return absl::NotFoundError(absl::StrCat(
      "the run holds no weights yet, and ", run.last_training_step,
      " training steps are committed: "
      "execution.save_every stores the newest during the run, artifact.checkpoint_every those of chosen steps"));
}

// For a run without run.h5: returns the newest weights of steps `first` to `last` in its states.
std::optional<ChosenWeights> ReadState(const StoredRun& run, int64_t first, int64_t last, const FlatLayout& layout) {
  std::vector<StateStep> states = StepsWithStates(run);
  std::reverse(states.begin(), states.end());
  for (const auto& [number, step] : states) {
    if (step < first || step > last) continue;
    const absl::StatusOr<RunReader> state =
        OpenState(PosixFileSystem(), run.unfinished_in, run.reader->header(), number);
    if (!state.ok()) continue;  // the trainer may have removed an old one
    absl::StatusOr<std::vector<float>> weights = rl::ReadFlat(*state, number, rl::kWeightsGroup, layout);
    if (weights.ok()) return ChosenWeights{step, *std::move(weights)};
  }
  return std::nullopt;
}

// Returns the training step of the best evaluation, 0 if the run has no metric that says it.
absl::StatusOr<int64_t> BestStep(const StoredRun& run) {
  ASSIGN_OR_RETURN(const StreamTable metrics, run.reader->ReadStream("metrics"));
  const std::vector<ColumnSchema>& columns = metrics.schema().columns;
  const auto place_of = [&](absl::string_view name, ColumnKind kind, DType type) {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const ColumnSchema& column) {
      return column.name == name && column.kind == kind && column.dtype == type;
    });
    return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
  };
  const int name = place_of("name", ColumnKind::kString, DType::kU8);
  const int value = place_of("value", ColumnKind::kScalar, DType::kF64);
  int64_t best = 0;
  for (int64_t row = 0; name >= 0 && value >= 0 && row < metrics.rows(); ++row) {
    if (metrics.String(name, row) != "eval_best_step") continue;
    const int64_t step = rl::StoredCount(metrics.Row<double>(value, row)[0]);
    if (step > 0) best = step;
  }
  return best;
}

absl::StatusOr<ChosenWeights> ReadBestWeights(const StoredRun& run, const FlatLayout& layout) {
  ChosenWeights best;
  ASSIGN_OR_RETURN(best.step, BestStep(run));
  for (const CheckpointInfo& checkpoint : run.reader->checkpoints()) {
    if (checkpoint.group != rl::kBestWeightsGroup) continue;
    ASSIGN_OR_RETURN(best.weights, rl::ReadFlat(*run.reader, checkpoint.step, rl::kBestWeightsGroup, layout));
    return best;
  }
  const rl::EvaluationConfig& evaluation = run.config.evaluation;
  if (run.unfinished_in.empty() && best.step == 0 && evaluation.every > 0 && evaluation.keep_best) {
    return absl::NotFoundError(
        "the run has no best weights: it has no evaluation for which evaluation.metric_for_best_model could be scored");
  }
  return absl::NotFoundError(
      "the run has no best weights: evaluation.every and evaluation.keep_best store them when it ends");
}

}  // namespace

std::vector<int64_t> StepsWithWeights(const StoredRun& run) {
  const int64_t before = rl::ArtifactStep(run.config, rl::Phase::kTraining, 0);
  std::vector<int64_t> steps;
  for (const CheckpointInfo& checkpoint : run.reader->checkpoints()) {
    if (checkpoint.group == rl::kWeightsGroup && checkpoint.step > before) steps.push_back(checkpoint.step - before);
  }
  return steps;
}

std::set<std::string> PromptsUpTo(const StoredRun& run, int64_t step) {
  std::set<std::string> prompts;
  if (!rl::Traits(run.config).has_completions) return prompts;
  for (const rl::StepTables& stored : run.steps) {
    if (stored.phase == rl::Phase::kTraining && stored.step > step) continue;
    for (std::string& prompt : rl::ListPrompts(stored)) prompts.insert(std::move(prompt));
  }
  return prompts;
}

absl::StatusOr<std::vector<float>> ReadWeights(const StoredRun& run, int64_t step, const FlatLayout& layout) {
  const std::vector<int64_t> steps = StepsWithWeights(run);
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) return NoWeights(run, step, steps);
  return rl::ReadFlat(*run.reader, rl::ArtifactStep(run.config, rl::Phase::kTraining, step), rl::kWeightsGroup, layout);
}

namespace {

absl::StatusOr<ChosenWeights> ReadOnce(const StoredRun& run, const StepChoice& choice, const FlatLayout& layout) {
  if (choice.text == kBest) return ReadBestWeights(run, layout);
  const std::vector<int64_t> steps = StepsWithWeights(run);
  ChosenWeights chosen = {steps.empty() ? 0 : steps.back(), {}};
  std::optional<ChosenWeights> state;
  if (choice.text.empty()) {
    state = ReadState(run, chosen.step + 1, run.last_training_step, layout);
  } else {
    CHECK(absl::SimpleAtoi(choice.text, &chosen.step));
    const bool is_stored = std::find(steps.begin(), steps.end(), chosen.step) != steps.end();
    if (!is_stored) state = ReadState(run, chosen.step, chosen.step, layout);
  }
  if (state) return *std::move(state);
  ASSIGN_OR_RETURN(chosen.weights, ReadWeights(run, chosen.step, layout));
  return chosen;
}

}  // namespace

absl::StatusOr<ChosenWeights> ReadChosenWeights(const StepChoice& choice, const FlatLayout& layout, StoredRun* run) {
  absl::StatusOr<ChosenWeights> chosen = ReadOnce(*run, choice, layout);
  const bool goes_on = choice.text.empty() && !run->unfinished_in.empty();
  for (int i = 1; i < kTries && goes_on && absl::IsNotFound(chosen.status()); ++i) {
    const absl::StatusOr<std::vector<int64_t>> states = ListStates(PosixFileSystem(), run->unfinished_in);
    if (!states.ok() || states->empty()) break;
    ASSIGN_OR_RETURN(*run, OpenStoredRun(std::string(run->unfinished_in)));
    chosen = ReadOnce(*run, choice, layout);
  }
  return chosen;
}

}  // namespace reprise
