#ifndef TESTS_FAULTS_SHIM_WATCHED_H_
#define TESTS_FAULTS_SHIM_WATCHED_H_

#include <string>

namespace fault_shim {

// `path` (of a call that takes it relative to the descriptor `directory`, or to AT_FDCWD) within the watched directory:
// "." for the directory itself; empty if it is not watched. Links and ".." are not followed.
std::string Watched(int directory, const char* path);

// The descriptor now stands for a watched path. Descriptors that are copied (dup) are forgotten.
void Remember(int descriptor, const std::string& watched);
void Forget(int descriptor);

// Empty for a descriptor of another file.
std::string WatchedOf(int descriptor);

}  // namespace fault_shim

#endif  // TESTS_FAULTS_SHIM_WATCHED_H_
