#include "core/digest/file_digest.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using reprise::testing::StatusIs;

TEST(FileDigestTest, IsThatOfTheFilesBytes) {
  FakeFileSystem files;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4} << 20, (size_t{9} << 20) + 5}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i >> 8);
    const std::string name = std::to_string(size);
    ASSERT_OK(WriteFileAtomically(files, name, bytes));
    EXPECT_EQ(*DigestOfFile(files, name), Sha256(bytes));
  }
}

TEST(FileDigestTest, ADirectoryHasNone) {
  EXPECT_THAT(DigestOfFile(PosixFileSystem(), ::testing::TempDir()),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("is a directory; expected a file")));
  EXPECT_THAT(DigestOfFile(PosixFileSystem(), ::testing::TempDir() + "/none"),
              StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("/none")));
}

// Weights may be larger than the memory.
TEST(FileDigestTest, HoldsOnePieceOfALargeFile) {
  const auto peak_bytes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} << 10;
  };
  const std::string path = ::testing::TempDir() + "/large";
  ASSERT_EQ(truncate((std::ofstream(path).close(), path.c_str()), int64_t{1} << 28), 0);  // zeros, none of them stored
  const int64_t before = peak_bytes();
  EXPECT_OK(DigestOfFile(PosixFileSystem(), path));
  EXPECT_LT(peak_bytes() - before, int64_t{64} << 20);
}

}  // namespace
}  // namespace reprise
