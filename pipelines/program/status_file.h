#ifndef PIPELINES_PROGRAM_STATUS_FILE_H_
#define PIPELINES_PROGRAM_STATUS_FILE_H_

// The exit code of a job as a file, for a batch script that does not wait for a launcher: srun may wait for minutes for
// a node that has died, although every other rank has ended. The script names the file in REPRISE_STATUS_FILE.

#include <string>

#include "absl/strings/string_view.h"

namespace reprise {

// Writes a new file, which only its owner can read, under another name and links it to its own, so that it is complete
// from the beginning. Returns
// false if there already is a file of that name, or if this one cannot be written. Does not mark activity
// (core/parallel/activity.h).
bool CreateWhole(const std::string& path, absl::string_view bytes);

// Creates the file that REPRISE_STATUS_FILE names, with the exit code as text and a line feed, unless there already is
// one: the first rank that ends decides. Does nothing without the variable. Any thread of any rank may call it.
void WriteStatusFile(int exit_code);

}  // namespace reprise

#endif  // PIPELINES_PROGRAM_STATUS_FILE_H_
