#include "pipelines/sweeps/trial_outcome.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/json/json.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "rl/record/record_schema.h"
#include "rl/record/step_tables.h"

namespace reprise {
namespace {

constexpr int64_t kMostFailureBytes = int64_t{1} << 20;

MetricSummary SummarizeMetric(const std::string& name, const std::vector<double>& values) {
  MetricSummary summary = {.name = name,
                           .count = static_cast<int64_t>(values.size()),
                           .first = values.front(),
                           .last = values.back(),
                           .least = *std::min_element(values.begin(), values.end()),
                           .greatest = *std::max_element(values.begin(), values.end())};
  const auto mean = [](auto begin, auto end) {
    return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
  };
  summary.mean = mean(values.begin(), values.end());
  summary.tail = mean(values.end() - static_cast<int64_t>((values.size() + 9) / 10), values.end());
  return summary;
}

// FailedPrecondition unless the run has read the files of the plan.
absl::Status CheckFiles(const std::string& path, const PlannedTrial& trial, const std::vector<ExternalFile>& files) {
  if (files == trial.files) return absl::OkStatus();
  const std::string name = FirstOtherFile(trial.files, files);
  return absl::FailedPreconditionError(absl::StrCat(path, " is not the run of trial ", trial.name, ": it read another ",
                                                    name,
                                                    " than the sweep's plan has; move its folder away, and the same "
                                                    "command executes the trial with the plan's file"));
}

// FailedPrecondition if the run was stopped before its last step (train --stop-after-step) and nothing ended it: at
// which step a trial is compared would then be somebody's choice.
absl::Status CheckIsWhole(const std::string& path, const PlannedTrial& trial, const TrialOutcome& outcome) {
  const auto has_ended = [&](const rl::EarlyEnd& end) {
    const MetricSummary* const metric = FindMetric(outcome, end.metric);
    return metric != nullptr && metric->last >= static_cast<double>(end.value);
  };
  const std::vector<rl::EarlyEnd>& ends = outcome.facts.ends;
  if (outcome.steps >= outcome.facts.steps || std::any_of(ends.begin(), ends.end(), has_ended)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is not the whole run of trial ", trial.name, ": it was stopped after ", outcome.steps, " of ",
      outcome.facts.steps, " steps; move its folder away, and the command that started the sweep executes the trial"));
}

absl::StatusOr<TrialOutcome> DoneOutcome(FileSystem& files, const std::string& path,
                                         const std::vector<std::string>& axes, const PlannedTrial& trial) {
  ASSIGN_OR_RETURN(const RunReader run, RunReader::Open(files, path));
  if (run.config_sha256_hex() != trial.config_sha256) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not the run of trial ", trial.name,
                     ": it has another configuration; move its folder away, and the sweep executes the trial"));
  }
  TrialOutcome outcome = {.status = TrialStatus::kDone,
                          .code = {},
                          .sentence = {},
                          .run_digest = run.run_digest_hex(),
                          .file_sha256 = run.file_sha256_hex()};
  RETURN_IF_ERROR(CheckFiles(path, trial, run.header().external_files));
  absl::StatusOr<TrialFacts> facts = ParseTrialFacts(run.config_text(), run.header().external_files, axes);
  if (!facts.ok()) return WithContext(facts.status(), path);
  outcome.facts = *std::move(facts);
  absl::StatusOr<StreamTable> metrics = run.ReadStream("metrics");
  if (!metrics.ok()) return absl::DataLossError(absl::StrCat(path, ": ", metrics.status().message()));
  absl::StatusOr<std::vector<MetricSummary>> summaries = Summarize(*metrics);
  if (!summaries.ok()) return absl::DataLossError(absl::StrCat(path, ": ", summaries.status().message()));
  outcome.metrics = *std::move(summaries);
  for (const MetricSummary& metric : outcome.metrics) outcome.steps = std::max(outcome.steps, metric.count);
  RETURN_IF_ERROR(CheckIsWhole(path, trial, outcome));
  return outcome;
}

absl::StatusOr<TrialOutcome> FailedOutcome(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, kMostFailureBytes));
  TrialOutcome outcome = {.status = TrialStatus::kFailed};
  const auto parse = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
    ASSIGN_OR_RETURN(const JsonValue code, document.root().Get("code"));
    ASSIGN_OR_RETURN(const absl::string_view code_text, code.String());
    ASSIGN_OR_RETURN(const JsonValue sentence, document.root().Get("sentence"));
    ASSIGN_OR_RETURN(const absl::string_view sentence_text, sentence.String());
    outcome.code = std::string(code_text);
    outcome.sentence = std::string(sentence_text);
    return absl::OkStatus();
  };
  if (const absl::Status parsed = parse(); !parsed.ok()) {
    return absl::DataLossError(absl::StrCat(path, " is damaged: ", parsed.message()));
  }
  return outcome;
}

// Removes leading characters that are among `known`; returns whether there were any.
bool TakeSome(absl::string_view* text, absl::string_view known) {
  const size_t length = std::min(text->find_first_not_of(known), text->size());
  text->remove_prefix(length);
  return length > 0;
}

// The sentence without the ranks that AgreeOk names, at its beginning or behind what the error was in ("step 1: rank 2:
// ...").
std::string WithoutRanks(absl::string_view sentence) {
  std::string text;
  while (!sentence.empty()) {
    absl::string_view rest = sentence;
    const bool is_rank = (text.empty() || absl::EndsWith(text, ": ")) && absl::ConsumePrefix(&rest, "rank ") &&
                         TakeSome(&rest, "0123456789") && absl::ConsumePrefix(&rest, ": ");
    if (is_rank) {
      sentence = rest;
    } else {
      text.push_back(sentence.front());
      sentence.remove_prefix(1);
    }
  }
  return text;
}

