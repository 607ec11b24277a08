#include "data/memory/sqlite/sqlite_store.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/json/json.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "data/memory/sqlite/database.h"
#include "nlohmann/json.hpp"

namespace reprise::data {
namespace {

using internal::Database;
using internal::Query;
using internal::Statement;

constexpr int64_t kApplicationId = 0x52504d4d;  // "RPMM" in ASCII
constexpr int64_t kVersion = 1;                 // of the table; raised when it changes

constexpr int64_t kLongestWaitMs = 3600 * 1000;

constexpr char kTable[] =
    "CREATE TABLE memories (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL, "
    "source TEXT NOT NULL, type TEXT NOT NULL, timestamp INTEGER NOT NULL, metadata TEXT NOT NULL, "
    "sha256 TEXT NOT NULL)";

absl::Status Damaged(absl::string_view path, absl::string_view how) {
  return absl::DataLossError(
      absl::StrCat(path, " is damaged: ", how, "; restore it from a copy, or name another file"));
}

std::string EncodeMetadata(const MemoryMetadata& metadata) { return nlohmann::json(metadata).dump(); }

absl::StatusOr<MemoryMetadata> DecodeMetadata(absl::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  ASSIGN_OR_RETURN(const auto members, document.root().Members());
  MemoryMetadata metadata;
  for (const auto& [key, value] : members) {
    ASSIGN_OR_RETURN(const absl::string_view string, value.String());
    metadata[std::string(key)] = std::string(string);
  }
  return metadata;
}

// The SHA-256 of id, content, source, type and metadata, each after its size as 8 bytes, and of the timestamp as 8
// bytes, least significant first.
std::string RowDigest(const MemoryEntry& entry, absl::string_view metadata) {
  Sha256Stream stream;
  for (const absl::string_view text : {absl::string_view(entry.id), absl::string_view(entry.content),
                                       absl::string_view(entry.source), absl::string_view(entry.type), metadata}) {
    stream.UpdateU64(text.size());
    stream.Update(text);
  }
  stream.UpdateU64(static_cast<uint64_t>(entry.timestamp));
  return ToHex(stream.Current());
}

// Returns a name that SQLite takes for nothing but a file: it also knows "", ":memory:" and "file:...".
absl::StatusOr<std::string> FileName(absl::string_view path) {
  if (path.empty()) return absl::InvalidArgumentError("the name of a memory's file is empty");
  if (absl::StrContains(path, '\0')) return absl::InvalidArgumentError("the name of a memory's file has a zero byte");
  const bool is_special = path[0] == ':' || absl::StartsWith(path, "file:");
  return absl::StrCat(is_special ? "./" : "", path);
}

absl::StatusOr<bool> Exists(const std::string& name) {
  struct stat info;
  if (::stat(name.c_str(), &info) == 0) return true;
  return errno == ENOENT ? absl::StatusOr<bool>(false) : FileError(errno, "open", name);
}

// The file itself is not opened: closing it would release the locks that another store of this process has on it.
absl::Status CheckIsFile(absl::string_view path, const std::string& name) {
  struct stat info;
  if (::stat(name.c_str(), &info) != 0) return FileError(errno, "open", path);
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a directory; expected a file"));
  if (!S_ISREG(info.st_mode)) return absl::DataLossError(absl::StrCat(path, " is not a regular file"));
  if (info.st_size > 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      path, " is empty, which a memory never is: restore it from a copy, or remove it to begin a new one"));
}

// A file of that name never exists in part.
absl::Status Create(absl::string_view path, const std::string& name) {
  const std::string changes = absl::StrCat(name, "-wal");
  ASSIGN_OR_RETURN(const bool has_changes, Exists(changes));
  ASSIGN_OR_RETURN(const bool is_there, Exists(name));  // another process may have made both
  if (is_there) return absl::OkStatus();
  if (has_changes) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no file ", path, ", but its last changes are in ", changes,
                     ": put the file back beside these, or move them away to begin a new memory"));
  }
  ASSIGN_OR_RETURN(const std::string bytes,
                   Database::FileAfter({absl::StrCat("PRAGMA application_id = ", kApplicationId),
                                        absl::StrCat("PRAGMA user_version = ", kVersion), kTable}));
  const absl::Status written = WriteFileAtomically(PosixFileSystem(), name, bytes);
  return absl::IsAlreadyExists(written) ? absl::OkStatus()
                                        : WithContext(written, absl::StrCat("no memory can be made in ", path));
}

