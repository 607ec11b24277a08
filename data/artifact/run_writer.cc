#include "data/artifact/run_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/checkpoint_files.h"
#include "data/artifact/directory/committed.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/directory/resume_run.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/directory/tidy.h"
#include "data/artifact/format/run_arrays.h"
#include "data/artifact/merge.h"

namespace reprise {
namespace {

using internal::CheckpointGroup;
using internal::Committed;
using internal::ResumedRun;
using internal::StepBatch;

std::vector<Digest> FilesOf(absl::Span<const CheckpointGroup> groups) {
  std::vector<Digest> digests;
  for (const CheckpointGroup& group : groups) digests.push_back(group.file_sha256);
  return digests;
}

}  // namespace

class RunWriter::Impl {
 public:
  Impl(FileSystem& files, absl::string_view directory, RunHeader header, const RunWriterOptions& options,
       ResumedRun run, bool is_rewrite)
      : files_(files),
        directory_(directory),
        header_(std::move(header)),
        options_(options),
        epoch_(run.epoch),
        journal_(std::move(run.journal)),
        committed_(std::move(run.committed)),
        moved_aside_(std::move(run.moved_aside)),
        batch_(header_),
        is_rewrite_(is_rewrite) {
    if (!committed_.checkpoints.empty()) last_checkpoint_ = committed_.checkpoints.rbegin()->first.first;
  }

  const Committed& committed() const { return committed_; }
  const std::vector<std::string>& moved_aside() const { return moved_aside_; }

  absl::Status CommitStep(int64_t step, absl::Span<const StreamTable> tables) {
    RETURN_IF_ERROR(first_error_);
    CHECK_GT(step, committed_.last_step);
    committed_.last_step = step;
    batch_.Add(step, tables);
    const bool is_full =
        static_cast<int64_t>(batch_.steps.size()) >= options_.segment_steps || batch_.bytes() >= options_.segment_bytes;
    return is_full ? Flush() : absl::OkStatus();
  }

  absl::Status AddCheckpoint(int64_t step, absl::string_view name, absl::Span<const TensorView> tensors) {
    RETURN_IF_ERROR(first_error_);
    ASSIGN_OR_RETURN(const CheckpointGroup group, internal::DescribeGroup(step, name, tensors));
    const auto place = std::make_pair(step, group.group);
    if (const auto stored = committed_.checkpoints.find(place); stored != committed_.checkpoints.end()) {
      if (stored->second.file_sha256 == group.file_sha256) return absl::OkStatus();
      return absl::AlreadyExistsError(
          absl::StrCat("the checkpoint of step ", step, " already has a group \"", name, "\" with other contents"));
    }
    if (step < last_checkpoint_) {
      if (options_.keep_checkpoints > 0) return absl::OkStatus();
      return absl::DataLossError(absl::StrCat("the checkpoint of step ", step, " (group \"", name,
                                              "\") is missing, though a later one is stored"));
    }
    committed_.checkpoints.emplace(place, internal::CommittedGroup{group.file_sha256, group.bytes()});
    retired_.erase(group.file_sha256);  // the same elements as once before
    last_checkpoint_ = step;
    RETURN_IF_ERROR(Remember(internal::CheckNotFenced(files_, directory_, epoch_)));
    RETURN_IF_ERROR(Remember(internal::WriteGroup(files_, directory_, group, tensors)));
    internal::AppendGroup(group, batch_.checkpoint_index);
    return absl::OkStatus();
  }

  absl::Status Flush() {
    RETURN_IF_ERROR(first_error_);
    if (batch_.empty()) return Remember(internal::CheckNotFenced(files_, directory_, epoch_));
    return Remember(WriteSegment());
  }

  // The first segment holds only the header, so that there is always a segment to merge.
  absl::Status WriteHeader() { return Remember(WriteSegment()); }

  // For a resumed run: removes what its previous process was about to remove.
  absl::Status Retire() { return Remember(RetireCheckpoints()); }

  absl::Status SetAside(absl::string_view name) {
    CHECK(is_rewrite_);
    RETURN_IF_ERROR(Flush());
    RETURN_IF_ERROR(Remember(RenameRunFile(JoinPath(directory_, name))));
    is_rewrite_ = false;
    return absl::OkStatus();
  }

  absl::StatusOr<RunDigests> Finish() {
    CHECK(!is_rewrite_);
    if (const absl::Status flushed = Flush(); !flushed.ok()) return OrFinished(flushed);
    const auto merged = internal::MergeSegments(
        files_, directory_, committed_.segments, internal::RunPath(directory_), options_.max_inline_checkpoint_bytes,
        options_.keep_checkpoints, [this] { return internal::CheckNotFenced(files_, directory_, epoch_); });
    if (!merged.ok()) return OrFinished(Remember(merged.status()));
    first_error_ = absl::FailedPreconditionError("the run is finished");
    const absl::Status tidied = RemoveRest(FilesOf(merged->inlined));
    // If a later epoch has claimed the finished run, it removes the rest.
    if (tidied.ok() || absl::IsFailedPrecondition(tidied)) return merged->digests;
    return WithContext(
        tidied, absl::StrCat(internal::RunPath(directory_), " is complete, but unneeded files could not be removed"));
  }

