// What happens to a memory's file when a process is killed, the file is locked, damaged or truncated, or the disk is
// full.

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "data/memory/sqlite/database.h"
#include "data/memory/sqlite/sqlite_store.h"
#include "gtest/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The errors of calls that a file system lacks; 0: it has the call.
struct Missing {
  int mapping = 0, lock = 0;
};
Missing missing;

std::string NewPath() {
  static int count = 0;
  const std::string directory = absl::StrCat(::testing::TempDir(), "/sqlite_faults_", getpid(), "_", count++);
  EXPECT_EQ(mkdir(directory.c_str(), 0755), 0) << directory;
  return directory + "/memory.db";
}

std::string Read(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<MemoryEntry> EntriesOf(const LongTermStore& store) {
  std::vector<MemoryEntry> entries;
  EXPECT_OK(store.ForEach([&](const MemoryEntry& entry) { entries.push_back(entry); }));
  return entries;
}

NewMemory Numbered(int64_t number) {
  return {.content = absl::StrCat("memory ", number, " ", std::string(300, 'x')),
          .metadata = {{"number", absl::StrCat(number)}}};
}

// A process that executes `work`, which writes lines to the descriptor.
class Child {
 public:
  explicit Child(const std::function<void(int)>& work) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      work(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~Child() {
    if (pid_ != 0) Kill();
    close(output_);
  }

  // Returns the next line of output, "" at its end.
  std::string Line() {
    std::string line;
    for (char c; read(output_, &c, 1) == 1 && c != '\n';) line.push_back(c);
    return line;
  }
  void Kill() {
    kill(pid_, SIGKILL);
    Wait();
  }
  int Wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

void Say(int output, absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  if (write(output, text.data(), text.size()) < 0) _exit(1);
}

TEST(SqliteFaultsTest, AKilledWriterLosesNothingThatItWasToldIsStored) {
  const std::string path = NewPath();
  int64_t stored = 0;
  for (int round = 0; round < 8; ++round) {
    Child child([&](int output) {
      const auto store = SqliteStore::Open(path);
      if (!store.ok()) _exit(1);
      for (int64_t number = stored; (*store)->Add(Numbered(number), number).ok(); ++number) {
        Say(output, absl::StrCat(number));
      }
    });
    for (int line = 0; line < 5 + 3 * round; ++line) ASSERT_NE(child.Line(), "");
    child.Kill();
    int64_t told = stored + 5 + 3 * round;
    while (!child.Line().empty()) ++told;
    ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path));
    const std::vector<MemoryEntry> entries = EntriesOf(*store);
    stored = static_cast<int64_t>(entries.size());
    EXPECT_GE(stored, told);
    EXPECT_LE(stored, told + 1);
    for (int64_t number = 0; number < stored; ++number) {
      const NewMemory expected = Numbered(number);
      EXPECT_EQ(entries[number], (MemoryEntry{MemoryId(expected.content), expected.content, "agent", "note", number,
                                              expected.metadata}));
    }
  }
}

// What a process leaves that adds `count` entries and is killed: the file and its -wal.
struct Remains {
  std::string file, changes;
};

Remains RemainsAfter(int64_t count) {
  const std::string path = NewPath();
  Child child([&](int output) {
    const auto store = SqliteStore::Open(path);
    for (int64_t number = 0; number < count; ++number) {
      if (!(*store)->Add(Numbered(number), number).ok()) _exit(1);
    }
    Say(output, "done");
    pause();
  });
  EXPECT_EQ(child.Line(), "done");
  child.Kill();
  return {Read(path), Read(path + "-wal")};
}

// Opens what is left; returns the number of entries, which must be the first ones that were added.
int64_t CountFirst(const Remains& remains) {
  const std::string path = NewPath();
  Write(path, remains.file);
  Write(path + "-wal", remains.changes);
  const auto store = SqliteStore::Open(path);
  EXPECT_OK(store);
  const std::vector<MemoryEntry> entries = EntriesOf(**store);
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].content, Numbered(static_cast<int64_t>(i)).content);
  }
  EXPECT_OK((*store)->Add({.content = "another"}, 1));
  return static_cast<int64_t>(entries.size());
}

TEST(SqliteFaultsTest, TruncatedChangesAreUndoneFromTheLastOneOn) {
  const Remains remains = RemainsAfter(6);
  EXPECT_EQ(CountFirst(remains), 6);
  int64_t last = 0;
  for (size_t size = 0; size < remains.changes.size(); size += 1031) {
    const int64_t count = CountFirst({remains.file, remains.changes.substr(0, size)});
    EXPECT_GE(count, last);
    EXPECT_LT(count, 6);
    last = count;
  }
  EXPECT_GT(last, 3);
}