// The sentence with "..." for the numbers of requests to an external process in a reply that it quotes, {"id": 13, ...:
// how many requests a process has had depends on the number of ranks and processes.
std::string WithoutRequestNumbers(absl::string_view sentence) {
  constexpr absl::string_view kKey = "\"id";
  std::string text;
  for (size_t at = sentence.find(kKey); at != sentence.npos; at = sentence.find(kKey)) {
    absl::string_view rest = sentence.substr(at + kKey.size());
    const bool has_colon =
        (absl::ConsumePrefix(&rest, "\"") || absl::ConsumePrefix(&rest, "\\\"")) && absl::ConsumePrefix(&rest, ":");
    if (has_colon) TakeSome(&rest, " ");
    absl::StrAppend(&text, sentence.substr(0, sentence.size() - rest.size()));
    if (has_colon && TakeSome(&rest, "0123456789")) absl::StrAppend(&text, "...");
    sentence = rest;
  }
  return absl::StrCat(text, sentence);
}

// The sentence with the final names of files instead of temporary ones (core/io/atomic_file.h), which have the number
// of the process and a random one: ".tmp-8678-ac75d4bb-34".
std::string WithFinalNames(absl::string_view sentence) {
  constexpr absl::string_view kTemporary = ".tmp-";
  std::string text;
  for (size_t at = sentence.find(kTemporary); at != sentence.npos; at = sentence.find(kTemporary)) {
    absl::string_view rest = sentence.substr(at + kTemporary.size());
    const bool is_temporary = TakeSome(&rest, "0123456789") && absl::ConsumePrefix(&rest, "-") &&
                              TakeSome(&rest, "0123456789abcdef") && absl::ConsumePrefix(&rest, "-") &&
                              TakeSome(&rest, "0123456789");
    if (!is_temporary) rest = sentence.substr(at + kTemporary.size());
    absl::StrAppend(&text, sentence.substr(0, is_temporary ? at : at + kTemporary.size()));
    sentence = rest;
  }
  return absl::StrCat(text, sentence);
}

}  // namespace

const MetricSummary* FindMetric(const TrialOutcome& outcome, absl::string_view name) {
  for (const MetricSummary& metric : outcome.metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::string TrialDirectory(absl::string_view sweep_directory, const std::string& name) {
  return JoinPath(JoinPath(sweep_directory, "trials"), name);
}

absl::StatusOr<TrialOutcome> ReadOutcome(FileSystem& files, const std::string& directory,
                                         const std::vector<std::string>& axes, const PlannedTrial& trial) {
  const std::string failure = JoinPath(directory, kFailureFile), run = JoinPath(directory, "run.h5");
  ASSIGN_OR_RETURN(const bool has_failed, Exists(files, failure));
  ASSIGN_OR_RETURN(const bool is_done, Exists(files, run));
  if (has_failed && is_done) {
    return absl::DataLossError(
        absl::StrCat(failure,
                     ": a failure is noted beside a complete run.h5, which no sweep does: the command that started the "
                     "sweep removes the note"));
  }
  if (has_failed) return FailedOutcome(files, failure);
  if (is_done) return DoneOutcome(files, run, axes, trial);
  return TrialOutcome();
}

absl::StatusOr<bool> IsFinished(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const bool has_failed, Exists(files, JoinPath(directory, kFailureFile)));
  ASSIGN_OR_RETURN(const bool has_run, Exists(files, JoinPath(directory, "run.h5")));
  ASSIGN_OR_RETURN(const bool has_model, Exists(files, JoinPath(JoinPath(directory, "model"), "config.json")));
  return has_run && has_model && !has_failed;
}

absl::Status WriteFailure(FileSystem& files, const std::string& directory, const absl::Status& failure) {
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  RETURN_IF_ERROR(ClearFailure(files, directory));
  const std::string sentence =
      absl::StrReplaceAll(WithoutRequestNumbers(WithFinalNames(WithoutRanks(failure.message()))),
                          {{directory + "/", ""}, {directory, "the trial's directory"}});
  const nlohmann::ordered_json report = {{"code", absl::StatusCodeToString(failure.code())}, {"sentence", sentence}};
  return WriteFileAtomically(files, JoinPath(directory, kFailureFile),
                             report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

absl::Status ClearFailure(FileSystem& files, const std::string& directory) {
  const absl::Status removed = files.Unlink(JoinPath(directory, kFailureFile));
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::StatusOr<std::vector<MetricSummary>> Summarize(const StreamTable& metrics) {
  const StreamSchema expected = rl::RecordStream("metrics", {StringColumn("name"), ScalarColumn("value", DType::kF64)});
  if (!(metrics.schema() == expected)) return absl::DataLossError("its stream metrics has other columns than metrics");
  ASSIGN_OR_RETURN(const int phase, FindColumn(expected, "phase"));
  ASSIGN_OR_RETURN(const int name, FindColumn(expected, "name"));
  ASSIGN_OR_RETURN(const int value, FindColumn(expected, "value"));
  std::map<std::string, std::vector<double>> values;
  for (int64_t row = 0; row < metrics.rows(); ++row) {
    if (metrics.Values<uint8_t>(phase)[row] != static_cast<uint8_t>(rl::Phase::kTraining)) continue;
    values[std::string(metrics.String(name, row))].push_back(metrics.Values<double>(value)[row]);
  }
  std::vector<MetricSummary> summaries;
  for (const auto& [metric, of_metric] : values) summaries.push_back(SummarizeMetric(metric, of_metric));
  return summaries;
}

}  // namespace reprise
