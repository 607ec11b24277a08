#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/status/check.h"
#include "data/tables/table.h"
#include "tests/tamper/copy_run.h"
#include "tests/tamper/edits.h"
#include "tests/tamper/streams.h"

namespace reprise::testing {
namespace {

using Steps = std::vector<StoredStep>;

// The small run has two steps of warm-up and three of training.
constexpr int64_t kWarmUp = 2;
constexpr size_t kEdited = kWarmUp + kEditedStep - 1;  // index of the edited step

Edit Refused(const std::string& name, const CopyEdits& edits) {
  return {name, [edits](absl::string_view run_file) { return CopyRun(run_file, edits); }, "", ""};
}

StreamTable& TableOf(StoredStep& step, absl::string_view name) {
  const auto table = std::find_if(step.tables.begin(), step.tables.end(),
                                  [&](const StreamTable& each) { return each.schema().name == name; });
  CHECK(table != step.tables.end());
  return *table;
}

// Appends a copy of the last step as its successor.
void AppendStep(Steps& steps) {
  steps.push_back(steps.back());
  ++steps.back().number;
  for (StreamTable& table : steps.back().tables) {
    for (int64_t& step : table.MutableValues<int64_t>(ColumnOf(table, "step"))) ++step;
  }
}

// Inserts a changed copy of the edited step as the first step of training.
void InsertFalseStep(Steps& steps) {
  StoredStep copy = steps[kEdited];
  StreamTable& episodes = TableOf(copy, "episodes");
  MutableRow<double>(episodes, "reward", 0)[0] += 1;
  steps.insert(steps.begin() + kWarmUp, std::move(copy));
  for (size_t i = 0; i < steps.size(); ++i) steps[i].number = static_cast<int64_t>(i) + 1;
}

void SwapWarmUp(Steps& steps) { std::swap(steps[0].tables, steps[1].tables); }

// Moves one row of the stream to the previous step, without changing the stream's rows.
void MoveRow(Steps& steps) {
  StreamTable &before = TableOf(steps[kEdited - 1], "metrics"), &after = TableOf(steps[kEdited], "metrics");
  before.AppendRows(after, 0, 1);
  KeepRows(after, [](int64_t row) { return row > 0; });
}

void SetTurn(Steps& steps) { MutableRow<int64_t>(TableOf(steps[kEdited], "turns"), "turn", 1)[0] = 1; }

void SetObservation(Steps& steps) {
  ReplaceRow(TableOf(steps[kEdited], "turns"), "observation", 1, std::vector<int32_t>{'a'});
}

// Stores true as 2 instead of 1.
void SetTerminated(Steps& steps) {
  for (uint8_t& value : TableOf(steps[kEdited], "turns")
                            .MutableValues<uint8_t>(ColumnOf(TableOf(steps[kEdited], "turns"), "terminated"))) {
    if (value == 1) value = 2;
  }
}

// Changes the kind of the weights' digests to one that does not exist.
void SetDigestKind(Steps& steps) {
  StreamTable& digests = TableOf(steps[kEdited], "digests");
  for (uint8_t& kind : digests.MutableValues<uint8_t>(ColumnOf(digests, "kind"))) {
    if (kind == 1) kind = 7;
  }
}

// Moves the first digest of the weights before those of the gradient.
void ReorderDigests(Steps& steps) {
  StreamTable& digests = TableOf(steps[kEdited], "digests");
  const StreamTable before = digests;
  const int64_t half = before.rows() / 2;
  digests = StreamTable(before.schema());
  digests.AppendRows(before, half, half + 1);
  digests.AppendRows(before, 0, half);
  digests.AppendRows(before, half + 1, before.rows());
}

void AddStream(RunHeader& header) {
  StreamSchema notes = header.streams.front();
  notes.name = "notes";
  header.streams.push_back(std::move(notes));
}

}  // namespace

std::vector<Edit> Additions() {
  return {
      Refused("extra_step", {.steps = AppendStep}),
      Refused("duplicate_step", {.steps = InsertFalseStep}),
      Refused("steps_out_of_order", {.steps = SwapWarmUp}),
      Refused("another_number", {.steps = [](Steps& steps) { steps[0].number = 0; }}),
      Refused("row_of_another_step", {.steps = MoveRow}),
      Refused("edited_turn", {.steps = SetTurn}),
      Refused("edited_observation", {.steps = SetObservation}),
      Refused("edited_terminated", {.steps = SetTerminated}),
      Refused("edited_digest_kind", {.steps = SetDigestKind}),
      Refused("reordered_digests", {.steps = ReorderDigests}),
      Refused("extra_checkpoint", {.added = {3, "weights"}}),
      Refused("extra_checkpoint_group", {.added = {4, "notes"}}),
      Refused("extra_stream", {.header = AddStream}),
  };
}

}  // namespace reprise::testing
