#ifndef DATA_ARTIFACT_TESTING_REWRITE_H_
#define DATA_ARTIFACT_TESTING_REWRITE_H_

// Changes the contents of a run file for tests, and recomputes all its digests.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/tables/table.h"

namespace reprise::testing {

// Edits the streams, keyed by name. Schemas must not change; rows may be changed, added or removed (AppendRows into a
// new table). Added rows belong to the last step; if rows are removed, later steps lose theirs.
using EditStreams = std::function<void(std::map<std::string, StreamTable>& streams)>;

// Returns the bytes of the run file after `edit`, with all digests recomputed. Errors: those of reading `run_file`.
absl::StatusOr<std::string> RewriteRun(absl::string_view run_file, const EditStreams& edit);

// Returns the run file as one of the numeric contract after this program's, whose first block has its digest.
std::string OfNextContract(std::string run_file);

// Returns the bytes of the run file with the text of its configuration replaced, and all digests recomputed.
absl::StatusOr<std::string> WithConfigText(absl::string_view run_file, const std::string& text);

}  // namespace reprise::testing

#endif  // DATA_ARTIFACT_TESTING_REWRITE_H_
