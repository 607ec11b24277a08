#ifndef DATA_MEMORY_SQLITE_DATABASE_H_
#define DATA_MEMORY_SQLITE_DATABASE_H_

// SQLite's C interface with statuses and owners. Only prepared statements are executed.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sqlite3.h"

namespace reprise::data::internal {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// A connection, for one thread and one process.
class Database {
 public:
  // Opens an existing file for reading and writing, without reading it. A call that finds it locked waits up to
  // `wait_ms` milliseconds. Neither triggers nor views of the file are executed.
  static absl::StatusOr<Database> Open(const std::string& path, int64_t wait_ms);

  // Returns the bytes of the file that a new database has after these statements.
  static absl::StatusOr<std::string> FileAfter(const std::vector<std::string>& statements);

  // From now on the last connection that is closed merges the changes of the file's -wal into it. Until then they stay
  // where they are, so that a file that is refused stays as it is.
  void MergeOnClose() const;

  // Errors in the statement are the file's: DataLoss if it does not have what the statement names.
  absl::StatusOr<Statement> Prepare(absl::string_view text) const;

  // Prepares a statement and executes it to the end.
  absl::Status Run(absl::string_view text) const;
  // The same; returns the first column of the first row as text, "" if there is no row.
  absl::StatusOr<std::string> Value(absl::string_view text) const;

  bool is_in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }
  bool is_read_only() const { return sqlite3_db_readonly(database_.get(), "main") == 1; }

  // Returns the status of a call that returned `code`, before which errno was 0: OK for SQLITE_OK, SQLITE_ROW and
  // SQLITE_DONE.
  //   Unavailable          another connection has the lock
  //   DataLoss             the file is damaged, or is no database
  //   PermissionDenied     the file or its directory is read-only
  //   ResourceExhausted    disk or memory is full
  //   InvalidArgument      a text is too long for SQLite
  //   FailedPrecondition   the file system lacks locks or shared memory
  //   a file error         any other error of the file system
  //   Internal             the rest
  // The message names the file and the remedy.
  absl::Status StatusOf(int code) const;
  // The status where the file system does not permit to read and write the file.
  absl::Status CannotOpen() const;
  // The status where it has no locks, or no memory that processes share.
  absl::Status NoLocks() const;

 private:
  Database(std::string path, int64_t wait_ms, sqlite3* database)
      : path_(std::move(path)), wait_ms_(wait_ms), database_(database) {}

  std::string path_;
  int64_t wait_ms_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

// One execution of a statement, which it resets at its end.
class Query {
 public:
  Query(const Database& database, const Statement& statement) : database_(database), statement_(statement.get()) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

  // The value of the next parameter.
  Query& Bind(absl::string_view text);
  Query& Bind(int64_t value);

  // Goes to the next row, the first at first; returns whether there is one. After an error or the last row it repeats
  // its answer.
  absl::StatusOr<bool> Next();
  // Executes the statement to its end.
  absl::Status Run();

  // The row's value in a column, counted from 0.
  std::string Text(int column) const;
  int64_t Integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  const Database& database_;
  sqlite3_stmt* const statement_;
  int parameters_ = 0;
  int code_ = SQLITE_OK;  // of the last step; before it, of the first Bind that failed
};

}  // namespace reprise::data::internal

#endif  // DATA_MEMORY_SQLITE_DATABASE_H_
