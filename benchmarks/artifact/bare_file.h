#ifndef BENCHMARKS_ARTIFACT_BARE_FILE_H_
#define BENCHMARKS_ARTIFACT_BARE_FILE_H_

// Files by system calls alone: what the machine itself takes to write and read them. An error ends the program.

#include <string>

namespace reprise::benchmarks {

// The least that a crash-safe writer does: a file written, synced, renamed, and its directory synced.
void WriteBare(const std::string& directory, const std::string& name, const std::string& bytes);

// Into `bytes`, which have the file's size.
void ReadBare(const std::string& path, std::string* bytes);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_ARTIFACT_BARE_FILE_H_
