#include <algorithm>
#include <utility>

#include "core/digest/sha256.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_digest.h"

namespace reprise::internal {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;

// Passes the bytes after the user block to a sink.
class Body {
 public:
  Body(const SparseStorage& metadata, const ByteSink& sink) : metadata_(metadata), sink_(sink) {}

  int64_t position() const { return position_; }  // position in the file
  Digest digest() const { return digest_.Current(); }

  absl::Status Put(absl::string_view bytes) {
    digest_.Update(bytes);
    position_ += static_cast<int64_t>(bytes.size());
    return sink_(bytes);
  }

  // Passes on what HDF5 wrote (or left zero) up to `end`.
  absl::Status PutMetadataUpTo(int64_t end) {
    CHECK_LE(position_, end);
    while (position_ < end) {
      std::string piece(static_cast<size_t>(std::min(end - position_, kPieceBytes)), '\0');
      CHECK(metadata_.Read(static_cast<uint64_t>(position_), piece.size(), piece.data()));
      RETURN_IF_ERROR(Put(piece));
    }
    return absl::OkStatus();
  }

  // Passes on the elements of an array; returns their digest.
  absl::StatusOr<Digest> PutElements(const ArraySource& array) {
    Sha256Stream elements;
    const int64_t end = position_ + array.info.bytes();
    RETURN_IF_ERROR(array.emit([&](absl::string_view bytes) {
      elements.Update(bytes);
      return Put(bytes);
    }));
    CHECK_EQ(position_, end);
    return elements.Current();
  }

 private:
  const SparseStorage& metadata_;
  const ByteSink& sink_;
  Sha256Stream digest_;
  int64_t position_ = kUserBlockBytes;
};

// Passes everything after the user block to `sink`; returns the block.
absl::StatusOr<UserBlock> EmitBody(std::vector<ArraySource> arrays, const ByteSink& sink) {
  const auto by_path = [](const ArraySource& a, const ArraySource& b) { return a.info.path < b.info.path; };
  std::sort(arrays.begin(), arrays.end(), by_path);
  std::vector<ArrayInfo> infos;
  for (const ArraySource& array : arrays) infos.push_back(array.info);
  ASSIGN_OR_RETURN(const FileLayout layout, LayOutArrays(infos));

  RunDigest run;
  std::vector<std::pair<int64_t, const ArraySource*>> by_offset;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (layout.offsets[i] >= 0) {
      by_offset.emplace_back(layout.offsets[i], &arrays[i]);
    } else {
      run.Add(infos[i], Sha256(""));
    }
  }
  std::sort(by_offset.begin(), by_offset.end());
  Body body(layout.metadata, sink);
  for (const auto& [offset, array] : by_offset) {
    RETURN_IF_ERROR(body.PutMetadataUpTo(offset));
    ASSIGN_OR_RETURN(const Digest digest, body.PutElements(*array));
    run.Add(array->info, digest);
  }
  RETURN_IF_ERROR(body.PutMetadataUpTo(layout.size));
  return UserBlock{
      .body_bytes = body.position() - kUserBlockBytes, .body_digest = body.digest(), .run_digest = run.Finish()};
}

}  // namespace

ArraySource SourceOf(ArrayInfo info, absl::string_view bytes) {
  return {std::move(info), [bytes](const ByteSink& sink) { return sink(bytes); }};
}

ArraySource OwningSourceOf(ArrayInfo info, std::string bytes) {
  return {std::move(info), [bytes = std::move(bytes)](const ByteSink& sink) { return sink(bytes); }};
}

absl::StatusOr<UserBlock> WriteContainer(std::vector<ArraySource> arrays, File& file) {
  std::string pending(static_cast<size_t>(kUserBlockBytes), '\0');  // the block's place, then buffered small pieces
  const auto sink = [&](absl::string_view bytes) -> absl::Status {
    pending.append(bytes.data(), bytes.size());
    if (static_cast<int64_t>(pending.size()) < kPieceBytes) return absl::OkStatus();
    RETURN_IF_ERROR(file.Append(pending));
    pending.clear();
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const UserBlock block, EmitBody(std::move(arrays), sink));
  RETURN_IF_ERROR(file.Append(pending));
  RETURN_IF_ERROR(file.WriteAt(0, EncodeUserBlock(block)));
  return block;
}

absl::StatusOr<std::string> EncodeContainer(std::vector<ArraySource> arrays) {
  std::string file(static_cast<size_t>(kUserBlockBytes), '\0');
  const auto sink = [&file](absl::string_view bytes) {
    file.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const UserBlock block, EmitBody(std::move(arrays), sink));
  file.replace(0, static_cast<size_t>(kUserBlockBytes), EncodeUserBlock(block));
  return file;
}

}  // namespace reprise::internal
