#include "tests/tamper/copy_run.h"

#include <utility>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"

namespace reprise::testing {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

absl::Status CopyCheckpoints(const RunReader& reader, int64_t step, const CopyEdits& edits, RunWriter& writer) {
  for (const CheckpointInfo& info : reader.checkpoints()) {
    if (info.step != step) continue;
    ASSIGN_OR_RETURN(std::vector<Tensor> tensors, reader.ReadCheckpoint(step, info.group));
    if (edits.checkpoint && !edits.checkpoint(step, info.group, tensors)) continue;
    std::vector<TensorView> views;
    for (const Tensor& tensor : tensors) views.push_back(tensor.view());
    RETURN_IF_ERROR(writer.AddCheckpoint(step, info.group, views));
  }
  if (edits.added.group.empty() || edits.added.number != step) return absl::OkStatus();
  const Tensor tensor("added", DType::kF32, {1});
  return writer.AddCheckpoint(step, edits.added.group, {tensor.view()});
}

absl::StatusOr<std::vector<StoredStep>> ReadSteps(const RunReader& reader) {
  std::vector<StoredStep> steps;
  for (int64_t number : reader.steps()) {
    steps.push_back({number, {}});
    for (const StreamSchema& schema : reader.header().streams) {
      ASSIGN_OR_RETURN(StreamTable table, reader.ReadStream(schema.name, number));
      steps.back().tables.push_back(std::move(table));
    }
  }
  return steps;
}

}  // namespace

absl::StatusOr<std::string> CopyRun(absl::string_view run_file, const CopyEdits& edits) {
  FakeFileSystem files;
  RETURN_IF_ERROR(WriteFileAtomically(files, "original.h5", run_file));
  ASSIGN_OR_RETURN(const RunReader reader, RunReader::Open(files, "original.h5"));
  RunHeader header = reader.header();
  if (edits.header) edits.header(header);
  ASSIGN_OR_RETURN(std::vector<StoredStep> steps, ReadSteps(reader));
  if (edits.steps) edits.steps(steps);
  ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(files, "copy", header));
  for (const StoredStep& step : steps) {
    RETURN_IF_ERROR(writer.CommitStep(step.number, step.tables));
    RETURN_IF_ERROR(CopyCheckpoints(reader, step.number, edits, writer));
  }
  RETURN_IF_ERROR(writer.Finish().status());
  return ReadFile(files, "copy/run.h5", kMostBytes);
}

}  // namespace reprise::testing
