#ifndef DATA_ARTIFACT_DIRECTORY_JOURNAL_H_
#define DATA_ARTIFACT_DIRECTORY_JOURNAL_H_

// The list of a run's committed pieces (FORMAT.md, "The run's directory"): lines of text, each with a digest of
// everything before it. So a loss or change in the middle is detected, and a line that a crash truncated is recognized.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"

namespace reprise::internal {

// The kind of a journal's first entry.
inline constexpr char kParentKind[] = "parent";
// The most bytes of a journal that are read: the lines of more than a million segments.
inline constexpr int64_t kLargestJournal = int64_t{1} << 28;

// A file of the run; or, with kind "parent", the part of another journal that this one continues.
struct JournalEntry {
  std::string kind;    // letters
  int64_t number = 0;  // the last step that the file holds; for a parent, its epoch
  int64_t size = 0;    // bytes
  Digest sha256 = {};  // of the file; for a parent, its chain
  std::string name;    // without spaces and control characters

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// The end of an entry: the number of bytes up to it, and the digest that the next entry is chained to.
struct JournalPosition {
  int64_t bytes = 0;
  Digest chain = {};

  friend bool operator==(const JournalPosition&, const JournalPosition&) = default;
};

// Returns the entry's line at `position`, and advances `position` past it.
std::string EncodeEntry(const JournalEntry& entry, JournalPosition* position);

struct ParsedJournal {
  std::vector<JournalEntry> entries;
  std::vector<JournalPosition> ends;  // the end of each entry
  bool is_torn = false;               // the last line was incomplete when its writer died; it is not an entry
};

// DataLoss for anything that a writer could not have left when killed at any moment or stopped by a power failure.
absl::StatusOr<ParsedJournal> ParseJournal(absl::string_view bytes);

class JournalWriter {
 public:
  // Creates a new file, which is durable once the first entry is. AlreadyExists if the file exists.
  static absl::StatusOr<JournalWriter> Create(FileSystem& files, const std::string& path);

  // Appends an entry, which is durable on return. After an error, the caller must not call this again.
  absl::Status Append(const JournalEntry& entry);

 private:
  JournalWriter(FileSystem& files, std::string path, std::unique_ptr<File> file)
      : files_(&files), path_(std::move(path)), file_(std::move(file)) {}

  FileSystem* files_;
  std::string path_;
  std::unique_ptr<File> file_;
  JournalPosition end_;
};

}  // namespace reprise::internal

#endif  // DATA_ARTIFACT_DIRECTORY_JOURNAL_H_
