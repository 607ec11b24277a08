#ifndef DATA_ARTIFACT_RUN_READER_H_
#define DATA_ARTIFACT_RUN_READER_H_

// Reads a run file: run.h5, or a segment of an unfinished run. Open verifies every byte before anything else reads it,
// and checks everything that is stored, so that afterwards only a checkpoint's own file can fail. Immutable,
// thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "core/tensor/tensor.h"
#include "data/artifact/format/run_header.h"
#include "data/tables/table.h"

namespace reprise {

struct StreamInfo {
  StreamSchema schema;
  int64_t rows = 0;
  std::vector<int64_t> column_bytes;  // stored size, by column
};

struct CheckpointInfo {
  int64_t step = 0;
  std::string group;
  std::vector<std::string> tensors;  // names
  int64_t bytes = 0;
  bool is_external = false;  // whether it is a file beside the run file
};

class RunReader {
 public:
  // Reads the whole file into memory. DataLoss if it is damaged, truncated, or not a run file; Unimplemented, naming
  // both numbers, if it has another format or numeric contract. `files` must outlive the result. run_directory: the
  // directory that contains the checkpoint files; if empty, the run file's own. For segments: the parent directory.
  static absl::StatusOr<RunReader> Open(FileSystem& files, absl::string_view path,
                                        absl::string_view run_directory = {});
  // The same for a file's bytes; `path` is used in messages and to find its checkpoint files.
  static absl::StatusOr<RunReader> Parse(FileSystem& files, std::string bytes, absl::string_view path,
                                         absl::string_view run_directory = {});
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;
  ~RunReader();

  const RunHeader& header() const;
  const std::string& config_text() const { return header().config_text; }
  std::string config_sha256_hex() const;
  std::string run_digest_hex() const;
  std::string file_sha256_hex() const;

  const std::vector<int64_t>& steps() const;        // ascending
  std::vector<StreamInfo> streams() const;          // sorted by name
  std::vector<CheckpointInfo> checkpoints() const;  // in the order in which they were added

  // NotFound, with the names of the existing streams, for an unknown stream.
  absl::StatusOr<StreamTable> ReadStream(absl::string_view name) const;
  // Returns the rows of one step. NotFound if the run has no such step.
  absl::StatusOr<StreamTable> ReadStream(absl::string_view name, int64_t step) const;

  // Returns the tensors in the order in which they were added. NotFound if there is no such checkpoint or its file is
  // missing; DataLoss if its file is damaged.
  absl::StatusOr<std::vector<Tensor>> ReadCheckpoint(int64_t step, absl::string_view group) const;

 private:
  struct Impl;
  explicit RunReader(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace reprise

#endif  // DATA_ARTIFACT_RUN_READER_H_
