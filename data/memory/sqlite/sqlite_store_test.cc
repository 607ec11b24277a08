#include "data/memory/sqlite/sqlite_store.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "data/memory/in_memory_store.h"
#include "data/memory/sqlite/database.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr int64_t kMostBytes = int64_t{1} << 30;

// A directory that no other call returned.
std::string NewDirectory() {
  static int count = 0;
  const std::string name = absl::StrCat(::testing::TempDir(), "/sqlite_store_", getpid(), "_", count++);
  EXPECT_EQ(mkdir(name.c_str(), 0755), 0) << name;
  return name;
}

std::string NewPath() { return NewDirectory() + "/memory.db"; }

std::vector<MemoryEntry> EntriesOf(const LongTermStore& store) {
  std::vector<MemoryEntry> entries;
  EXPECT_OK(store.ForEach([&](const MemoryEntry& entry) { entries.push_back(entry); }));
  return entries;
}

// Makes a memory with a few entries and closes it; returns its path.
std::string ExampleFile() {
  const std::string path = NewPath();
  const auto store = SqliteStore::Open(path);
  EXPECT_OK(store);
  for (const char* content : {"first", "second", "third"}) {
    EXPECT_OK((*store)->Add({.content = content, .metadata = {{"k", content}}}, 7));
  }
  return path;
}

// Executes a statement on a file without any of the store's care.
void Execute(const std::string& path, const char* statement) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, statement, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
}

TEST(SqliteStoreTest, KeepsEverythingInOneFile) {
  const std::string directory = NewDirectory(), path = directory + "/a.db";
  const NewMemory memory = {.content = std::string("\xc3\xa4 \"'\n\0; DROP TABLE memories", 27),
                            .source = "",
                            .type = "episode",
                            .metadata = {{"k\"\\", "v\n\x01\xe2\x82\xac"}, {"empty", ""}}};
  std::string id;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path));
    ASSERT_OK(store->Add({.content = "first"}, INT64_MIN));
    ASSERT_OK_AND_ASSIGN(id, store->Add(memory, INT64_MAX));
    ASSERT_OK_AND_ASSIGN(const std::string gone, store->Add({.content = "gone"}, 2));
    ASSERT_OK(store->Delete(gone));
    ASSERT_OK(store->Update(MemoryId("first"), "second", {{"a", "b"}}, 3));
  }
  EXPECT_THAT(*PosixFileSystem().List(directory), ElementsAre("a.db"));
  ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path));
  EXPECT_THAT(EntriesOf(*store),
              ElementsAre(MemoryEntry{MemoryId("first"), "second", "agent", "note", 3, {{"a", "b"}}},
                          MemoryEntry{id, memory.content, "", "episode", INT64_MAX, memory.metadata}));
  EXPECT_EQ(*store->Size(), 2);
  EXPECT_EQ(id, MemoryId(memory.content));
}

// Applies a random operation to the store; returns what it returned.
std::string Step(int operation, int text, int64_t now, LongTermStore* store) {
  const std::string content = absl::StrCat("text ", text % 4);
  const MemoryMetadata metadata = {{absl::StrCat("k", text % 3), content}};
  switch (operation) {
    case 0:
    case 1: {
      const auto id = store->Add({.content = text == 9 ? " " : content, .metadata = metadata}, now);
      return id.ok() ? *id : id.status().ToString();
    }
    case 2:
      return store->Update(MemoryId(content), absl::StrCat("text ", text % 5), metadata, now).ToString();
    case 3:
      return store->Delete(MemoryId(content)).ToString();
    default:
      return store->Get(MemoryId(content)).status().ToString();
  }
}

RC_GTEST_PROP(SqliteStoreTest, BehavesAsTheStoreInMemory, ()) {
  const std::string path = NewPath();
  InMemoryStore expected;
  auto store = SqliteStore::Open(path);
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(0, 10)));
  for (size_t i = 0; i < steps.size() && i < 10; ++i) {
    const auto [operation, text] = steps[i];
    if (operation == 5) {
      store->reset();
      store = SqliteStore::Open(path);
    }
    RC_ASSERT(store.ok());
    const int64_t now = static_cast<int64_t>(i);
    RC_ASSERT(Step(operation, text, now, store->get()) == Step(operation, text, now, &expected));
    RC_ASSERT(EntriesOf(**store) == EntriesOf(expected));
    RC_ASSERT(*(*store)->Size() == *expected.Size());
  }
}

