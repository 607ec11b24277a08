#ifndef DATA_ARTIFACT_FORMAT_CONTAINER_H_
#define DATA_ARTIFACT_FORMAT_CONTAINER_H_

// A file of named arrays that contains its own digests: a user block and an HDF5 file. This code knows nothing of runs;
// segments and run.h5 are both such files.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "data/artifact/format/hdf5/arrays.h"
#include "data/artifact/format/user_block.h"

namespace reprise::internal {

using ByteSink = std::function<absl::Status(absl::string_view bytes)>;

// An array to be written. `emit` passes its elements to the sink in order, in pieces of any size; the data that it
// refers to must live until the file is written.
struct ArraySource {
  ArrayInfo info;
  std::function<absl::Status(const ByteSink& sink)> emit;
};

// Returns the source of an array whose elements are in memory.
ArraySource SourceOf(ArrayInfo info, absl::string_view bytes);  // which must live until the file is written
ArraySource OwningSourceOf(ArrayInfo info, std::string bytes);

// Writes the whole file into `file`, which must be new, in one pass, with the user block last. The arrays may come in
// any order. The bytes are a function of the arrays. Returns the block. Errors: those of `file` and of
// the sources.
absl::StatusOr<UserBlock> WriteContainer(std::vector<ArraySource> arrays, File& file);

// Returns the same bytes in memory.
absl::StatusOr<std::string> EncodeContainer(std::vector<ArraySource> arrays);

// Returns all bytes of a file that begins with a user block and has the size that the block states; nothing more than
// the block is read of another file. Errors: those of ParseUserBlock, with the path in front; InvalidArgument for a
// directory; DataLoss for what is not a regular file; those of `files`.
absl::StatusOr<std::string> ReadContainerFile(FileSystem& files, absl::string_view path);

// Returns whether ReadContainerFile would read the file, from its size and its first bytes. Errors: those of `files`.
absl::StatusOr<bool> IsContainerFile(FileSystem& files, absl::string_view path);

// Returns whether the file can be one whose writing was interrupted, from its first bytes: the user block is written
// last, and power may be lost before anything is on the disk. False for what is gone, a link, or no regular file.
// Errors: those of `files`.
absl::StatusOr<bool> IsUnfinishedContainer(FileSystem& files, const std::string& path);

struct ArrayView {
  ArrayInfo info;
  absl::string_view bytes;  // the elements, within the file's bytes
  Digest digest = {};       // of the elements
};

struct Container {
  UserBlock block;
  std::vector<ArrayView> arrays;  // sorted by path

  // DataLoss if there is no such array.
  absl::StatusOr<const ArrayView*> Find(absl::string_view path) const;
};

// Finds the arrays of verified bytes. It is FindArrays except in tests.
using ArrayFinding = std::function<absl::StatusOr<std::vector<ArrayLocation>>(absl::string_view file)>;

// Parses a file from memory, which must outlive the result. Checks in this order: the user block, the SHA-256 of the
// rest, only then HDF5 (through `find`), and then the run digest. DataLoss for a damaged file, Unimplemented for
// another format or numeric contract.
absl::StatusOr<Container> ParseContainer(absl::string_view file, const ArrayFinding& find = FindArrays);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_FORMAT_CONTAINER_H_
