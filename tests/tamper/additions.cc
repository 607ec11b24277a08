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

// The small run has two steps of SFT and three of training.
constexpr int64_t kSft = 2;
constexpr size_t kEdited = kSft + kEditedStep - 1;  // index of the edited step

Edit Rejected(const std::string& name, const CopyEdits& edits) {
  return {name, [edits](absl::string_view run_file) { return CopyRun(run_file, edits); }, "", ""};
}

StreamTable& FindTable(StoredStep& step, absl::string_view name) {
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
    for (int64_t& step : table.MutableValues<int64_t>(ColumnIndex(table, "step"))) ++step;
  }
}

// Inserts a changed copy of the edited step as the first step of training.
void InsertFalseStep(Steps& steps) {
  StoredStep copy = steps[kEdited];
  StreamTable& episodes = FindTable(copy, "episodes");
  MutableRow<double>(episodes, "reward", 0)[0] += 1;
  steps.insert(steps.begin() + kSft, std::move(copy));
  for (size_t i = 0; i < steps.size(); ++i) steps[i].number = static_cast<int64_t>(i) + 1;
}

void SwapSft(Steps& steps) { std::swap(steps[0].tables, steps[1].tables); }

// Moves one row of the stream to the previous step, without changing the stream's rows.
void MoveRow(Steps& steps) {
  StreamTable &before = FindTable(steps[kEdited - 1], "metrics"), &after = FindTable(steps[kEdited], "metrics");
  before.AppendRows(after, 0, 1);
  KeepRows(after, [](int64_t row) { return row > 0; });
}

void SetTurn(Steps& steps) { MutableRow<int64_t>(FindTable(steps[kEdited], "turns"), "turn", 1)[0] = 1; }

void SetObservation(Steps& steps) {
  ReplaceRow(FindTable(steps[kEdited], "turns"), "observation", 1, std::vector<int32_t>{'a'});
}

// Stores true as 2 instead of 1.
void SetTerminated(Steps& steps) {
  for (uint8_t& value : FindTable(steps[kEdited], "turns")
                            .MutableValues<uint8_t>(ColumnIndex(FindTable(steps[kEdited], "turns"), "terminated"))) {
    if (value == 1) value = 2;
  }
}

// Changes the kind of the weights' digests to one that does not exist.
void SetDigestKind(Steps& steps) {
  StreamTable& digests = FindTable(steps[kEdited], "digests");
  for (uint8_t& kind : digests.MutableValues<uint8_t>(ColumnIndex(digests, "kind"))) {
    if (kind == 1) kind = 7;
  }
}

// Moves the first digest of the weights before those of the gradient.
void ReorderDigests(Steps& steps) {
  StreamTable& digests = FindTable(steps[kEdited], "digests");
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
      Rejected("extra_step", {.steps = AppendStep}),
      Rejected("duplicate_step", {.steps = InsertFalseStep}),
      Rejected("steps_out_of_order", {.steps = SwapSft}),
      Rejected("another_number", {.steps = [](Steps& steps) { steps[0].number = 0; }}),
      Rejected("row_of_another_step", {.steps = MoveRow}),
      Rejected("edited_turn", {.steps = SetTurn}),
      Rejected("edited_observation", {.steps = SetObservation}),
      Rejected("edited_terminated", {.steps = SetTerminated}),
      Rejected("edited_digest_kind", {.steps = SetDigestKind}),
      Rejected("reordered_digests", {.steps = ReorderDigests}),
      Rejected("extra_checkpoint", {.added = {3, "weights"}}),
      Rejected("extra_checkpoint_group", {.added = {4, "notes"}}),
      Rejected("extra_stream", {.header = AddStream}),
  };
}

}  // namespace reprise::testing
