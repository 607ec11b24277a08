#include "data/artifact/run_writer.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/checkpoint_files.h"
#include "data/artifact/merge.h"
#include "data/artifact/run_arrays.h"
#include "kernels/contract/numeric_contract.h"

namespace reprise {
namespace {

using internal::CheckpointGroup;
using internal::StepBatch;

std::string SegmentDirectory(absl::string_view run_directory) { return JoinPath(run_directory, "segments"); }
std::string RunPath(absl::string_view run_directory) { return JoinPath(run_directory, "run.h5"); }

absl::Status HoldsRun(absl::string_view directory, absl::string_view what) {
  return absl::AlreadyExistsError(
      absl::StrCat(directory, " already holds a run (", what, "): choose another directory, or remove it"));
}

// Makes the directory this writer's own: creating segments/ succeeds for one writer only.
absl::Status Claim(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  RETURN_IF_ERROR(RunWriter::CheckFree(files, directory));
  absl::Status created = files.CreateDirectory(SegmentDirectory(directory));
  return absl::IsAlreadyExists(created) ? HoldsRun(directory, "segments") : created;
}

}  // namespace

class RunWriter::Impl {
 public:
  Impl(FileSystem& files, absl::string_view directory, RunHeader header, const RunWriterOptions& options)
      : files_(files), directory_(directory), header_(std::move(header)), options_(options), batch_(header_) {}

  absl::Status CommitStep(int64_t step, absl::Span<const StreamTable> tables) {
    RETURN_IF_ERROR(first_error_);
    CHECK_GT(step, last_step_);
    last_step_ = step;
    batch_.Add(step, tables);
    const bool is_full =
        static_cast<int64_t>(batch_.steps.size()) >= options_.segment_steps || batch_.bytes() >= options_.segment_bytes;
    return is_full ? Flush() : absl::OkStatus();
  }

  absl::Status AddCheckpoint(int64_t step, absl::string_view name, absl::Span<const TensorView> tensors) {
    RETURN_IF_ERROR(first_error_);
    CHECK_GE(step, last_checkpoint_);
    ASSIGN_OR_RETURN(const CheckpointGroup group, internal::DescribeGroup(step, name, tensors));
    if (!checkpoints_.emplace(step, group.group).second) {
      return absl::AlreadyExistsError(
          absl::StrCat("the checkpoint of step ", step, " already has a group \"", name, "\""));
    }
    last_checkpoint_ = step;
    RETURN_IF_ERROR(Remember(internal::WriteGroup(files_, directory_, group, tensors)));
    internal::AppendGroup(group, batch_.checkpoint_index);
    return absl::OkStatus();
  }

  absl::Status Flush() {
    RETURN_IF_ERROR(first_error_);
    return batch_.empty() ? absl::OkStatus() : WriteSegment();
  }

  // Also writes a batch without steps: the first segment holds the header alone, so that there always is one to merge.
  absl::Status WriteSegment() {
    const auto bytes = internal::EncodeContainer(internal::SourcesOf(header_, batch_), kNumericContract);
    if (!bytes.ok()) return Remember(bytes.status());
    const std::string path =
        JoinPath(SegmentDirectory(directory_), absl::StrFormat("%06d.h5", static_cast<int>(segments_.size())));
    RETURN_IF_ERROR(Remember(WriteFileAtomically(files_, path, *bytes, kReadOnly)));
    segments_.push_back(path);
    batch_ = StepBatch(header_);
    return absl::OkStatus();
  }

  absl::StatusOr<RunDigests> Finish() {
    RETURN_IF_ERROR(Flush());
    const auto merged = internal::MergeSegments(files_, directory_, segments_, RunPath(directory_),
                                                options_.max_inline_checkpoint_bytes);
    RETURN_IF_ERROR(Remember(merged.status()));
    first_error_ = absl::FailedPreconditionError("the run is finished");
    const absl::Status removed = RemovePieces(merged->inlined);
    if (!removed.ok()) return WithContext(removed, absl::StrCat(RunPath(directory_), " is complete, but not tidied"));
    return merged->digests;
  }

  // Gives the directory back after a failed Create, as well as it can: the error of Create is the one to report.
  void Abandon() {
    for (const std::string& name : files_.List(SegmentDirectory(directory_)).value_or(std::vector<std::string>{})) {
      files_.Unlink(JoinPath(SegmentDirectory(directory_), name)).IgnoreError();
    }
    files_.RemoveDirectory(SegmentDirectory(directory_)).IgnoreError();
  }

 private:
  absl::Status Remember(absl::Status status) {
    if (first_error_.ok()) first_error_ = status;
    return status;
  }

  // Removes what run.h5 now holds.
  absl::Status RemovePieces(const std::vector<CheckpointGroup>& inlined) {
    for (const std::string& segment : segments_) RETURN_IF_ERROR(files_.Unlink(segment));
    RETURN_IF_ERROR(files_.RemoveDirectory(SegmentDirectory(directory_)));
    std::set<std::string> paths;  // equal groups share a file
    for (const CheckpointGroup& group : inlined) paths.insert(internal::CheckpointPath(directory_, group.file_sha256));
    for (const std::string& path : paths) RETURN_IF_ERROR(files_.Unlink(path));
    if (checkpoints_.empty() || inlined.size() < checkpoints_.size()) return absl::OkStatus();
    return files_.RemoveDirectory(internal::CheckpointDirectory(directory_));
  }

  FileSystem& files_;
  const std::string directory_;
  const RunHeader header_;
  const RunWriterOptions options_;
  StepBatch batch_;
  std::vector<std::string> segments_;
  std::set<std::pair<int64_t, std::string>> checkpoints_;
  int64_t last_step_ = -1, last_checkpoint_ = 0;
  absl::Status first_error_;
};

absl::Status RunWriter::CheckFree(FileSystem& files, absl::string_view directory,
                                  absl::Span<const absl::string_view> others) {
  const auto check = [&](absl::string_view name) -> absl::Status {
    ASSIGN_OR_RETURN(const bool exists, Exists(files, JoinPath(directory, name)));
    return exists ? HoldsRun(directory, name) : absl::OkStatus();
  };
  for (const absl::string_view name : {"run.h5", "segments", "checkpoints"}) RETURN_IF_ERROR(check(name));
  for (const absl::string_view name : others) RETURN_IF_ERROR(check(name));
  return absl::OkStatus();
}

absl::StatusOr<RunWriter> RunWriter::Create(FileSystem& files, absl::string_view directory, RunHeader header,
                                            const RunWriterOptions& options) {
  RETURN_IF_ERROR(CheckRunHeader(header));
  Sort(header);
  RETURN_IF_ERROR(Claim(files, directory));
  RunWriter writer(std::make_unique<Impl>(files, directory, std::move(header), options));
  absl::Status status = files.SyncDirectory(directory);
  if (status.ok()) status = writer.impl_->WriteSegment();
  if (status.ok()) return writer;
  writer.impl_->Abandon();
  return status;
}

RunWriter::RunWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;
RunWriter::~RunWriter() = default;

absl::Status RunWriter::CommitStep(int64_t step, absl::Span<const StreamTable> tables) {
  return impl_->CommitStep(step, tables);
}

absl::Status RunWriter::AddCheckpoint(int64_t step, absl::string_view group, absl::Span<const TensorView> tensors) {
  return impl_->AddCheckpoint(step, group, tensors);
}

absl::Status RunWriter::Flush() { return impl_->Flush(); }

absl::StatusOr<RunDigests> RunWriter::Finish() { return impl_->Finish(); }

}  // namespace reprise