 private:
  // Removes what the finished run does not need. Another run beside it may have kept files that this run retired.
  absl::Status RemoveRest(std::vector<Digest> unreferenced) {
    ASSIGN_OR_RETURN(const std::vector<std::string> moved,
                     internal::MoveUnreferencedAside(files_, directory_, epoch_, committed_.segments));
    moved_aside_.insert(moved_aside_.end(), moved.begin(), moved.end());
    if (options_.keep_checkpoints > 0) {
      ASSIGN_OR_RETURN(unreferenced, internal::UnreferencedFiles(files_, directory_));
    }
    return internal::RemovePieces(files_, directory_, epoch_, unreferenced);
  }

  absl::Status Remember(const absl::Status& status) {
    if (status.ok() || !first_error_.ok()) return status;
    first_error_ = internal::OrFence(files_, directory_, epoch_, status);
    return first_error_;
  }

  // Returns `status`, the error of Finish; or, if another process that finished the run caused it, an error that says
  // so.
  absl::Status OrFinished(const absl::Status& status) {
    const bool may_be = absl::IsFailedPrecondition(status) || absl::IsAlreadyExists(status) || absl::IsNotFound(status);
    if (!may_be || !absl::IsAlreadyExists(internal::CheckUnfinished(files_, directory_))) return status;
    first_error_ = absl::AlreadyExistsError(
        absl::StrCat(internal::RunPath(directory_), " already exists: another process has finished this run"));
    return first_error_;
  }

  // Makes durable, in this order: the segment, its name, its journal entry. The fence is checked last: what a later
  // epoch does not see is not acknowledged.
  absl::Status WriteSegment() {
    ASSIGN_OR_RETURN(const std::string bytes, internal::EncodeContainer(internal::SourcesOf(header_, batch_)));
    const std::string name = internal::SegmentName(epoch_, segments_written_);
    const std::string path = JoinPath(internal::SegmentDirectory(directory_), name);
    RETURN_IF_ERROR(WriteFileAtomically(files_, path, bytes, kReadOnly));
    RETURN_IF_ERROR(journal_.Append({.kind = internal::kSegmentKind,
                                     .number = committed_.last_step,
                                     .size = static_cast<int64_t>(bytes.size()),
                                     .sha256 = Sha256(bytes),
                                     .name = name}));
    RETURN_IF_ERROR(internal::CheckNotFenced(files_, directory_, epoch_));
    ++segments_written_;
    committed_.segments.push_back(path);
    batch_ = StepBatch(header_);
    return RetireCheckpoints();
  }