TEST(SqliteFaultsTest, DamagedChangesAreUndoneFromTheDamageOn) {
  const Remains remains = RemainsAfter(4);
  for (size_t at = 64; at < remains.changes.size(); at += 2003) {
    Remains damaged = remains;
    damaged.changes[at] ^= 0x10;
    EXPECT_LT(CountFirst(damaged), 4) << at;
  }
}

TEST(SqliteFaultsTest, AFileThatIsRefusedKeepsItsChanges) {
  const std::string path = NewPath();
  Child child([&](int output) {
    const auto store = SqliteStore::Open(path);
    const auto database = internal::Database::Open(path, 0);
    if (!(*store)->Add(Numbered(0), 0).ok()) _exit(1);
    if (!database->Run("UPDATE memories SET content = 'x'").ok()) _exit(1);
    Say(output, "done");
    pause();
  });
  ASSERT_EQ(child.Line(), "done");
  child.Kill();
  const Remains before = {Read(path), Read(path + "-wal")};
  ASSERT_GT(before.changes.size(), 0u);
  EXPECT_THAT(SqliteStore::Open(path), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("digest")));
  EXPECT_EQ(Read(path), before.file);
  EXPECT_EQ(Read(path + "-wal"), before.changes);
}

TEST(SqliteFaultsTest, NoDamagedByteOfTheFileIsBelieved) {
  const std::string original = NewPath(), path = NewPath();
  std::vector<MemoryEntry> entries;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(original));
    for (int64_t number = 0; number < 40; ++number) ASSERT_OK(store->Add(Numbered(number), number));
    entries = EntriesOf(*store);
  }
  const std::string bytes = Read(original);
  int refused = 0, harmless = 0;
  for (size_t at = 0; at < bytes.size(); at += at < 100 ? 7 : 101) {
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1 << (at % 8));
    Write(path, damaged);
    const auto store = SqliteStore::Open(path);
    if (store.ok()) {
      EXPECT_EQ(EntriesOf(**store), entries) << "byte " << at;
      for (const MemoryEntry& entry : entries) EXPECT_OK((*store)->Get(entry.id)) << "byte " << at;
      ++harmless;  // in the space between rows, or a number that is only a hint
    } else {
      EXPECT_THAT(std::string(store.status().message()), HasSubstr(path)) << "byte " << at;
      EXPECT_EQ(Read(path), damaged) << "byte " << at;
      ++refused;
    }
    for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  }
  EXPECT_GT(refused, harmless);
}

TEST(SqliteFaultsTest, ATruncatedFileIsRefused) {
  const std::string original = NewPath(), path = NewPath();
  {
    ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(original));
    for (int64_t number = 0; number < 12; ++number) ASSERT_OK(store->Add(Numbered(number), number));
  }
  const std::string bytes = Read(original);
  for (size_t size = 0; size < bytes.size(); size += 511) {
    Write(path, bytes.substr(0, size));
    EXPECT_THAT(SqliteStore::Open(path), StatusIs(absl::StatusCode::kDataLoss, StartsWith(path))) << size;
    EXPECT_EQ(Read(path).size(), size);
  }
}

TEST(SqliteFaultsTest, AFileThatAnotherProcessWritesIsUnavailableUntilItIsDone) {
  const std::string path = NewPath();
  const std::string id = MemoryId("a");
  ASSERT_OK((*SqliteStore::Open(path))->Add({.content = "a"}, 1));
  Child child([&](int output) {
    const auto database = internal::Database::Open(path, 1000);
    if (!database.ok() || !database->Run("BEGIN IMMEDIATE").ok()) _exit(1);
    Say(output, "locked");
    pause();
  });
  ASSERT_EQ(child.Line(), "locked");
  ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path, /*wait_ms=*/20));
  const auto locked =
      StatusIs(absl::StatusCode::kUnavailable, AllOf(StartsWith(path + " is locked: another process is writing it"),
                                                     HasSubstr("20 ms"), HasSubstr("try again")));
  EXPECT_THAT(store->Add({.content = "b"}, 2), locked);
  EXPECT_THAT(store->Update(id, "b", {}, 2), locked);
  EXPECT_THAT(store->Delete(id), locked);
  EXPECT_EQ(store->Get(id)->content, "a") << "it can be read meanwhile";
  child.Kill();
  EXPECT_OK(store->Add({.content = "b"}, 2));
  EXPECT_EQ(*store->Size(), 2);
}

TEST(SqliteFaultsTest, AFileThatAnotherProcessHasForItselfIsUnavailable) {
  const std::string path = NewPath();
  ASSERT_OK(SqliteStore::Open(path));
  Child child([&](int output) {
    const auto database = internal::Database::Open(path, 1000);
    if (!database.ok() || !database->Run("PRAGMA locking_mode = EXCLUSIVE").ok()) _exit(1);
    if (!database->Run("BEGIN EXCLUSIVE").ok()) _exit(1);
    Say(output, "locked");
    pause();
  });
  ASSERT_EQ(child.Line(), "locked");
  EXPECT_THAT(SqliteStore::Open(path, 20), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path + " is locked")));
  child.Kill();
  EXPECT_OK(SqliteStore::Open(path, 20));
}

