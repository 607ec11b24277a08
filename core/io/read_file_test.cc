#include "core/io/read_file.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ReadFileTest, ReadsFilesUpToTheLimit) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "12345"));
  ASSERT_OK(WriteFileAtomically(files, "empty", ""));
  EXPECT_EQ(ReadFile(files, "a", 5).value(), "12345");
  EXPECT_EQ(ReadFile(files, "empty", 0).value(), "");
  EXPECT_THAT(ReadFile(files, "a", 4),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a: it has 5 bytes, more than the limit of 4")));
}

TEST(ReadFileTest, ReadsFilesOfUnknownSize) {
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(PosixFileSystem(), "/proc/self/stat", 1 << 20));
  EXPECT_THAT(text, HasSubstr("read_file_test"));
  EXPECT_THAT(ReadFile(PosixFileSystem(), "/proc/self/stat", 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("limit of 10")));
}

// A file that reports no size, like those of /proc.
class UnsizedFile final : public File {
 public:
  explicit UnsizedFile(int64_t size) : size_(size) {}
  absl::Status Append(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::Status WriteAt(int64_t, absl::string_view) override { return absl::UnimplementedError(""); }
  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) override {
    return std::string(static_cast<size_t>(std::min(size, size_ - offset)), 'x');
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  int64_t size_;
};

class UnsizedFiles final : public FileSystem {
 public:
  explicit UnsizedFiles(int64_t size) : size_(size) {}
  absl::StatusOr<std::unique_ptr<File>> Open(absl::string_view, OpenMode, int) override {
    return std::make_unique<UnsizedFile>(size_);
  }
  absl::Status RenameNoReplace(absl::string_view, absl::string_view) override { return absl::UnimplementedError(""); }
  absl::Status Link(absl::string_view, absl::string_view) override { return absl::UnimplementedError(""); }
  absl::Status Unlink(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::Status CreateDirectory(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::Status RemoveDirectory(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::StatusOr<std::vector<std::string>> List(absl::string_view) override { return absl::UnimplementedError(""); }
  absl::StatusOr<FileInfo> Stat(absl::string_view) override { return FileInfo(); }
  absl::Status SyncDirectory(absl::string_view) override { return absl::UnimplementedError(""); }

 private:
  int64_t size_;
};

TEST(ReadFileTest, TakesTimeInProportionToAFileOfUnknownSize) {
  const int64_t size = int64_t{384} << 20;
  UnsizedFiles files(size);
  const std::clock_t begin = std::clock();
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(files, "a", size));
  EXPECT_EQ(static_cast<int64_t>(text.size()), size);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 4);
  EXPECT_THAT(ReadFile(files, "a", size - 1), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("limit")));
}

TEST(ReadFileTest, ReportsEveryCallThatFails) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", "12345"));
  const int64_t before = files.calls();
  ASSERT_OK(ReadFile(files, "a", 100));
  const int64_t calls = files.calls() - before;
  EXPECT_EQ(calls, 4);  // stat, open, read, close
  for (int64_t call = 0; call < calls; ++call) {
    files.FailCall(files.calls() + call, EIO);
    EXPECT_THAT(ReadFile(files, "a", 100), StatusIs(absl::StatusCode::kUnknown, HasSubstr("a")));
  }
}

TEST(ReadFileTest, RefusesADirectory) {
  EXPECT_THAT(ReadFile(PosixFileSystem(), "/tmp", 1 << 20),
              StatusIs(absl::StatusCode::kInvalidArgument, "/tmp is a directory; expected a file"));
}

TEST(ExistsTest, DistinguishesAbsenceFromAnError) {
  FakeFileSystem files;
  ASSERT_OK(WriteFileAtomically(files, "a", ""));
  EXPECT_TRUE(Exists(files, "a").value());
  EXPECT_FALSE(Exists(files, "b").value());
  files.FailCall(files.calls(), EIO);
  EXPECT_THAT(Exists(files, "a"), StatusIs(absl::StatusCode::kUnknown, HasSubstr("a")));
}

}  // namespace
}  // namespace reprise
