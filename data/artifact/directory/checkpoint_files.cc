#include "data/artifact/directory/checkpoint_files.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/format/file_range.h"

namespace reprise::internal {

std::string CheckpointDirectory(absl::string_view run_directory) { return JoinPath(run_directory, "checkpoints"); }

std::string CheckpointPath(absl::string_view run_directory, const Digest& file_sha256) {
  return JoinPath(CheckpointDirectory(run_directory), ToHex(file_sha256));
}

absl::StatusOr<CheckpointGroup> DescribeGroup(int64_t step, absl::string_view group,
                                              absl::Span<const TensorView> tensors) {
  if (!IsArtifactName(group)) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint group can't have the name \"", group, "\""));
  }
  if (tensors.empty()) return absl::InvalidArgumentError(absl::StrCat("checkpoint group \"", group, "\" is empty"));
  CheckpointGroup result = {.step = step, .group = std::string(group), .file_sha256 = {}, .tensors = {}};
  Sha256Stream file;
  std::set<absl::string_view> names;
  for (const TensorView& tensor : tensors) {
    RETURN_IF_ERROR(CheckTensorName(tensor.name));
    if (!names.insert(tensor.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("checkpoint tensor \"", tensor.name, "\" appears twice"));
    }
    file.Update(tensor.bytes);
    result.tensors.push_back({.name = tensor.name,
                              .dtype = tensor.dtype,
                              .shape = tensor.shape,
                              .sha256 = Sha256(tensor.bytes),
                              .offset = result.bytes()});
  }
  result.file_sha256 = file.Current();
  return result;
}

absl::Status WriteGroup(FileSystem& files, absl::string_view run_directory, const CheckpointGroup& group,
                        absl::Span<const TensorView> tensors) {
  RETURN_IF_ERROR(CreateDirectories(files, CheckpointDirectory(run_directory)));
  const std::string path = CheckpointPath(run_directory, group.file_sha256);
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  if (exists) return files.SyncDirectory(CheckpointDirectory(run_directory));  // its writer may have died before this
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(files, path, kReadOnly));
  for (const TensorView& tensor : tensors) {
    const absl::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    RETURN_IF_ERROR(file.file().Append(bytes));
  }
  return file.Commit();
}

ArraySource SourceOfTensor(FileSystem& files, absl::string_view run_directory, const CheckpointGroup& group,
                           const CheckpointTensor& tensor) {
  FileRange range = {.path = CheckpointPath(run_directory, group.file_sha256),
                     .offset = tensor.offset,
                     .size = tensor.bytes(),
                     .sha256 = tensor.sha256};
  return {ArrayInfo{TensorPath(group, tensor), tensor.dtype, tensor.shape},
          [&files, range = std::move(range)](const ByteSink& sink) { return CopyRange(files, range, sink); }};
}

absl::StatusOr<std::string> ReadGroup(FileSystem& files, absl::string_view run_directory,
                                      const CheckpointGroup& group) {
  const std::string path = CheckpointPath(run_directory, group.file_sha256);
  auto bytes = ReadWhole(files, {.path = path, .offset = 0, .size = group.bytes(), .sha256 = group.file_sha256});
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(absl::StrCat(path, " is missing: it holds the checkpoint of step ", group.step,
                                            ", group \"", group.group, "\"; copy it there with the run file"));
  }
  return bytes;
}

}  // namespace reprise::internal
