#include "pipelines/sweeps/verify_sweep.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/config/literal.h"
#include "core/digest/sha256.h"
#include "core/io/directory_entry.h"
#include "core/io/read_file.h"
#include "core/parallel/activity.h"
#include "core/random/draw.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_reader.h"
#include "pipelines/sweeps/plan_check.h"
#include "pipelines/sweeps/stored_plan.h"
#include "pipelines/sweeps/sweep_folder.h"
#include "pipelines/sweeps/sweep_table.h"
#include "pipelines/sweeps/trial_outcome.h"

namespace reprise {
namespace {

// Token: index; the trials of a sweep that are executed again.
constexpr Purpose kSweepSample{14};

constexpr absl::string_view kOtherPlan = "the plan: sweep.h5 has another one than plan.json";

template <typename T>
std::string Numbers(const StreamTable& table, int column, int64_t row) {
  std::vector<std::string> texts;
  for (const T value : table.Row<T>(column, row)) {
    texts.push_back(config::Literal(config::Value(value)));
  }
  return absl::StrJoin(texts, " ");
}

std::string Cell(const StreamTable& table, int column, int64_t row) {
  constexpr absl::string_view kStatus[] = {"unfinished", "done", "failed"};
  const ColumnSchema& schema = table.schema().columns[column];
  if (schema.name == "status" && table.Row<uint8_t>(column, row)[0] < std::size(kStatus)) {
    return std::string(kStatus[table.Row<uint8_t>(column, row)[0]]);
  }
  if (schema.kind == ColumnKind::kString) return config::Quoted(table.String(column, row));
  if (schema.dtype == DType::kF64) return Numbers<double>(table, column, row);
  if (schema.dtype == DType::kI64) return Numbers<int64_t>(table, column, row);
  return absl::StrCat(table.Row<uint8_t>(column, row)[0]);
}

bool SameCell(const StreamTable& a, const StreamTable& b, int column, int64_t row) {
  const absl::Span<const std::byte> of_a = a.RowSpan(column, row, row + 1), of_b = b.RowSpan(column, row, row + 1);
  return of_a.size() == of_b.size() && std::equal(of_a.begin(), of_a.end(), of_b.begin());
}

// "trials, row 3 (03-rloo-seed2)"
std::string RowText(const StreamTable& table, int64_t row) {
  const std::string text = absl::StrCat(table.schema().name, ", row ", row);
  if (table.schema().name != "trials") return text;
  const absl::StatusOr<int> name = FindColumn(table.schema(), "name");
  return name.ok() ? absl::StrCat(text, " (", table.String(*name, row), ")") : text;
}

std::string TableDifference(const StreamTable& stored, const StreamTable& computed) {
  const std::string& name = stored.schema().name;
  if (stored.schema() != computed.schema()) return absl::StrCat(name, ": it has other columns");
  for (int64_t row = 0; row < std::min(stored.rows(), computed.rows()); ++row) {
    for (int column = 0; column < static_cast<int>(stored.schema().columns.size()); ++column) {
      if (SameCell(stored, computed, column, row)) continue;
      return absl::StrCat(RowText(stored, row), ", ", stored.schema().columns[column].name, ": stored ",
                          Cell(stored, column, row), ", computed ", Cell(computed, column, row));
    }
  }
  if (stored.rows() == computed.rows()) return "";
  return absl::StrCat(name, ": ", stored.rows(), " rows are stored, ", computed.rows(), " are computed");
}

// RunReader::Open has verified what is in run.h5; larger checkpoints are files beside it.
absl::Status CheckCheckpoints(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const RunReader run, RunReader::Open(files, JoinPath(directory, "run.h5")));
  for (const CheckpointInfo& checkpoint : run.checkpoints()) {
    if (checkpoint.is_external) RETURN_IF_ERROR(run.ReadCheckpoint(checkpoint.step, checkpoint.group).status());
  }
  return absl::OkStatus();
}

// The first `samples` of a shuffle of the trials that are done.
std::vector<std::string> Sample(const SweepTable& table, const std::string& table_bytes, int64_t samples) {
  const Digest digest = Sha256(table_bytes);
  uint64_t seed = 0;
  std::memcpy(&seed, digest.data(), sizeof(seed));
  std::vector<std::string> done;
  for (size_t i = 0; i < table.outcomes.size(); ++i) {
    if (table.outcomes[i].status == TrialStatus::kDone) done.push_back(table.plan.trials[i].name);
  }
  const size_t count = std::min(done.size(), static_cast<size_t>(samples));
  for (size_t i = 0; i < count; ++i) {
    std::swap(done[i], done[i + DrawBelow(seed, kSweepSample, {.token = i}, done.size() - i)]);
  }
  done.resize(count);
  std::sort(done.begin(), done.end());
  return done;
}

// Compares the text files, which are derived from sweep.h5's tables.
absl::StatusOr<std::string> TextDifference(FileSystem& files, const std::string& directory,
                                           const TableBytes& computed) {
  for (const auto& [name, bytes] : {std::pair(kCsvFile, &computed.csv), {kMarkdownFile, &computed.markdown}}) {
    const std::string path = JoinPath(directory, name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    if (!exists) {
      RETURN_IF_ERROR(CheckIsNoLink(path));
      return absl::FailedPreconditionError(
          absl::StrCat(directory, " has no ", name, ": the command that started the sweep writes it again"));
    }
    ASSIGN_OR_RETURN(const bool is_same, HasContents(files, path, *bytes));
    if (!is_same) return absl::StrCat(name, " is not that of the table");
  }
  return std::string();
}

// FailedPrecondition, naming the first, if a trial has neither a run nor a failure: there is nothing to compare.
absl::Status CheckAllHaveEnded(const std::string& directory, const StoredPlan& plan,
                               const std::vector<TrialOutcome>& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status != TrialStatus::kUnfinished) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(TrialDirectory(directory, plan.trials[i].name),
                     " has no run.h5, so that the sweep is not complete: restore it, or let the command that started "
                     "the sweep execute the trial again"));
  }
  return absl::OkStatus();
}

