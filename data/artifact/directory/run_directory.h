#ifndef DATA_ARTIFACT_DIRECTORY_RUN_DIRECTORY_H_
#define DATA_ARTIFACT_DIRECTORY_RUN_DIRECTORY_H_

// The names in a run's directory (FORMAT.md, "The run's directory").

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise::internal {

std::string RunPath(absl::string_view run_directory);
std::string EpochDirectory(absl::string_view run_directory);
std::string SegmentDirectory(absl::string_view run_directory);

// Returns the directory into which files are moved that may hold committed steps and do not belong to the run.
std::string AsideDirectory(absl::string_view run_directory);

// FailedPrecondition, with a remedy, if a directory that a run writes in its directory is a symbolic link: what it
// leads to may be another run's, whose files look like this one's. The run's directory itself may be one.
absl::Status CheckNoLinks(absl::string_view run_directory);

// The highest epoch number. No run gets this far; higher numbers are not epochs, so that a next number always exists.
inline constexpr int64_t kLastEpoch = 1'000'000'000'000'000;

// Converts an epoch to "E0001", and back: 0 for any other text.
std::string EpochName(int64_t epoch);
int64_t EpochOf(absl::string_view name);

std::string JournalPath(absl::string_view run_directory, int64_t epoch);
// Returns the epoch in a name like "journal.E0001"; 0 for any other name.
int64_t EpochOfJournal(absl::string_view name);

// Returns the name of the epoch's `index`-th segment in the segments' directory: "E0001-000000.h5".
std::string SegmentName(int64_t epoch, int64_t index);
// Returns the epoch in such a name, or in the name of a temporary file for it; 0 for any other name.
int64_t EpochOfSegment(absl::string_view name);

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_RUN_DIRECTORY_H_