absl::StatusOr<int64_t> Number(const Database& database, absl::string_view pragma) {
  ASSIGN_OR_RETURN(const std::string value, database.Value(pragma));
  int64_t number = 0;
  CHECK(absl::SimpleAtoi(value, &number));
  return number;
}

absl::Status CheckFormat(const Database& database, absl::string_view path) {
  ASSIGN_OR_RETURN(const int64_t application, Number(database, "PRAGMA application_id"));
  if (application != kApplicationId) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a database of another program, not a memory: name another file"));
  }
  ASSIGN_OR_RETURN(const int64_t version, Number(database, "PRAGMA user_version"));
  if (version == kVersion) {
    ASSIGN_OR_RETURN(const std::string table, database.Value("SELECT sql FROM sqlite_master WHERE name = 'memories'"));
    return table == kTable ? absl::OkStatus() : Damaged(path, "its table of memories has another form");
  }
  if (version < kVersion) return Damaged(path, absl::StrCat("no memory has version ", version));
  return absl::UnimplementedError(absl::StrCat(path, " is a memory of version ", version,
                                               "; this program knows version ", kVersion, ": use a newer program"));
}

// Checks the file, before anything is written to it, and then makes it ready for changes.
absl::Status Prepare(const Database& database, absl::string_view path) {
  if (database.is_read_only()) return database.CannotOpen();
  RETURN_IF_ERROR(CheckFormat(database, path));
  RETURN_IF_ERROR(database.Run("PRAGMA cell_size_check = ON"));
  ASSIGN_OR_RETURN(const std::string found, database.Value("PRAGMA integrity_check(1)"));
  if (found != "ok") return Damaged(path, Printable(found));
  ASSIGN_OR_RETURN(const std::string mode, database.Value("PRAGMA journal_mode = WAL"));
  if (mode != "wal") return database.NoLocks();
  return database.Run("PRAGMA synchronous = FULL");
}

}  // namespace

namespace internal {

struct SqliteConnection {
  std::string path;
  Database database;
  Statement begin = {}, commit = {}, rollback = {}, count = {}, all = {}, find = {}, insert = {}, replace = {},
            remove = {};

