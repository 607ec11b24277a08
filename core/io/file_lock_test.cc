#include "core/io/file_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// Two descriptors of one process compete as those of two processes do.
TEST(FileLockTest, IsHeldOnceAndReleasedAtItsEnd) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/lock");
  std::string holder;
  {
    ASSERT_OK_AND_ASSIGN(FileLock lock, FileLock::Try(path, "first", &holder));
    EXPECT_TRUE(lock.is_held());
    ASSERT_OK_AND_ASSIGN(const FileLock other, FileLock::Try(path, "second", &holder));
    EXPECT_FALSE(other.is_held());
    EXPECT_EQ(holder, "first");
    const FileLock moved = std::move(lock);
    EXPECT_TRUE(moved.is_held());
    ASSERT_OK_AND_ASSIGN(const FileLock again, FileLock::Try(path, "third", &holder));
    EXPECT_FALSE(again.is_held());
  }
  ASSERT_OK_AND_ASSIGN(const FileLock after, FileLock::Try(path, "last", &holder));
  EXPECT_TRUE(after.is_held());
}

TEST(FileLockTest, ASharedLockExcludesThoseWhoWantItAlone) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/shared");
  constexpr auto kShared = FileLock::Sharing::kShared;
  std::string holder;
  {
    ASSERT_OK_AND_ASSIGN(const FileLock one, FileLock::Try(path, "one", &holder, kShared));
    ASSERT_OK_AND_ASSIGN(const FileLock two, FileLock::Try(path, "two", &holder, kShared));
    EXPECT_TRUE(one.is_held() && two.is_held());
    ASSERT_OK_AND_ASSIGN(const FileLock alone, FileLock::Try(path, "three", &holder));
    EXPECT_FALSE(alone.is_held());
    EXPECT_EQ(holder, "two");
  }
  ASSERT_OK_AND_ASSIGN(const FileLock alone, FileLock::Try(path, "three", &holder));
  EXPECT_TRUE(alone.is_held());
  ASSERT_OK_AND_ASSIGN(const FileLock shared, FileLock::Try(path, "four", &holder, kShared));
  EXPECT_FALSE(shared.is_held());
}

TEST(FileLockTest, AnErrorNamesTheFile) {
  std::string holder;
  EXPECT_THAT(FileLock::Try("/nowhere/lock", "", &holder),
              reprise::testing::StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("/nowhere/lock")));
}

TEST(FileLockTest, WhatALinkOrAPipeLeadsToIsNotTouched) {
  const std::string victim = absl::StrCat(::testing::TempDir(), "/victim"), link = victim + ".lock";
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), victim, "kept", 0644));
  ASSERT_EQ(::symlink(victim.c_str(), link.c_str()), 0);
  const std::string pipe = victim + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0644), 0);
  std::string holder;
  const std::string hard = victim + ".hard";
  ASSERT_EQ(::link(victim.c_str(), hard.c_str()), 0);
  for (const std::string& path : {link, pipe, hard}) {
    EXPECT_THAT(FileLock::Try(path, "note", &holder).status(),
                reprise::testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                           path + " is not a regular file of one name: remove it, or move it away"));
  }
  EXPECT_EQ(*ReadFile(PosixFileSystem(), victim, 100), "kept");
}

}  // namespace
}  // namespace reprise
