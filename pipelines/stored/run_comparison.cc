#include "pipelines/stored/run_comparison.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "rl/record/step_tables.h"
#include "rl/run/workloads.h"

namespace reprise {
namespace {

using NamedValues = std::map<std::string, std::string>;

// The lines `section.key = value` of a canonical configuration.
NamedValues ConfigValues(const std::string& text) {
  NamedValues values;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> key_value = absl::StrSplit(line, absl::MaxSplits(" = ", 1));
    values[std::string(key_value.first)] = std::string(key_value.second);
  }
  return values;
}

NamedValues ExternalFiles(const RunHeader& header) {
  NamedValues values;
  for (const ExternalFile& file : header.external_files) {
    values[file.name] = absl::StrCat("sha256:", ToHex(file.sha256));
  }
  return values;
}

int64_t LastStep(const std::vector<rl::StepTables>& steps, rl::Phase phase) {
  int64_t last = 0;
  for (const rl::StepTables& step : steps) {
    if (step.phase == phase) last = std::max(last, step.step);
  }
  return last;
}

// Returns the first difference between one checkpoint group of both runs.
absl::StatusOr<std::optional<std::string>> CompareGroup(const RunReader& a, const RunReader& b,
                                                        const CheckpointInfo& group) {
  const std::string place = absl::StrCat("checkpoint of step ", group.step, ", ", group.group);
  ASSIGN_OR_RETURN(const std::vector<Tensor> in_a, a.ReadCheckpoint(group.step, group.group));
  const absl::StatusOr<std::vector<Tensor>> in_b = b.ReadCheckpoint(group.step, group.group);
  if (absl::IsNotFound(in_b.status())) return absl::StrCat(place, ": only A holds it");
  RETURN_IF_ERROR(in_b.status());
  for (size_t i = 0; i < in_a.size() && i < in_b->size(); ++i) {
    const Tensor &x = in_a[i], &y = (*in_b)[i];
    if (x.name() != y.name())
      return absl::StrCat(place, ": tensor ", i, " is ", x.name(), " in A, ", y.name(), " in B");
    if (x.dtype() != y.dtype() || x.shape() != y.shape() || x.bytes() != y.bytes()) {
      return absl::StrCat(place, ", ", x.name(), ": A sha256:", ToHex(Sha256(x.bytes())),
                          ", B sha256:", ToHex(Sha256(y.bytes())));
    }
  }
  if (in_a.size() == in_b->size()) return std::nullopt;
  return absl::StrCat(place, ": ", in_a.size(), " tensors in A, ", in_b->size(), " in B");
}

absl::StatusOr<std::optional<std::string>> CompareContents(const RunReader& a, const RunReader& b) {
  if (a.run_digest_hex() == b.run_digest_hex()) return std::nullopt;
  for (const CheckpointInfo& group : a.checkpoints()) {
    ASSIGN_OR_RETURN(std::optional<std::string> difference, CompareGroup(a, b, group));
    if (difference) return difference;
  }
  for (const CheckpointInfo& group : b.checkpoints()) {
    if (!a.ReadCheckpoint(group.step, group.group).ok()) {
      return absl::StrCat("checkpoint of step ", group.step, ", ", group.group, ": only B holds it");
    }
  }
  return std::nullopt;
}

}  // namespace

void AppendDifferences(const NamedValues& a, const NamedValues& b, std::vector<HeaderDifference>& differences) {
  NamedValues all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [name, unused] : all) {
    const auto in_a = a.find(name), in_b = b.find(name);
    HeaderDifference difference = {name, in_a == a.end() ? "" : in_a->second, in_b == b.end() ? "" : in_b->second};
    if (difference.a != difference.b) differences.push_back(std::move(difference));
  }
}

std::vector<HeaderDifference> CompareHeaders(const RunHeader& a, const RunHeader& b) {
  std::vector<HeaderDifference> differences;
  AppendDifferences(ConfigValues(a.config_text), ConfigValues(b.config_text), differences);
  AppendDifferences(ExternalFiles(a), ExternalFiles(b), differences);
  return differences;
}

void CompareSteps(const rl::RecordSchema& schema, const std::vector<rl::StepTables>& a,
                  const std::vector<rl::StepTables>& b, const std::vector<std::string>& tensor_names,
                  RunComparison* comparison) {
  for (const rl::StepTables& step : a) {
    const rl::StepTables* const other = rl::FindStep(b, step.phase, step.step);
    if (other == nullptr) continue;
    comparison->divergence = rl::FirstDivergence(schema, step, *other, tensor_names);
    if (comparison->divergence) return;
    ++comparison->steps_compared;
  }
  for (const rl::Phase phase : {rl::Phase::kSft, rl::Phase::kTraining}) {
    const PhaseEnd end = {phase, LastStep(a, phase), LastStep(b, phase)};
    if (end.a == end.b) continue;
    comparison->end = end;
    return;
  }
}

absl::StatusOr<RunComparison> CompareRuns(const StoredRun& a, const StoredRun& b) {
  RunComparison comparison;
  comparison.header = CompareHeaders(a.reader->header(), b.reader->header());
  CompareSteps(rl::MakeRecordSchema(a.config), a.steps, b.steps, TensorNames(a), &comparison);
  if (comparison.divergence || comparison.end) return comparison;
  ASSIGN_OR_RETURN(comparison.contents, CompareContents(*a.reader, *b.reader));
  const bool differs = a.reader->run_digest_hex() != b.reader->run_digest_hex();
  if (differs && !comparison.contents && comparison.header.empty()) {
    comparison.contents = absl::StrCat(
        "the run digests: sha256:", a.reader->run_digest_hex(), " in A, sha256:", b.reader->run_digest_hex(),
        " in B, although steps and checkpoints agree: one has other streams, or its configuration as another text");
  }
  return comparison;
}

}  // namespace reprise