  absl::Status PrepareStatements() {
    const std::string select = "SELECT id, content, source, type, timestamp, metadata, sha256 FROM memories ";
    for (const auto& [statement, text] : std::vector<std::pair<Statement*, std::string>>{
             {&begin, "BEGIN IMMEDIATE"},
             {&commit, "COMMIT"},
             {&rollback, "ROLLBACK"},
             {&count, "SELECT count(*) FROM memories"},
             {&all, select + "ORDER BY place"},
             {&find, select + "WHERE id = ?1"},
             {&insert,
              "INSERT INTO memories (id, content, source, type, timestamp, metadata, sha256) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
             {&replace,
              "UPDATE memories SET content = ?2, source = ?3, type = ?4, timestamp = ?5, metadata = ?6, sha256 = ?7 "
              "WHERE id = ?1"},
             {&remove, "DELETE FROM memories WHERE id = ?1"}}) {
      ASSIGN_OR_RETURN(*statement, database.Prepare(text));
    }
    return absl::OkStatus();
  }

  // Returns the entry in a row of `all` or `find`.
  absl::StatusOr<MemoryEntry> EntryOf(const Query& row) const {
    MemoryEntry entry{row.Text(0), row.Text(1), row.Text(2), row.Text(3), row.Integer(4)};
    const std::string metadata = row.Text(5);
    absl::StatusOr<MemoryMetadata> decoded = DecodeMetadata(metadata);
    if (!decoded.ok() || row.Text(6) != RowDigest(entry, metadata)) {
      return Damaged(path, absl::StrCat("the memory ", Quoted(entry.id), " does not agree with its digest"));
    }
    entry.metadata = *std::move(decoded);
    return entry;
  }

  // Executes `insert` or `replace`.
  absl::Status Write(const Statement& statement, const MemoryEntry& entry) const {
    const std::string metadata = EncodeMetadata(entry.metadata);
    Query query(database, statement);
    query.Bind(entry.id).Bind(entry.content).Bind(entry.source).Bind(entry.type);
    return query.Bind(entry.timestamp).Bind(metadata).Bind(RowDigest(entry, metadata)).Run();
  }
};

}  // namespace internal

SqliteStore::SqliteStore(std::unique_ptr<internal::SqliteConnection> connection) : connection_(std::move(connection)) {}
SqliteStore::~SqliteStore() = default;

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(absl::string_view path, int64_t wait_ms) {
  if (wait_ms < 0 || wait_ms > kLongestWaitMs) {
    return absl::InvalidArgumentError(
        absl::StrCat("the wait for a locked memory is ", wait_ms, " ms; expected 0 to ", kLongestWaitMs));
  }
  ASSIGN_OR_RETURN(const std::string name, FileName(path));
  ASSIGN_OR_RETURN(const bool exists, Exists(name));
  if (!exists) RETURN_IF_ERROR(Create(path, name));
  RETURN_IF_ERROR(CheckIsFile(path, name));
  ASSIGN_OR_RETURN(Database database, Database::Open(name, wait_ms));
  RETURN_IF_ERROR(Prepare(database, path));
  auto connection = std::unique_ptr<internal::SqliteConnection>(
      new internal::SqliteConnection{std::string(path), std::move(database)});
  RETURN_IF_ERROR(connection->PrepareStatements());
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(connection)));
  RETURN_IF_ERROR(store->ForEach([](const MemoryEntry&) {}));  // checks the digest of each row
  store->connection_->database.MergeOnClose();
  return store;
}

absl::StatusOr<int64_t> SqliteStore::Size() const {
  Query query(connection_->database, connection_->count);
  RETURN_IF_ERROR(query.Next().status());
  return query.Integer(0);
}

absl::Status SqliteStore::ForEach(const std::function<void(const MemoryEntry&)>& visit) const {
  Query query(connection_->database, connection_->all);
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, query.Next());
    if (!has_row) return absl::OkStatus();
    ASSIGN_OR_RETURN(const MemoryEntry entry, connection_->EntryOf(query));
    visit(entry);
  }
}

absl::StatusOr<std::optional<MemoryEntry>> SqliteStore::Find(absl::string_view id) const {
  Query query(connection_->database, connection_->find);
  ASSIGN_OR_RETURN(const bool is_known, query.Bind(id).Next());
  if (!is_known) return std::nullopt;
  ASSIGN_OR_RETURN(MemoryEntry entry, connection_->EntryOf(query));
  return entry;
}

absl::Status SqliteStore::Insert(const MemoryEntry& entry) { return connection_->Write(connection_->insert, entry); }
absl::Status SqliteStore::Replace(const MemoryEntry& entry) { return connection_->Write(connection_->replace, entry); }

absl::Status SqliteStore::Remove(absl::string_view id) {
  return Query(connection_->database, connection_->remove).Bind(id).Run();
}

absl::Status SqliteStore::InTransaction(const std::function<absl::Status()>& change) {
  const auto run = [&](const Statement& statement) { return Query(connection_->database, statement).Run(); };
  RETURN_IF_ERROR(run(connection_->begin));
  absl::Status status = change();
  if (status.ok()) status = run(connection_->commit);
  // SQLite ends the transaction itself after some errors.
  if (!status.ok() && connection_->database.is_in_transaction()) run(connection_->rollback).IgnoreError();
  return status;
}

}  // namespace reprise::data
