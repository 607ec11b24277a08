#ifndef TESTS_FAULTS_SHIM_WATCHED_H_
#define TESTS_FAULTS_SHIM_WATCHED_H_

#include <string>

namespace fault_shim {

// Returns `path` (of a call that takes it relative to the descriptor `directory`, or to AT_FDCWD) relative to the
// watched directory: "." for the directory itself; empty if the path is not watched. Links and ".." are not followed.
std::string Watched(int directory, const char* path);

// Records that the descriptor refers to a watched path. Copies of it (dup) are not recorded.
void Remember(int descriptor, const std::string& watched);
void Forget(int descriptor);

// Returns the descriptor's watched path; empty for any other file.
std::string WatchedPath(int descriptor);

}  // namespace fault_shim

#endif  // TESTS_FAULTS_SHIM_WATCHED_H_
