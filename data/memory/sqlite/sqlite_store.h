#ifndef DATA_MEMORY_SQLITE_SQLITE_STORE_H_
#define DATA_MEMORY_SQLITE_SQLITE_STORE_H_

// A long-term store in a file, for an agent in use: a SQLite database in WAL mode. A change is on the disk when its
// function returns: it survives a kill and a loss of power at any later moment, and one that is interrupted never
// happened. Any number of processes may have the file open; one at a time changes it. WAL mode needs a file system of
// this machine, not a network's.
//
// The table `memories` has a row for each entry, in the order of `place`, with its metadata as a JSON object, and the
// SHA-256 of the row (RowDigest in sqlite_store.cc), which is checked whenever a row is read.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/memory/long_term_store.h"

namespace reprise::data {

namespace internal {
struct SqliteConnection;
}

// Not thread-safe, and not to be used by a child process after fork().
class SqliteStore final : public LongTermStore {
 public:
  // Opens the memory in the file `path`, or makes it if there is none. A function that finds the file locked by another
  // process waits for it, up to `wait_ms` milliseconds, at most an hour. Reads the whole file, to check it. Errors, all
  // of which name the file and leave it as it is:
  //   Unavailable          it stayed locked; also an error of all other functions
  //   DataLoss             it is damaged, empty, or not a regular file; also when a damaged row is read later
  //   InvalidArgument      it is a directory, or a database of another program
  //   Unimplemented        a newer version of this program wrote it
  //   FailedPrecondition   there is no file, but the changes of one that was lost or moved (`path`-wal); or the file
  //                        system has no WAL mode
  //   ResourceExhausted    the disk is full; also of Add, Update and Delete, of which nothing is stored then
  //   PermissionDenied and other file errors (FileError): it, or its directory, cannot be written or read
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(absl::string_view path, int64_t wait_ms = 5000);
  ~SqliteStore() override;

  absl::StatusOr<int64_t> Size() const override;
  absl::Status ForEach(const std::function<void(const MemoryEntry&)>& visit) const override;

 private:
  explicit SqliteStore(std::unique_ptr<internal::SqliteConnection> connection);

  absl::StatusOr<std::optional<MemoryEntry>> Find(absl::string_view id) const override;
  absl::Status Insert(const MemoryEntry& entry) override;
  absl::Status Replace(const MemoryEntry& entry) override;
  absl::Status Remove(absl::string_view id) override;
  absl::Status InTransaction(const std::function<absl::Status()>& change) override;

  const std::unique_ptr<internal::SqliteConnection> connection_;
};

}  // namespace reprise::data

#endif  // DATA_MEMORY_SQLITE_SQLITE_STORE_H_
