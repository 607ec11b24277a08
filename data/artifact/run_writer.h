#ifndef DATA_ARTIFACT_RUN_WRITER_H_
#define DATA_ARTIFACT_RUN_WRITER_H_

// Writes a run's artifact: immutable segments while the run is in progress, and one run.h5 at its end (FORMAT.md).
//
//   ASSIGN_OR_RETURN(RunWriter writer, RunWriter::Create(PosixFileSystem(), directory, header));
//   for each step:  RETURN_IF_ERROR(writer.CommitStep(step, tables));
//   now and then:   writer.AddCheckpoint(step, "weights", ...), ..., writer.Flush();
//   at the end:     ASSIGN_OR_RETURN(const RunDigests digests, writer.Finish());
//
// A run whose process died at any moment is resumed by Resume, with every step and checkpoint that was flushed:
// continue with the step after last_step(). An older process that turns out to be alive writes nothing more to the run:
// its next call that writes returns FailedPrecondition.
//
// run.h5 is a function of the header, the steps' tables and the checkpoints; it does not depend on when segments were
// written or how often the run was resumed. Not thread-safe. After an error every later call returns the same error: a
// failed write is not retried, because the disk may have dropped it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/tensor/tensor.h"
#include "data/artifact/format/run_header.h"
#include "data/tables/table.h"

namespace reprise {

namespace internal {
struct ResumedRun;
}

// A checkpoint group larger than this stays a file beside run.h5. The value is part of the format, because it
// determines the bytes and the digest.
inline constexpr int64_t kMaxInlineCheckpointBytes = 64'000'000;

struct RunWriterOptions {
  // A segment is written once either of these amounts has been buffered.
  int64_t segment_steps = 16;
  int64_t segment_bytes = int64_t{16} << 20;
  // The run keeps the checkpoints of this many newest steps that have checkpoints; older ones are removed once newer
  // ones are durable, and are in no run.h5. 0: all. Must be the same for every process of a run.
  int64_t keep_checkpoints = 0;
  int64_t max_inline_checkpoint_bytes = kMaxInlineCheckpointBytes;  // tests use other values
};

// For runs whose steps may have gaps: returns the number of the step that follows the last one in `segment`, a file
// relative to the run's directory, or 0 if the segment has no steps.
using NextStepAfter = std::function<absl::StatusOr<int64_t>(const std::string& segment)>;

class RunWriter {
 public:
  // AlreadyExists, with a remedy, if `directory` holds a run, or one of the files `others` that a caller keeps beside a
  // run.
  static absl::Status CheckFree(FileSystem& files, absl::string_view directory,
                                absl::Span<const absl::string_view> others = {});

  // Creates `directory` if needed and claims it. AlreadyExists, with a remedy, if it holds a run; InvalidArgument if
  // `header` does not pass CheckRunHeader; otherwise errors of `files`, which must outlive the result.
  static absl::StatusOr<RunWriter> Create(FileSystem& files, absl::string_view directory, RunHeader header,
                                          const RunWriterOptions& options = {});

  // Resumes a run that is not finished, after verifying everything that was committed; if nothing was, starts it.
  // NotFound, with a remedy, if there is no run; AlreadyExists if it is finished; FailedPrecondition if another process
  // is taking it over at this moment, or if it was started with another header (the error names the difference, and the
  // run is not changed); DataLoss, naming file and remedy, if something committed is missing or damaged.
  // The segment that a process wrote and did not live to name joins the run if its first step is `next_step_after` the
  // committed ones (null: steps have no gaps); errors of `next_step_after` are returned.
  static absl::StatusOr<RunWriter> Resume(FileSystem& files, absl::string_view directory, RunHeader header,
                                          const RunWriterOptions& options = {},
                                          const NextStepAfter& next_step_after = nullptr);

  // Rewrites a finished run from its first step, possibly with another header, beside its run.h5, which remains the run
  // until SetAside. What an earlier Rewrite started is dropped if run.h5 holds it. FailedPrecondition if there is no
  // run.h5, or another process is taking the run over at this moment.
  static absl::StatusOr<RunWriter> Rewrite(FileSystem& files, absl::string_view directory, RunHeader header,
                                           const RunWriterOptions& options = {});

  // Removes what a process that died in Finish or Rewrite left beside a finished run. Returns moved_aside().
  // FailedPrecondition if there is no run.h5.
  static absl::StatusOr<std::vector<std::string>> Tidy(FileSystem& files, absl::string_view directory);

  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;
  ~RunWriter();  // drops what was not flushed

  // Returns the last step that this or an earlier process committed; -1: none.
  int64_t last_step() const;
  bool HasCheckpoint(int64_t step, absl::string_view group) const;  // or had it before it was replaced by newer ones
  // Returns the paths of the segments, in order: what is durable. RunReader opens them (with options.run_directory).
  std::vector<std::string> segments() const;

  // Returns the new paths of files that Resume, Rewrite or Finish moved into the run's folder aside/: they contain
  // steps that may have been committed and that the run does not have.
  const std::vector<std::string>& moved_aside() const;

  // Commits a step's rows; streams without a table have none in it. Steps must be ascending, and each table must be of
  // a stream of the header (checked). Copies the rows into buffers, and writes a segment when they are full.
  absl::Status CommitStep(int64_t step, absl::Span<const StreamTable> tables);

  // Writes tensors of step `step` durably; they belong to the run from the next segment on, so that the groups of one
  // checkpoint appear together. Does nothing if (step, group) exists with the same elements; AlreadyExists if the
  // elements differ. Otherwise steps must not decrease, except with keep_checkpoints, where an earlier step's
  // checkpoint is ignored: a finished run has lost its older checkpoints, and one that is rewritten from it may repeat
  // their steps. InvalidArgument for names that the format does not allow (no '/', no control characters) or an empty
  // list.
  absl::Status AddCheckpoint(int64_t step, absl::string_view group, absl::Span<const TensorView> tensors);

  // Writes the buffered steps as a segment. On return every step and checkpoint so far is durable, and no other process
  // has taken over the run.
  absl::Status Flush();

  // After Rewrite: flushes, and renames the finished run's run.h5 within the directory. From then on the run is what
  // this writer has written. AlreadyExists if the name exists.
  absl::Status SetAside(absl::string_view name);

  // Flushes, writes run.h5 and, once that is durable, removes segments and the checkpoint files whose tensors it holds.
  // No call may follow. AlreadyExists if another process has finished the run. After Rewrite, SetAside must be called
  // first (checked).
  absl::StatusOr<RunDigests> Finish();

 private:
  class Impl;
  static absl::StatusOr<RunWriter> Start(FileSystem& files, absl::string_view directory, RunHeader header,
                                         const RunWriterOptions& options, internal::ResumedRun run, bool is_rewrite);
  explicit RunWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace reprise

#endif  // DATA_ARTIFACT_RUN_WRITER_H_
