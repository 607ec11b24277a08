#include "data/artifact/run_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/checkpoint_files.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_arrays.h"
#include "data/artifact/format/user_block.h"

namespace reprise {
namespace {

using internal::CheckpointGroup;
using internal::CheckpointTensor;
using internal::StoredStream;

bool IsInline(const internal::Container& container, const CheckpointGroup& group) {
  return container.Find(internal::TensorPath(group, group.tensors[0])).ok();
}

// Returns the elements of a tensor that is stored in the run file; they must match the index.
absl::StatusOr<absl::string_view> InlineElements(const internal::Container& container, const CheckpointGroup& group,
                                                 const CheckpointTensor& tensor) {
  ASSIGN_OR_RETURN(const internal::ArrayView* array, container.Find(internal::TensorPath(group, tensor)));
  const bool fits =
      array->info.dtype == tensor.dtype && array->info.shape == tensor.shape && array->digest == tensor.sha256;
  if (fits) return array->bytes;
  return absl::DataLossError(absl::StrCat("its ", array->info.path, " differs from the index"));
}

absl::Status CheckInlineCheckpoints(const internal::StoredRun& run) {
  for (const CheckpointGroup& group : run.checkpoints) {
    if (!IsInline(run.container, group)) continue;
    for (const CheckpointTensor& tensor : group.tensors) {
      RETURN_IF_ERROR(InlineElements(run.container, group, tensor).status());
    }
  }
  return absl::OkStatus();
}

Tensor TensorOf(const CheckpointTensor& tensor, absl::string_view elements) {
  Tensor result(tensor.name, tensor.dtype, tensor.shape);
  CHECK_EQ(result.mutable_bytes().size(), elements.size());
  if (!elements.empty()) std::memcpy(result.mutable_bytes().data(), elements.data(), elements.size());
  return result;
}

}  // namespace

struct RunReader::Impl {
  FileSystem& files;
  std::string directory;
  std::string bytes;
  Digest file_digest;
  internal::StoredRun run;

  absl::StatusOr<const StoredStream*> FindStream(absl::string_view name) const {
    const auto has_name = [&](const StoredStream& stream) { return stream.table.schema().name == name; };
    const auto it = std::find_if(run.streams.begin(), run.streams.end(), has_name);
    if (it != run.streams.end()) return &*it;
    const auto append_name = [](std::string* out, const StoredStream& s) {
      absl::StrAppend(out, s.table.schema().name);
    };
    return absl::NotFoundError(
        absl::StrCat("the run has no stream \"", name, "\"; it has ", absl::StrJoin(run.streams, ", ", append_name)));
  }
};

absl::StatusOr<RunReader> RunReader::Open(FileSystem& files, absl::string_view path, absl::string_view run_directory) {
  ASSIGN_OR_RETURN(std::string bytes, internal::ReadContainerFile(files, path));
  return Parse(files, std::move(bytes), path, run_directory);
}

absl::StatusOr<RunReader> RunReader::Parse(FileSystem& files, std::string bytes, absl::string_view path,
                                           absl::string_view run_directory) {
  // Moved to its final place first, because the parsed run refers to it.
  const std::string directory = run_directory.empty() ? DirectoryOf(path) : std::string(run_directory);
  auto impl = std::make_unique<Impl>(
      Impl{.files = files, .directory = directory, .bytes = std::move(bytes), .file_digest = {}, .run = {}});
  auto run = internal::ParseRun(impl->bytes);
  RETURN_IF_ERROR(WithContext(run.status(), path));
  RETURN_IF_ERROR(WithContext(CheckInlineCheckpoints(*run), path));
  impl->run = *std::move(run);
  impl->file_digest = Sha256(impl->bytes);
  return RunReader(std::move(impl));
}

RunReader::RunReader(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
RunReader::RunReader(RunReader&&) noexcept = default;
RunReader& RunReader::operator=(RunReader&&) noexcept = default;
RunReader::~RunReader() = default;

const RunHeader& RunReader::header() const { return impl_->run.header; }
std::string RunReader::config_sha256_hex() const { return ToHex(impl_->run.config_digest); }
std::string RunReader::run_digest_hex() const { return ToHex(impl_->run.container.block.run_digest); }
std::string RunReader::file_sha256_hex() const { return ToHex(impl_->file_digest); }
const std::vector<int64_t>& RunReader::steps() const { return impl_->run.steps; }

std::vector<StreamInfo> RunReader::streams() const {
  std::vector<StreamInfo> infos;
  for (const StoredStream& stream : impl_->run.streams) {
    StreamInfo info = {.schema = stream.table.schema(), .rows = stream.table.rows(), .column_bytes = {}};
    for (size_t column = 0; column < info.schema.columns.size(); ++column) {
      info.column_bytes.push_back(stream.table.column_bytes(static_cast<int>(column)));
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<CheckpointInfo> RunReader::checkpoints() const {
  std::vector<CheckpointInfo> infos;
  for (const CheckpointGroup& group : impl_->run.checkpoints) {
    CheckpointInfo info = {.step = group.step,
                           .group = group.group,
                           .tensors = {},
                           .bytes = group.bytes(),
                           .is_external = !IsInline(impl_->run.container, group)};
    for (const CheckpointTensor& tensor : group.tensors) info.tensors.push_back(tensor.name);
    infos.push_back(std::move(info));
  }
  return infos;
}

absl::StatusOr<StreamTable> RunReader::ReadStream(absl::string_view name) const {
  ASSIGN_OR_RETURN(const StoredStream* stream, impl_->FindStream(name));
  return stream->table.AllRows();
}

absl::StatusOr<StreamTable> RunReader::ReadStream(absl::string_view name, int64_t step) const {
  ASSIGN_OR_RETURN(const StoredStream* stream, impl_->FindStream(name));
  const auto it = std::lower_bound(steps().begin(), steps().end(), step);
  if (it == steps().end() || *it != step) return absl::NotFoundError(absl::StrCat("the run has no step ", step));
  const size_t index = static_cast<size_t>(it - steps().begin());
  return stream->table.Rows(index == 0 ? 0 : stream->row_ends[index - 1], stream->row_ends[index]);
}

absl::StatusOr<std::vector<Tensor>> RunReader::ReadCheckpoint(int64_t step, absl::string_view group) const {
  const auto& groups = impl_->run.checkpoints;
  const auto is_wanted = [&](const CheckpointGroup& g) { return g.step == step && g.group == group; };
  const auto it = std::find_if(groups.begin(), groups.end(), is_wanted);
  if (it == groups.end()) {
    return absl::NotFoundError(absl::StrCat("the run has no checkpoint of step ", step, ", group \"", group, "\""));
  }
  const bool is_inline = IsInline(impl_->run.container, *it);
  std::string file;
  if (!is_inline) {
    ASSIGN_OR_RETURN(file, internal::ReadGroup(impl_->files, impl_->directory, *it));
  }
  std::vector<Tensor> tensors;
  for (const CheckpointTensor& tensor : it->tensors) {
    absl::string_view elements = absl::string_view(file).substr(is_inline ? 0 : static_cast<size_t>(tensor.offset),
                                                                static_cast<size_t>(tensor.bytes()));
    if (is_inline) {
      ASSIGN_OR_RETURN(elements, InlineElements(impl_->run.container, *it, tensor));
    }
    tensors.push_back(TensorOf(tensor, elements));
  }
  return tensors;
}

}  // namespace reprise
