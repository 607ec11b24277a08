#ifndef DATA_MEMORY_LONG_TERM_STORE_H_
#define DATA_MEMORY_LONG_TERM_STORE_H_

// What an agent remembers beyond its context: texts with metadata, by id, in the order in which they were added. A
// store is in memory (data/memory/in_memory_store.h), one for each episode of training, or a file
// (data/memory/sqlite/sqlite_store.h) for an agent in use. Both behave alike: this class has the rules, they have the
// storage. No store reads a clock: the caller passes timestamps, of any unit and origin.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::data {

using MemoryMetadata = std::map<std::string, std::string>;

// The most bytes of a content, and of all other texts of an entry together.
inline constexpr size_t kMostMemoryBytes = size_t{16} << 20;

struct NewMemory {
  std::string content;
  std::string source = "agent";  // who said it
  std::string type = "note";
  MemoryMetadata metadata = {};
};

struct MemoryEntry {
  std::string id;  // 16 lower-case hexadecimal digits
  std::string content, source, type;
  int64_t timestamp = 0;  // of the last Add or Update
  MemoryMetadata metadata = {};

  friend bool operator==(const MemoryEntry&, const MemoryEntry&) = default;
};

// Returns the first 16 hexadecimal digits of the SHA-256 of `content`. Pure.
std::string MemoryId(absl::string_view content);

// InvalidArgument, naming `what`, if the text is empty or only white space, is not UTF-8, or is longer than
// kMostMemoryBytes. Pure.
absl::Status CheckMemoryText(absl::string_view what, absl::string_view text);

// Not thread-safe. After an error nothing has changed.
class LongTermStore {
 public:
  virtual ~LongTermStore() = default;

  // Stores a memory and returns its id, MemoryId(content). A content that is stored under this id already is not stored
  // twice: its metadata are merged with the new ones, as by Update, and the same id is returned. If Update has given
  // another content to the entry with this id, that entry stays as it is and the new one gets the id
  // MemoryId(id + content), and so on. InvalidArgument: CheckMemoryText of the content; a text that is not UTF-8; more
  // than kMostMemoryBytes.
  absl::StatusOr<std::string> Add(const NewMemory& memory, int64_t timestamp);

  // Replaces the content and the timestamp of an entry, and merges the metadata: a new value replaces the old one of
  // its key, and other keys stay. Id, source, type and place in the order stay. NotFound for an unknown id;
  // InvalidArgument as Add.
  absl::Status Update(absl::string_view id, absl::string_view content, const MemoryMetadata& metadata,
                      int64_t timestamp);

  // NotFound for an unknown id.
  absl::Status Delete(absl::string_view id);

  // NotFound for an unknown id.
  absl::StatusOr<MemoryEntry> Get(absl::string_view id) const;

  // Returns the number of entries.
  virtual absl::StatusOr<int64_t> Size() const = 0;

  // Calls `visit` with each entry, in the order in which they were added. `visit` must not use the store.
  virtual absl::Status ForEach(const std::function<void(const MemoryEntry&)>& visit) const = 0;

 protected:
  virtual absl::StatusOr<std::optional<MemoryEntry>> Find(absl::string_view id) const = 0;
  virtual absl::Status Insert(const MemoryEntry& entry) = 0;   // its id is new
  virtual absl::Status Replace(const MemoryEntry& entry) = 0;  // the entry with its id, which keeps its place
  virtual absl::Status Remove(absl::string_view id) = 0;       // there is an entry with this id
  // Executes `change`, which uses the four functions above: others see all of what it does, or after an error nothing.
  virtual absl::Status InTransaction(const std::function<absl::Status()>& change) = 0;

 private:
  absl::StatusOr<MemoryEntry> Known(absl::string_view id) const;
  absl::StatusOr<std::string> AddNow(const NewMemory& memory, int64_t timestamp);
  absl::Status Merge(MemoryEntry entry, const MemoryMetadata& metadata, int64_t timestamp);
};

}  // namespace reprise::data

#endif  // DATA_MEMORY_LONG_TERM_STORE_H_