TEST(SqliteFaultsTest, TwoProcessesThatWriteAtOnceLoseNothing) {
  const std::string path = NewPath();
  const auto add = [&](int64_t begin) {
    return [&path, begin](int) {
      const auto store = SqliteStore::Open(path);
      for (int64_t number = begin; number < begin + 25; ++number) {
        if (!store.ok() || !(*store)->Add(Numbered(number), number).ok()) _exit(1);
      }
    };
  };
  Child one(add(0)), two(add(100));
  EXPECT_EQ(one.Wait(), 0);
  EXPECT_EQ(two.Wait(), 0);
  EXPECT_EQ(*(*SqliteStore::Open(path))->Size(), 50);
}

// The limit of a file's size stands for a disk that is full: writing beyond it fails.
TEST(SqliteFaultsTest, AFullDiskRefusesAChangeAndKeepsTheOthers) {
  const std::string path = NewPath();
  Child child([&](int output) {
    signal(SIGXFSZ, SIG_IGN);
    const auto store = SqliteStore::Open(path);
    if (!store.ok()) _exit(1);
    rlimit limit = {};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1 << 17;
    setrlimit(RLIMIT_FSIZE, &limit);
    int64_t number = 0;
    absl::Status status;
    while ((status = (*store)->Add(Numbered(number), number).status()).ok()) ++number;
    Say(output, absl::StrCat(ExitCodeOf(status), " ", status.message()));
    Say(output, absl::StrCat(number, " ", *(*store)->Size()));
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    status = (*store)->Add(Numbered(number), number).status();
    Say(output, status.ok() ? absl::StrCat("ok ", *(*store)->Size()) : status.ToString());
  });
  const std::string error = child.Line();
  EXPECT_THAT(error, AllOf(StartsWith("74 "), HasSubstr(path), HasSubstr("File too large")));
  int64_t added = 0, size = 0;
  std::istringstream(child.Line()) >> added >> size;
  EXPECT_GT(added, 5);
  EXPECT_EQ(size, added);
  EXPECT_EQ(child.Line(), absl::StrCat("ok ", added + 1));
  EXPECT_EQ(child.Wait(), 0);
  ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path));
  EXPECT_EQ(*store->Size(), added + 1);
}

TEST(SqliteFaultsTest, ADatabaseThatMayNotGrowIsAFullDisk) {
  const std::string path = NewPath();
  ASSERT_OK(SqliteStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const internal::Database database, internal::Database::Open(path, 0));
  ASSERT_OK(database.Run("PRAGMA max_page_count = 3"));
  const absl::Status status = database.Run("CREATE TABLE another (a)");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No space left on device")));
  EXPECT_EQ(ExitCodeOf(status), kExitIo);
}

TEST(SqliteFaultsTest, AFileSystemWithoutSharedMemoryOrLocksIsNamed) {
  const std::string path = NewPath();
  ASSERT_OK(SqliteStore::Open(path));
  const auto is_refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                   path +
                                       " is on a file system without locks or shared memory, which a memory needs: "
                                       "name a file on a disk of this machine");
  for (const int error : {ENODEV, EINVAL, ENOSYS}) {
    missing.mapping = error;
    EXPECT_THAT(SqliteStore::Open(path, 20), is_refused);
  }
  missing = {};
  for (const int error : {ENOLCK, ENOSYS, ENOTSUP}) {
    missing.lock = error;
    EXPECT_THAT(SqliteStore::Open(path, 20), is_refused);
  }
  missing = {};
  EXPECT_OK(SqliteStore::Open(path));
}

TEST(SqliteFaultsTest, AMemoryThatCannotBeMadeLeavesNothingBehind) {
  const std::string path = NewPath();
  Child child([&](int output) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = SqliteStore::Open(path).status();
    Say(output, absl::StrCat(ExitCodeOf(status), " ", status.message()));
  });
  EXPECT_THAT(child.Line(), AllOf(StartsWith("74 no memory can be made in " + path), HasSubstr("File too large")));
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(rmdir(path.substr(0, path.rfind('/')).c_str()), 0) << "the directory is empty";
}

}  // namespace
}  // namespace reprise::data

// The definitions of this program take the place of libc's.
extern "C" {

void* mmap64(void* address, size_t size, int protection, int flags, int file, off64_t offset) noexcept {
  if (file >= 0 && reprise::data::missing.mapping != 0) {
    errno = reprise::data::missing.mapping;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  return mmap64(address, size, protection, flags, file, offset);
}

int fcntl64(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  if (command == F_SETLK && reprise::data::missing.lock != 0) {
    errno = reprise::data::missing.lock;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fcntl, file, command, argument));
}

int fcntl(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl64(file, command, argument);
}

}  // extern "C"