TEST(SqliteStoreTest, TwoThatAreOpenSeeEachOthersChanges) {
  const std::string path = NewPath();
  ASSERT_OK_AND_ASSIGN(const auto one, SqliteStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const auto two, SqliteStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const std::string id, one->Add({.content = "a"}, 1));
  ASSERT_OK(two->Update(id, "b", {}, 2));
  EXPECT_EQ(one->Get(id)->content, "b");
  ASSERT_OK(one->Delete(id));
  EXPECT_THAT(two->Get(id), StatusIs(kNotFound, HasSubstr(id)));
}

TEST(SqliteStoreTest, RefusesNamesThatAreNoFile) {
  const std::string directory = NewDirectory();
  EXPECT_THAT(SqliteStore::Open(""), StatusIs(kInvalid, HasSubstr("is empty")));
  EXPECT_THAT(SqliteStore::Open(absl::string_view("a\0b", 3)), StatusIs(kInvalid, HasSubstr("zero byte")));
  EXPECT_THAT(SqliteStore::Open(directory), StatusIs(kInvalid, directory + " is a directory; expected a file"));
  const std::string pipe = directory + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  EXPECT_THAT(SqliteStore::Open(pipe), StatusIs(kDataLoss, pipe + " is not a regular file"));
  const std::string lost = directory + "/no/memory.db";
  EXPECT_THAT(SqliteStore::Open(lost), StatusIs(kNotFound, HasSubstr("no memory can be made in " + lost)));
  EXPECT_THAT(SqliteStore::Open(directory + "/a.db", -1), StatusIs(kInvalid, HasSubstr("-1 ms")));
}

TEST(SqliteStoreTest, NamesWithAMeaningToSqliteAreFiles) {
  const std::string directory = NewDirectory();
  ASSERT_EQ(chdir(directory.c_str()), 0);
  for (const char* name : {":memory:", "file:a.db?mode=memory", "plain.db"}) ASSERT_OK(SqliteStore::Open(name)) << name;
  EXPECT_THAT(*PosixFileSystem().List(directory), ElementsAre(":memory:", "file:a.db?mode=memory", "plain.db"));
}

TEST(SqliteStoreTest, RefusesFilesOfOtherKindsAndLeavesThemAsTheyAre) {
  const std::string directory = NewDirectory();
  const auto error_of = [&](const std::string& bytes) {
    static int count = 0;
    const std::string path = absl::StrCat(directory, "/", count++);
    EXPECT_OK(WriteFileAtomically(PosixFileSystem(), path, bytes));
    const absl::Status status = SqliteStore::Open(path).status();
    EXPECT_EQ(*ReadFile(PosixFileSystem(), path, kMostBytes), bytes);
    EXPECT_THAT(std::string(status.message()), StartsWith(path));
    return status;
  };
  EXPECT_THAT(error_of(""), StatusIs(kDataLoss, HasSubstr("is empty, which a memory never is")));
  EXPECT_THAT(error_of("hello"), StatusIs(kDataLoss, HasSubstr("is damaged: file is not a database")));
  EXPECT_THAT(error_of(std::string(8192, 'x')), StatusIs(kDataLoss, HasSubstr("file is not a database")));
  EXPECT_THAT(error_of(*internal::Database::FileAfter({"CREATE TABLE memories (a)"})),
              StatusIs(kInvalid, HasSubstr("is a database of another program, not a memory")));
}

TEST(SqliteStoreTest, RefusesOtherVersionsAndTables) {
  const auto error_after = [](const char* statement) {
    const std::string path = ExampleFile();
    Execute(path, statement);
    const absl::Status status = SqliteStore::Open(path).status();
    EXPECT_THAT(std::string(status.message()), StartsWith(path));
    return status;
  };
  EXPECT_THAT(error_after("PRAGMA user_version = 2"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr(" is a memory of version 2; this program knows version 1: use a newer program")));
  EXPECT_THAT(error_after("PRAGMA user_version = 0"), StatusIs(kDataLoss, HasSubstr("no memory has version 0")));
  EXPECT_THAT(error_after("PRAGMA user_version = -7"), StatusIs(kDataLoss, HasSubstr("no memory has version -7")));
  EXPECT_THAT(error_after("DROP TABLE memories"), StatusIs(kDataLoss, HasSubstr("table of memories")));
  EXPECT_THAT(error_after("ALTER TABLE memories DROP COLUMN source"), StatusIs(kDataLoss, HasSubstr("another form")));
  EXPECT_THAT(error_after("ALTER TABLE memories RENAME TO m; CREATE VIEW memories AS SELECT * FROM m"),
              StatusIs(kDataLoss, HasSubstr("another form")));
}

