#include "pipelines/training/run_files.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "kernels/contract/numeric_contract.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "pipelines/program/versions.h"
#include "pipelines/stored/phase_name.h"

namespace reprise {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

constexpr int64_t kMostBytes = int64_t{1} << 28;
constexpr int kPrivate = 0600;  // of execution.jsonl, which names hosts

// Gives the file only this name, if it has others: what is appended under one would appear under all.
absl::Status KeepOneName(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (entry.names <= 1) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(files, path, kMostBytes));
  const std::string name = TemporaryName(path);
  ASSIGN_OR_RETURN(const std::unique_ptr<File> copy, files.Open(name, OpenMode::kCreate, kPrivate));
  RETURN_IF_ERROR(copy->Append(text));
  RETURN_IF_ERROR(copy->Sync());
  RETURN_IF_ERROR(copy->Close());
  RETURN_IF_ERROR(RenameOver(name, path));  // a crash in between leaves the file as it was
  return files.SyncDirectory(DirectoryOf(path));
}

using StepTimes = std::map<std::pair<std::string, int64_t>, double>;

// The step times in execution.jsonl by phase and step; of a repeated step the last one. Other lines are skipped, and so
// are those of a file that is too large: no result of a run depends on it.
absl::StatusOr<StepTimes> ReadStepTimes(FileSystem& files, const std::string& path) {
  StepTimes times;
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (absl::IsNotFound(info.status())) return times;
  RETURN_IF_ERROR(info.status());
  if (info->size > kMostBytes) return times;
  const absl::StatusOr<std::string> text = ReadFile(files, path, kMostBytes);
  RETURN_IF_ERROR(text.status());
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const nlohmann::json reported = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool is_step = reported.is_object() && reported.contains("phase") && reported["phase"].is_string() &&
                         reported.contains("step") && reported["step"].is_number_integer() &&
                         reported.contains("step_time") && reported["step_time"].is_number();
    if (is_step)
      times[{reported["phase"].get<std::string>(), reported["step"].get<int64_t>()}] =
          reported["step_time"].get<double>();
  }
  return times;
}

}  // namespace

std::string RunFiles::MetricsJson(const rl::StepResults& step, std::optional<double> step_time) {
  nlohmann::ordered_json line;
  line["phase"] = PhaseName(step.phase);
  line["step"] = step.step;
  line["global_step"] = step.phase == rl::Phase::kSft ? step.step : sft_steps_ + step.step;
  if (step_time) {
    line["step_time"] = *step_time;
    line["seconds"] = seconds_ += *step_time;
  }
  for (const auto& [name, value] : step.metrics) line[name] = value;
  return line.dump();
}

absl::StatusOr<RunFiles> RunFiles::Create(FileSystem& files, const std::string& directory, int64_t sft_steps,
                                          const std::vector<rl::StepResults>& before, std::function<double()> clock) {
  RunFiles result;
  result.sft_steps_ = sft_steps;
  const std::string execution = JoinPath(directory, "execution.jsonl");
  RETURN_IF_ERROR(CheckIsNoLink(execution));
  ASSIGN_OR_RETURN(const StepTimes times, ReadStepTimes(files, execution));
  // A killed process may have written steps that it did not commit, or an incomplete line.
  const std::string metrics = JoinPath(directory, "metrics.jsonl");
  const absl::Status removed = files.Unlink(metrics);
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  ASSIGN_OR_RETURN(result.metrics_, files.Open(metrics, OpenMode::kAppend));
  std::string lines;
  for (const rl::StepResults& step : before) {
    const auto known = times.find({PhaseName(step.phase), step.step});
    lines += result.MetricsJson(step, known == times.end() ? std::nullopt : std::optional(known->second)) + "\n";
  }
  if (!lines.empty()) RETURN_IF_ERROR(result.metrics_->Append(lines));
  RETURN_IF_ERROR(KeepOneName(files, execution));
  ASSIGN_OR_RETURN(result.execution_, files.Open(execution, OpenMode::kAppend, kPrivate));
  result.clock_ = std::move(clock);
  result.last_ = result.clock_();
  return result;
}

absl::Status RunFiles::DescribeExecution(int ranks, int threads, int64_t committed, absl::Time start) {
  const Versions versions = VersionsOfThisProgram();
  nlohmann::ordered_json line;
  line["event"] = "start";
  line["time"] = absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", start, absl::UTCTimeZone());
  line["host"] = HostName();
  line["ranks"] = ranks;
  line["threads"] = threads;
  line["resumed_after"] = committed;
  line["instruction_set"] = std::string(kernels::NameOf(kernels::ActiveIsa()));
  line["numeric_contract"] = kNumericContract;
  line["revision"] = versions.revision;
  line["versions"] = {
      {"reprise", versions.product}, {"compiler", versions.compiler}, {"hdf5", versions.hdf5}, {"mpi", versions.mpi}};
  return execution_->Append(line.dump() + "\n");
}

absl::StatusOr<std::string> RunFiles::Record(const rl::StepResults& step) {
  const double now = clock_(), step_time = now - std::exchange(last_, now);
  std::string metrics = MetricsJson(step, step_time);
  RETURN_IF_ERROR(metrics_->Append(metrics + "\n"));
  nlohmann::ordered_json line;
  line["event"] = "step";
  line["phase"] = PhaseName(step.phase);
  line["step"] = step.step;
  line["step_time"] = step_time;
  RETURN_IF_ERROR(execution_->Append(line.dump() + "\n"));
  return metrics;
}

absl::Status RunFiles::Finish(const ExecutionCounts& counts) {
  nlohmann::ordered_json line;
  line["event"] = "end";
  for (const auto& [name, count] : counts.by_name) line[nlohmann::ordered_json::json_pointer("/" + name)] = count;
  RETURN_IF_ERROR(execution_->Append(line.dump() + "\n"));
  // A write error may be reported only at the end.
  for (File* file : {metrics_.get(), execution_.get()}) {
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
  }
  return absl::OkStatus();
}

}  // namespace reprise