  // Removes the files of checkpoints that are no longer kept: every later epoch sees that newer ones are committed. A
  // run beside this one, from which this one is rewritten, may need files that are not in its run.h5.
  absl::Status RetireCheckpoints() {
    if (options_.keep_checkpoints == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
    const bool is_alone =
        std::none_of(names.begin(), names.end(), [](const std::string& name) { return absl::EndsWith(name, ".h5"); });
    const int64_t first_kept = committed_.FirstKept(options_.keep_checkpoints);
    std::set<Digest> kept, retired;
    for (const auto& [place, group] : committed_.checkpoints) {
      const bool is_kept =
          place.first >= first_kept || (!is_alone && group.bytes > options_.max_inline_checkpoint_bytes);
      (is_kept ? kept : retired).insert(group.file_sha256);
    }
    std::vector<Digest> gone;
    for (const Digest& digest : retired) {
      if (!kept.contains(digest) && retired_.insert(digest).second) gone.push_back(digest);
    }
    if (gone.empty()) return absl::OkStatus();
    return internal::RemoveCheckpointFiles(files_, directory_, epoch_, gone);
  }

  absl::Status RenameRunFile(const std::string& path) {
    RETURN_IF_ERROR(internal::CheckNotFenced(files_, directory_, epoch_));
    absl::Status renamed = files_.RenameNoReplace(internal::RunPath(directory_), path);
    if (absl::IsNotFound(renamed)) {  // an older epoch checked its fence before our claim and renamed it afterwards
      ASSIGN_OR_RETURN(const bool is_aside, Exists(files_, path));
      if (!is_aside) return renamed;
    } else {
      RETURN_IF_ERROR(renamed);
    }
    return files_.SyncDirectory(directory_);
  }

  FileSystem& files_;
  const std::string directory_;
  const RunHeader header_;
  const RunWriterOptions options_;
  const int64_t epoch_;
  internal::JournalWriter journal_;
  Committed committed_;  // includes what is still buffered
  std::vector<std::string> moved_aside_;
  StepBatch batch_;
  bool is_rewrite_;  // run.h5 belongs to another run
  int64_t segments_written_ = 0, last_checkpoint_ = 0;
  std::set<Digest> retired_;  // whose files are removed
  absl::Status first_error_;
};

absl::Status RunWriter::CheckFree(FileSystem& files, absl::string_view directory,
                                  absl::Span<const absl::string_view> others) {
  return internal::CheckFree(files, directory, others);
}

absl::StatusOr<RunWriter> RunWriter::Create(FileSystem& files, absl::string_view directory, RunHeader header,
                                            const RunWriterOptions& options) {
  RETURN_IF_ERROR(CheckRunHeader(header));
  ASSIGN_OR_RETURN(ResumedRun run, internal::BeginRun(files, directory));
  absl::StatusOr<RunWriter> writer = Start(files, directory, std::move(header), options, std::move(run), false);
  if (!writer.ok()) internal::RemoveBeginning(files, directory);
  return writer;
}

absl::StatusOr<RunWriter> RunWriter::Resume(FileSystem& files, absl::string_view directory, RunHeader header,
                                            const RunWriterOptions& options, const NextStepAfter& next_step_after) {
  RETURN_IF_ERROR(CheckRunHeader(header));
  Sort(header);
  ASSIGN_OR_RETURN(ResumedRun run,
                   internal::ResumeRun(files, directory, header, options.keep_checkpoints, next_step_after));
  ASSIGN_OR_RETURN(RunWriter writer, Start(files, directory, std::move(header), options, std::move(run), false));
  RETURN_IF_ERROR(writer.impl_->Retire());
  return writer;
}

absl::StatusOr<RunWriter> RunWriter::Rewrite(FileSystem& files, absl::string_view directory, RunHeader header,
                                             const RunWriterOptions& options) {
  RETURN_IF_ERROR(CheckRunHeader(header));
  ASSIGN_OR_RETURN(ResumedRun run, internal::BeginRewrite(files, directory));
  return Start(files, directory, std::move(header), options, std::move(run), true);
}

absl::StatusOr<std::vector<std::string>> RunWriter::Tidy(FileSystem& files, absl::string_view directory) {
  RETURN_IF_ERROR(internal::CheckFinished(files, directory));
  ASSIGN_OR_RETURN(const bool has_pieces, internal::HasPieces(files, directory));
  if (!has_pieces) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const int64_t epoch, internal::ClaimFinishedRun(files, directory));
  RETURN_IF_ERROR(files.SyncDirectory(directory));  // the writer of run.h5 may have died before its name was durable
  ASSIGN_OR_RETURN(std::vector<std::string> moved, internal::MoveUnreferencedAside(files, directory, epoch, {}));
  ASSIGN_OR_RETURN(const std::vector<Digest> unreferenced, internal::UnreferencedFiles(files, directory));
  RETURN_IF_ERROR(internal::RemovePieces(files, directory, epoch, unreferenced));
  return moved;
}

absl::StatusOr<RunWriter> RunWriter::Start(FileSystem& files, absl::string_view directory, RunHeader header,
                                           const RunWriterOptions& options, ResumedRun run, bool is_rewrite) {
  Sort(header);
  const bool is_new = run.committed.segments.empty();
  RunWriter writer(std::make_unique<Impl>(files, directory, std::move(header), options, std::move(run), is_rewrite));
  if (is_new) RETURN_IF_ERROR(writer.impl_->WriteHeader());
  return writer;
}

RunWriter::RunWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;
RunWriter::~RunWriter() = default;

int64_t RunWriter::last_step() const { return impl_->committed().last_step; }

bool RunWriter::HasCheckpoint(int64_t step, absl::string_view group) const {
  return impl_->committed().checkpoints.contains({step, std::string(group)});
}

const std::vector<std::string>& RunWriter::moved_aside() const { return impl_->moved_aside(); }

std::vector<std::string> RunWriter::segments() const { return impl_->committed().segments; }

absl::Status RunWriter::CommitStep(int64_t step, absl::Span<const StreamTable> tables) {
  return impl_->CommitStep(step, tables);
}

absl::Status RunWriter::AddCheckpoint(int64_t step, absl::string_view group, absl::Span<const TensorView> tensors) {
  return impl_->AddCheckpoint(step, group, tensors);
}

absl::Status RunWriter::Flush() { return impl_->Flush(); }
absl::Status RunWriter::SetAside(absl::string_view name) { return impl_->SetAside(name); }
absl::StatusOr<RunDigests> RunWriter::Finish() { return impl_->Finish(); }

}  // namespace reprise