// Describes a run among the trials that the plan does not have: its row was removed. "" if there is none.
absl::StatusOr<std::string> UnplannedRun(FileSystem& files, const std::string& directory, const StoredPlan& plan) {
  std::set<std::string> names;
  for (const PlannedTrial& trial : plan.trials) names.insert(trial.name);
  ASSIGN_OR_RETURN(const std::vector<std::string> found, files.List(JoinPath(directory, "trials")));
  for (const std::string& name : found) {
    if (names.contains(name) || names.contains(name.substr(0, name.rfind(".aside")))) continue;
    ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(TrialDirectory(directory, name)));
    if (entry.is_file) continue;  // as a file manager leaves
    ASSIGN_OR_RETURN(const bool is_run, Exists(files, JoinPath(TrialDirectory(directory, name), "run.h5")));
    if (is_run) return absl::StrCat("trials/", name, " has a run, and the plan no such trial");
  }
  return std::string();
}

}  // namespace

std::string FirstDifference(const TableFile& stored, const TableFile& computed) {
  if (stored.plan != computed.plan) return std::string(kOtherPlan);
  if (stored.tables.size() != computed.tables.size()) return "sweep.h5 has other tables";
  // First the trials, from which all others follow.
  std::string first;
  for (size_t i = 0; i < stored.tables.size(); ++i) {
    const std::string difference = TableDifference(stored.tables[i], computed.tables[i]);
    if (difference.empty()) continue;
    if (stored.tables[i].schema().name == "trials") return difference;
    if (first.empty()) first = difference;
  }
  return first;
}

absl::StatusOr<SweepCheck> CheckSweep(FileSystem& files, const std::string& directory, int64_t samples,
                                      const TableProgress& progress) {
  ASSIGN_OR_RETURN(const StoredPlan plan, ReadPlan(files, directory));
  const std::string path = JoinPath(directory, kTableFile);
  const absl::StatusOr<std::string> stored = ReadTableFile(files, path);
  if (absl::IsNotFound(stored.status())) {
    RETURN_IF_ERROR(CheckIsNoLink(path));
    return absl::FailedPreconditionError(absl::StrCat(
        directory, " has no ", kTableFile, ": the sweep is not complete; the command that started it continues it"));
  }
  RETURN_IF_ERROR(stored.status());
  ASSIGN_OR_RETURN(const TableFile stored_file, ParseTableFile(*stored, path));
  if (stored_file.plan != PlanText(plan)) {  // no trial has to be read for this
    return SweepCheck{static_cast<int64_t>(plan.trials.size()), std::string(kOtherPlan), {}};
  }
  ASSIGN_OR_RETURN(std::vector<TrialOutcome> outcomes, ReadOutcomes(files, directory, plan, progress));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status != TrialStatus::kDone) continue;
    RETURN_IF_ERROR(CheckCheckpoints(files, TrialDirectory(directory, plan.trials[i].name)));
    MarkActivity();
  }
  RETURN_IF_ERROR(CheckAllHaveEnded(directory, plan, outcomes));
  const auto is_done = [](const TrialOutcome& outcome) { return outcome.status == TrialStatus::kDone; };
  if (std::none_of(outcomes.begin(), outcomes.end(), is_done)) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory,
                     " has no trial that has ended with a run, so that nothing can be verified; sweep.md says why they "
                     "failed, and the command that started the sweep tries them again"));
  }
  SweepCheck check = {.trials = static_cast<int64_t>(plan.trials.size()), .difference = {}, .sampled = {}};
  check.difference = PlanDifference(plan, outcomes);
  if (check.difference.empty()) {
    ASSIGN_OR_RETURN(check.difference, UnplannedRun(files, directory, plan));
  }
  if (!check.difference.empty()) return check;
  const SweepTable table = MakeTable(plan, std::move(outcomes), progress);
  ASSIGN_OR_RETURN(const TableBytes computed, EncodeTable(table));
  ASSIGN_OR_RETURN(const TableFile computed_file, ParseTableFile(computed.h5, "the computed table"));
  check.difference = FirstDifference(stored_file, computed_file);
  if (check.difference.empty()) {
    ASSIGN_OR_RETURN(check.difference, TextDifference(files, directory, computed));
  }
  check.sampled = Sample(table, computed.h5, samples);
  return check;
}

}  // namespace reprise
