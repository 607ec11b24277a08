#include "data/artifact/merge.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/checkpoint_files.h"
#include "data/artifact/format/file_range.h"
#include "data/artifact/format/run_arrays.h"

namespace reprise::internal {
namespace {

constexpr int64_t kReadBackBytes = int64_t{4} << 20;

// One segment's part of an array.
struct Part {
  FileRange range;
  int64_t first_dimension = 0;
  int64_t last = 0;  // the last element, for offsets and row ends
};

// An array of the merged file.
struct MergedArray {
  ArrayInfo info;  // of the first segment; its first dimension grows with each segment
  std::vector<Part> parts;
};

// Returns whether the array is common to all segments, so that it is stored once.
bool IsOfHeader(absl::string_view path) { return absl::StartsWith(path, "/run/"); }
bool IsOffsets(absl::string_view path) { return absl::EndsWith(path, kOffsetsSuffix); }
bool IsIndex(absl::string_view path) { return absl::StartsWith(path, absl::StrCat(kCheckpointIndex, "/")); }
bool IsTensor(absl::string_view path) { return absl::StartsWith(path, "/checkpoints/") && !IsIndex(path); }
// Returns whether the array holds counts that continue those of the previous segment.
bool IsCumulative(absl::string_view path) { return IsOffsets(path) || absl::StartsWith(path, "/steps/rows/"); }

// Adds `shift` to every i64 of `bytes`.
std::string Shifted(absl::string_view bytes, int64_t shift) {
  const int64_t count = static_cast<int64_t>(bytes.size() / sizeof(int64_t));
  std::vector<int64_t> values = IntegersIn(bytes, 0, count);
  for (int64_t& value : values) value += shift;
  return std::string(reinterpret_cast<const char*>(values.data()), bytes.size());
}

absl::Status EmitParts(FileSystem& files, const MergedArray& array, const ByteSink& sink) {
  int64_t shift = 0;
  for (const Part& part : array.parts) {
    // Every segment's offsets begin with 0; only the first segment's 0 is kept.
    size_t skipped = IsOffsets(array.info.path) && &part != &array.parts[0] ? sizeof(int64_t) : 0;
    const auto shifted_sink = [&](absl::string_view bytes) {
      bytes.remove_prefix(std::exchange(skipped, 0));
      return shift == 0 ? sink(bytes) : sink(Shifted(bytes, shift));
    };
    if (part.range.size > 0) RETURN_IF_ERROR(CopyRange(files, part.range, shifted_sink));
    shift += part.last;
  }
  return absl::OkStatus();
}

class Merger {
 public:
  Merger(FileSystem& files, absl::string_view run_directory) : files_(files), run_directory_(run_directory) {}

  // Verifies a segment and records where its arrays are.
  absl::Status AddSegment(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadContainerFile(files_, path));
    const auto run = ParseRun(bytes);
    if (!run.ok()) return WithContext(run.status(), path);
    if (!run->steps.empty()) {
      if (!steps_.empty() && run->steps.front() <= steps_.back()) {
        return absl::DataLossError(absl::StrCat(path, ": its first step is ", run->steps.front(), ", but step ",
                                                steps_.back(), " is in the segment before"));
      }
      steps_.insert(steps_.end(), run->steps.begin(), run->steps.end());
    }
    checkpoints_.insert(checkpoints_.end(), run->checkpoints.begin(), run->checkpoints.end());
    return AddArrays(path, bytes, run->container);
  }

  // Drops all checkpoints except those of the newest `keep` steps.
  void KeepCheckpoints(int64_t keep) {
    std::set<int64_t> steps;
    for (const CheckpointGroup& group : checkpoints_) steps.insert(group.step);
    const int64_t first = FirstKeptStep(steps, keep);
    if (steps.empty() || first <= *steps.begin()) return;
    std::erase_if(checkpoints_, [&](const CheckpointGroup& group) { return group.step < first; });
    kept_index_.emplace(CheckpointIndexSchema());
    for (const CheckpointGroup& group : checkpoints_) AppendGroup(group, *kept_index_);
  }

  // Returns the arrays of the merged file; they refer to this object.
  std::vector<ArraySource> Sources(int64_t max_inline_bytes, std::vector<CheckpointGroup>& inlined) const {
    std::vector<ArraySource> sources;
    if (kept_index_) sources = SourcesOf(kCheckpointIndex, *kept_index_);
    for (const MergedArray& array : arrays_) {
      if (kept_index_ && IsIndex(array.info.path)) continue;
      sources.push_back({array.info, [this, &array](const ByteSink& sink) { return EmitParts(files_, array, sink); }});
    }
    for (const CheckpointGroup& group : checkpoints_) {
      if (group.bytes() > max_inline_bytes) continue;
      inlined.push_back(group);
      for (const CheckpointTensor& tensor : group.tensors) {
        sources.push_back(SourceOfTensor(files_, run_directory_, group, tensor));
      }
    }
    return sources;
  }

