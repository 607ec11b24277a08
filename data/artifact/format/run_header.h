#ifndef DATA_ARTIFACT_FORMAT_RUN_HEADER_H_
#define DATA_ARTIFACT_FORMAT_RUN_HEADER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/digest/sha256.h"
#include "data/tables/schema.h"

namespace reprise {

// A file that a run read and that is not stored in the run file: a model, a tokenizer, a data set.
struct ExternalFile {
  std::string name;  // where it is in the configuration or directory, not on the host: "model/config.json"
  Digest sha256 = {};

  friend bool operator==(const ExternalFile&, const ExternalFile&) = default;
};

// Identifies a run; known before its first step. Nothing in it may depend on host, time, ranks or threads.
struct RunHeader {
  std::string config_text;  // the resolved semantic configuration
  std::vector<ExternalFile> external_files;
  std::vector<StreamSchema> streams;  // every stream that the run may write

  friend bool operator==(const RunHeader&, const RunHeader&) = default;
};

// Sorts external files and streams by name, which is the order in which they are stored.
void Sort(RunHeader& header);

// InvalidArgument if a schema does not pass CheckSchema, if two streams or two external files have the same name, or if
// the name of an external file is empty or contains control characters.
absl::Status CheckRunHeader(const RunHeader& header);

// The two digests of a finished run, as 64 hexadecimal digits each.
struct RunDigests {
  std::string run_digest_hex;   // of the contents, independent of the version of HDF5
  std::string file_sha256_hex;  // of run.h5: what `sha256sum run.h5` prints
};

// Describes, for the user, how two sorted headers of different runs differ. Returns "" if they are equal.
std::string DescribeDifference(const RunHeader& stored, const RunHeader& given);

}  // namespace reprise

#endif  // DATA_ARTIFACT_FORMAT_RUN_HEADER_H_
