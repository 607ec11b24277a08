#include "data/memory/sqlite/database.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/io/missing_call.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::data::internal {
namespace {

constexpr char kRestore[] = "; restore it from a copy, or name another file";

struct FreeBytes {
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};

void Set(int option, int value, sqlite3* database) {
  CHECK_EQ(sqlite3_db_config(database, option, value, nullptr), SQLITE_OK);
}

// A file from elsewhere must not execute anything.
void Restrict(sqlite3* database) {
  Set(SQLITE_DBCONFIG_DEFENSIVE, 1, database);
  Set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, database);
  Set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, database);
  Set(SQLITE_DBCONFIG_ENABLE_VIEW, 0, database);
}

// Whether a call on locks or shared memory failed because the file system lacks it, as FUSE and network mounts do.
bool IsMissing(int code, int error) {
  switch (code) {
    case SQLITE_BUSY:
      return error == ENOLCK;  // which SQLite takes for a lock of another process
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_CHECKRESERVEDLOCK:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
      return IsMissingCall(error);
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<Database> Database::Open(const std::string& path, int64_t wait_ms) {
  sqlite3* opened = nullptr;
  errno = 0;
  const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(path, wait_ms, opened);
  if (opened == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory is left to open ", path));
  RETURN_IF_ERROR(database.StatusOf(code));
  CHECK_EQ(sqlite3_extended_result_codes(opened, 1), SQLITE_OK);
  CHECK_EQ(sqlite3_busy_timeout(opened, static_cast<int>(wait_ms)), SQLITE_OK);
  Restrict(opened);
  Set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, opened);
  return database;
}

void Database::MergeOnClose() const { Set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, database_.get()); }

absl::StatusOr<std::string> Database::FileAfter(const std::vector<std::string>& statements) {
  ASSIGN_OR_RETURN(const Database database, Open(":memory:", 0));
  for (const std::string& statement : statements) RETURN_IF_ERROR(database.Run(statement));
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, FreeBytes> bytes(sqlite3_serialize(database.database_.get(), "main", &size, 0));
  if (bytes == nullptr) return absl::ResourceExhaustedError("no memory is left for a new database");
  return std::string(reinterpret_cast<const char*>(bytes.get()), static_cast<size_t>(size));
}

absl::StatusOr<Statement> Database::Prepare(absl::string_view text) const {
  sqlite3_stmt* prepared = nullptr;
  errno = 0;
  const int code = sqlite3_prepare_v3(database_.get(), text.data(), static_cast<int>(text.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  Statement statement(prepared);
  if ((code & 0xff) == SQLITE_ERROR) {
    return absl::DataLossError(
        absl::StrCat(path_, " is damaged: ", Printable(sqlite3_errmsg(database_.get())), kRestore));
  }
  RETURN_IF_ERROR(StatusOf(code));
  return statement;
}

absl::Status Database::Run(absl::string_view text) const { return Value(text).status(); }

absl::StatusOr<std::string> Database::Value(absl::string_view text) const {
  ASSIGN_OR_RETURN(const Statement statement, Prepare(text));
  Query query(*this, statement);
  ASSIGN_OR_RETURN(const bool has_row, query.Next());
  std::string value = has_row ? query.Text(0) : "";
  RETURN_IF_ERROR(query.Run());
  return value;
}

absl::Status Database::CannotOpen() const {
  // SQLite does not always tell what the system denied.
  constexpr char kWhy[] = "a memory must be able to change its file, and to make others beside it";
  for (const auto& [name, mode] : {std::pair(path_, R_OK | W_OK), std::pair(DirectoryOf(path_), W_OK | X_OK)}) {
    if (::access(name.c_str(), mode) != 0) return WithContext(FileError(errno, "write", name), kWhy);
  }
  return WithContext(FileError(EACCES, "write", path_), kWhy);
}

absl::Status Database::NoLocks() const {
  return absl::FailedPreconditionError(
      absl::StrCat(path_,
                   " is on a file system without locks or shared memory, which a memory needs: name a file on "
                   "a disk of this machine"));
}

absl::Status Database::StatusOf(int code) const {
  // SQLite keeps the system's error of most failures, but not that of a commit.
  int error_number = errno == 0 ? sqlite3_system_errno(database_.get()) : errno;
  if (error_number == 0) error_number = EIO;
  const std::string message = Printable(sqlite3_errmsg(database_.get()));
  if (IsMissing(code, error_number)) return NoLocks();
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return absl::OkStatus();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return absl::UnavailableError(absl::StrCat(path_, " is locked: another process is writing it, for more than ",
                                                 wait_ms_, " ms; try again, or end that process"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return absl::DataLossError(absl::StrCat(path_, " is damaged: ", message, kRestore));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return CannotOpen();
    case SQLITE_CANTOPEN:
      if (error_number == EACCES || error_number == EPERM || error_number == EROFS) return CannotOpen();
      return FileError(error_number, "open", path_);
    case SQLITE_FULL:
      return FileError(ENOSPC, "write", path_);
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_NOMEM) return FileError(ENOMEM, "use", path_);
      return FileError(error_number == ENOENT ? EIO : error_number, "use", path_);
    case SQLITE_NOMEM:
      return FileError(ENOMEM, "use", path_);
    case SQLITE_TOOBIG:
      return absl::InvalidArgumentError(absl::StrCat("a text is too long for the database ", path_));
    default:
      return absl::InternalError(absl::StrCat("the database ", path_, ": ", message, " (", code, ")"));
  }
}

Query& Query::Bind(absl::string_view text) {
  // An empty text without an address would be bound as NULL.
  const char* const bytes = text.data() == nullptr ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_, ++parameters_, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code_ == SQLITE_OK) code_ = code;
  return *this;
}

Query& Query::Bind(int64_t value) {
  const int code = sqlite3_bind_int64(statement_, ++parameters_, value);
  if (code_ == SQLITE_OK) code_ = code;
  return *this;
}

absl::StatusOr<bool> Query::Next() {
  errno = 0;
  // A step after SQLITE_DONE would execute the statement again.
  if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_);
  RETURN_IF_ERROR(database_.StatusOf(code_));
  return code_ == SQLITE_ROW;
}

absl::Status Query::Run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, Next());
    if (!has_row) return absl::OkStatus();
  }
}

std::string Query::Text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(text),
                     static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

}  // namespace reprise::data::internal
