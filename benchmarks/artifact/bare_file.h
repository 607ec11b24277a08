#ifndef BENCHMARKS_ARTIFACT_BARE_FILE_H_
#define BENCHMARKS_ARTIFACT_BARE_FILE_H_

// Writes and reads files by system calls only, to measure the time that the machine itself takes. An error ends the
// program.

#include <string>

namespace reprise::benchmarks {

// Does the minimum of a crash-safe writer: writes a file, syncs it, renames it, and syncs its directory.
void WriteBare(const std::string& directory, const std::string& name, const std::string& bytes);

// Reads the file into `bytes`, which must have the file's size.
void ReadBare(const std::string& path, std::string* bytes);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_ARTIFACT_BARE_FILE_H_
