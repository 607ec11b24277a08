#ifndef DATA_ARTIFACT_TABLE_FILE_H_
#define DATA_ARTIFACT_TABLE_FILE_H_

// A file of tables in the container of run files, with its digests, that is not a run: sweep.h5 (FORMAT.md, "The table
// of a sweep").

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "data/artifact/format/run_header.h"
#include "data/tables/table.h"

namespace reprise {

struct TableFile {
  std::string plan;                 // text: what the tables are about
  std::vector<StreamTable> tables;  // sorted by name
  RunDigests digests = {};          // set by Parse
};

// Returns the file's bytes: a function of the plan, the tables and the version of HDF5. The
// tables' names must differ and satisfy IsArtifactName (checked).
absl::StatusOr<std::string> EncodeTableFile(const std::string& plan, absl::Span<const StreamTable> tables);

// Returns the bytes of such a file, which has the size that its first bytes state: of another file, nothing more is
// read. Otherwise as ParseTableFile.
absl::StatusOr<std::string> ReadTableFile(FileSystem& files, absl::string_view path);

// The inverse. Verifies all digests first. DataLoss, naming `path`, if the bytes are damaged or are not such a file;
// Unimplemented if they have another format or numeric contract.
absl::StatusOr<TableFile> ParseTableFile(const std::string& bytes, absl::string_view path);

}  // namespace reprise

#endif  // DATA_ARTIFACT_TABLE_FILE_H_