TEST(SqliteStoreTest, ARowThatSomethingElseChangedIsDamaged) {
  for (const char* change : {"content = 'x'", "source = ''", "type = 'x'", "timestamp = 8", "metadata = '{}'",
                             "sha256 = ''", "content = x'00'", "id = 'aaaaaaaaaaaaaaaa'", "timestamp = 'seven'"}) {
    const std::string path = ExampleFile();
    ASSERT_OK_AND_ASSIGN(const auto open, SqliteStore::Open(path));
    Execute(path, absl::StrCat("UPDATE memories SET ", change, " WHERE content = 'second'").c_str());
    EXPECT_THAT(SqliteStore::Open(path),
                StatusIs(kDataLoss, AllOf(StartsWith(path), HasSubstr("does not agree with its digest"))))
        << change;
    EXPECT_THAT(open->ForEach([](const MemoryEntry&) {}), StatusIs(kDataLoss, HasSubstr("digest"))) << change;
  }
}

TEST(SqliteStoreTest, ATriggerInTheFileIsNotExecuted) {
  const std::string path = ExampleFile();
  Execute(path, "CREATE TRIGGER t AFTER INSERT ON memories BEGIN DELETE FROM memories; END");
  ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path));
  ASSERT_OK(store->Add({.content = "fourth"}, 8));
  EXPECT_EQ(*store->Size(), 4);
}

TEST(SqliteStoreTest, ChangesWithoutTheirFileAreNotOverwritten) {
  const std::string path = NewPath();
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path + "-wal", "changes"));
  EXPECT_THAT(SqliteStore::Open(path),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("its last changes are in " + path + "-wal")));
  EXPECT_EQ(*ReadFile(PosixFileSystem(), path + "-wal", kMostBytes), "changes");
  EXPECT_THAT(PosixFileSystem().Stat(path), StatusIs(kNotFound, HasSubstr(path)));
}

// Returns the status of `function` in a process that may not override permissions, as root may.
absl::Status WithoutPrivileges(const std::function<absl::Status()>& function) {
  int reported[2];
  EXPECT_EQ(pipe(reported), 0);
  const pid_t child = fork();
  if (child == 0) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) _exit(1);
    const absl::Status status = function();
    const std::string text =
        absl::StrCat(ExitCodeOf(status), " ", static_cast<int>(status.code()), " ", status.message());
    _exit(write(reported[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  close(reported[1]);
  std::string text;
  char bytes[1024];
  for (ssize_t size; (size = read(reported[0], bytes, sizeof(bytes))) > 0;)
    text.append(bytes, static_cast<size_t>(size));
  close(reported[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const bool is_io = text.substr(0, 3) == "74 ";
  text.erase(0, 3);
  const size_t space = text.find(' ');
  EXPECT_TRUE(is_io) << text;
  return absl::Status(static_cast<absl::StatusCode>(std::stoi(text.substr(0, space))), text.substr(space + 1));
}

TEST(SqliteStoreTest, AFileOrADirectoryThatIsReadOnlyIsNamed) {
  const std::string directory = NewDirectory(), path = directory + "/memory.db";
  {
    ASSERT_OK((*SqliteStore::Open(path))->Add({.content = "a"}, 1));
  }
  const std::string before = *ReadFile(PosixFileSystem(), path, kMostBytes);
  const auto open = [&] { return SqliteStore::Open(path).status(); };
  const auto denied = [](const std::string& name) {
    return StatusIs(absl::StatusCode::kPermissionDenied,
                    AllOf(HasSubstr("a memory must be able to change its file, and to make others beside it: "),
                          EndsWith(absl::StrCat("cannot write ", name, ": Permission denied"))));
  };

  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  EXPECT_THAT(WithoutPrivileges(open), denied(path));
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_THAT(WithoutPrivileges(open), denied(path));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory.c_str(), 0555), 0);
  EXPECT_THAT(WithoutPrivileges(open), denied(directory));
  EXPECT_THAT(
      WithoutPrivileges([&] { return SqliteStore::Open(directory + "/new.db").status(); }),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no memory can be made in " + directory + "/new.db")));
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  EXPECT_EQ(*ReadFile(PosixFileSystem(), path, kMostBytes), before);
  EXPECT_OK(open());
}

}  // namespace
}  // namespace reprise::data
