#include "pipelines/run_files.h"

#include <unistd.h>

#include <utility>

#include "core/status/status_macros.h"
#include "kernels/contract/numeric_contract.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "pipelines/phase_name.h"
#include "pipelines/versions.h"

namespace reprise {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

}  // namespace

std::string MetricsJson(const rl::StepRecord& record) {
  nlohmann::ordered_json line;
  line["phase"] = PhaseName(record.phase);
  line["step"] = record.step;
  for (const auto& [name, value] : record.metrics) line[name] = value;
  return line.dump();
}

absl::StatusOr<RunFiles> RunFiles::Create(FileSystem& files, const std::string& directory,
                                          const std::vector<rl::StepRecord>& before, std::function<double()> clock) {
  RunFiles result;
  // A process that was killed may have shown steps that it did not commit, or the half of one.
  const std::string metrics = JoinPath(directory, "metrics.jsonl");
  const absl::Status removed = files.Unlink(metrics);
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  ASSIGN_OR_RETURN(result.metrics_, files.Open(metrics, OpenMode::kAppend));
  std::string lines;
  for (const rl::StepRecord& record : before) lines += MetricsJson(record) + "\n";
  if (!lines.empty()) RETURN_IF_ERROR(result.metrics_->Append(lines));
  ASSIGN_OR_RETURN(result.execution_, files.Open(JoinPath(directory, "execution.jsonl"), OpenMode::kAppend));
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

absl::Status RunFiles::Record(const rl::StepRecord& record) {
  RETURN_IF_ERROR(metrics_->Append(MetricsJson(record) + "\n"));
  const double now = clock_();
  nlohmann::ordered_json line;
  line["event"] = "step";
  line["phase"] = PhaseName(record.phase);
  line["step"] = record.step;
  line["step_time"] = now - std::exchange(last_, now);
  return execution_->Append(line.dump() + "\n");
}

absl::Status RunFiles::Finish(const ExecutionCounts& counts) {
  nlohmann::ordered_json line;
  line["event"] = "end";
  line["ranks"] = counts.ranks;
  line["threads"] = counts.threads;
  line["ranks_by_instruction_set"] = {{"avx2", counts.avx2_ranks}, {"avx512", counts.avx512_ranks}};
  line["micro_batches"] = counts.micro_batches;
  line["cut_groups"] = counts.cut_groups;
  line["prompt_rows"] = counts.prompt_rows;
  line["completion_rows"] = counts.completion_rows;
  line["refills"] = counts.refills;
  line["activation_bytes"] = counts.activation_bytes;
  line["buckets"] = counts.buckets;
  line["early_buckets"] = counts.early_buckets;
  line["messages"] = counts.messages;
  line["wire_bytes"] = counts.wire_bytes;
  line["collectives"] = counts.collectives;
  line["exchange_messages"] = counts.exchange_messages;
  line["exchange_bytes"] = counts.exchange_bytes;
  line["exchange_collectives"] = counts.exchange_collectives;
  line["process_starts"] = counts.process_starts;
  line["process_restarts"] = counts.process_restarts;
  line["peak_memory"] = counts.peak_memory;
  line["segments"] = counts.segments;
  line["states"] = counts.states;
  RETURN_IF_ERROR(execution_->Append(line.dump() + "\n"));
  // What a disk could not write may be told at the end only.
  for (File* file : {metrics_.get(), execution_.get()}) {
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
  }
  return absl::OkStatus();
}

}  // namespace reprise