 private:
  absl::Status AddArrays(const std::string& path, absl::string_view bytes, const Container& container) {
    const bool is_first = arrays_.empty();
    if (is_first) arrays_.resize(container.arrays.size());
    const auto of_another_run = [&] { return absl::DataLossError(absl::StrCat(path, ": it belongs to another run")); };
    if (container.arrays.size() != arrays_.size()) return of_another_run();
    for (size_t i = 0; i < arrays_.size(); ++i) {  // both sorted by path
      const ArrayView& view = container.arrays[i];
      MergedArray& array = arrays_[i];
      if (view.info.shape.empty() || IsTensor(view.info.path)) {
        return absl::DataLossError(absl::StrCat(path, ": it is a finished run, not a segment of one"));
      }
      if (is_first) array.info = view.info;
      if (view.info.path != array.info.path) return of_another_run();
      if (IsOfHeader(view.info.path) && !is_first) {
        if (view.digest != array.parts[0].range.sha256) return of_another_run();
        continue;
      }
      AddPart(path, bytes, view, array);
    }
    return absl::OkStatus();
  }

  void AddPart(const std::string& path, absl::string_view bytes, const ArrayView& view, MergedArray& array) const {
    Part part = {.range = {.path = path,
                           .offset = view.bytes.data() - bytes.data(),
                           .size = static_cast<int64_t>(view.bytes.size()),
                           .sha256 = view.digest},
                 .first_dimension = view.info.shape[0]};
    if (IsCumulative(view.info.path) && part.first_dimension > 0) {
      part.last = IntegersIn(view.bytes, part.first_dimension - 1, part.first_dimension)[0];
    }
    if (!array.parts.empty()) array.info.shape[0] += part.first_dimension - (IsOffsets(view.info.path) ? 1 : 0);
    array.parts.push_back(std::move(part));
  }

  FileSystem& files_;
  const std::string run_directory_;
  std::vector<MergedArray> arrays_;
  std::vector<CheckpointGroup> checkpoints_;
  std::optional<StreamTable> kept_index_;  // set if it differs from the index of all segments
  std::vector<int64_t> steps_;
};

// Returns the digest of a file as it can be read now.
absl::StatusOr<Digest> DigestOf(File& file, int64_t size) {
  Sha256Stream digest;
  for (int64_t done = 0; done < size;) {
    ASSIGN_OR_RETURN(const std::string piece, file.ReadAt(done, kReadBackBytes));
    if (piece.empty()) return absl::DataLossError("a file just written can't be read back");
    digest.Update(piece);
    done += static_cast<int64_t>(piece.size());
  }
  return digest.Current();
}

}  // namespace

absl::StatusOr<MergeResult> MergeSegments(FileSystem& files, absl::string_view run_directory,
                                          absl::Span<const std::string> segments, absl::string_view path,
                                          int64_t max_inline_bytes, int64_t keep_checkpoints,
                                          const MayCommit& may_commit) {
  CHECK(!segments.empty());
  Merger merger(files, run_directory);
  for (const std::string& segment : segments) RETURN_IF_ERROR(merger.AddSegment(segment));
  merger.KeepCheckpoints(keep_checkpoints);
  MergeResult result;
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(files, path));
  ASSIGN_OR_RETURN(const UserBlock block,
                   WriteContainer(merger.Sources(max_inline_bytes, result.inlined), file.file()));
  ASSIGN_OR_RETURN(const Digest digest, DigestOf(file.file(), kUserBlockBytes + block.body_bytes));
  RETURN_IF_ERROR(may_commit());
  RETURN_IF_ERROR(file.Commit());
  result.digests = {.run_digest_hex = ToHex(block.run_digest), .file_sha256_hex = ToHex(digest)};
  return result;
}

absl::StatusOr<std::string> MergeInMemory(FileSystem& files, absl::string_view run_directory,
                                          absl::Span<const std::string> segments, int64_t keep_checkpoints) {
  CHECK(!segments.empty());
  Merger merger(files, run_directory);
  for (const std::string& segment : segments) RETURN_IF_ERROR(merger.AddSegment(segment));
  merger.KeepCheckpoints(keep_checkpoints);
  std::vector<CheckpointGroup> inlined;
  return EncodeContainer(merger.Sources(/*max_inline_bytes=*/-1, inlined));
}

}  // namespace reprise::internal
