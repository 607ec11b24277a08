// Tests of the stored format. A change of these digests is a change of the format: FORMAT.md says what that requires.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/testing/status_matchers.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"
#include "hdf5.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

std::string NewDirectory() {
  std::string directory = ::testing::TempDir() + "/run-XXXXXX";
  EXPECT_NE(::mkdtemp(directory.data()), nullptr);
  return directory;
}

TEST(FormatTest, TheRunDigestOfASmallRunIsUnchanged) {
  ASSERT_OK_AND_ASSIGN(const RunDigests digests, testing::WriteExampleRun(PosixFileSystem(), NewDirectory(), 4));
  EXPECT_EQ(digests.run_digest_hex, "040b608c3e2e22f29084aea3b57406f437debf9dc98553e212be24804fbd2a9a");
}

TEST(FormatTest, TheBytesOfASmallRunAreUnchangedWithThisHdf5) {
  unsigned major = 0, minor = 0, release = 0;
  ASSERT_GE(H5get_libversion(&major, &minor, &release), 0);
  if (major != 1 || minor != 10 || release != 8) GTEST_SKIP() << "the bytes are pinned for HDF5 1.10.8";
  ASSERT_OK_AND_ASSIGN(const RunDigests digests, testing::WriteExampleRun(PosixFileSystem(), NewDirectory(), 4));
  EXPECT_EQ(digests.file_sha256_hex, "592f345ec737b78e324d0ca89e325ca9deac6d1e06759c2495c68722e3f8cad8");
}

TEST(FormatTest, TheToolsOfHdf5ReadARun) {
  if (std::system("command -v h5dump > /dev/null") != 0) GTEST_SKIP() << "h5dump is not installed";
  const std::string directory = NewDirectory();
  ASSERT_OK(testing::WriteExampleRun(PosixFileSystem(), directory, 4));
  FILE* const pipe =
      ::popen(("h5dump -d /streams/episodes/prompt -d /streams/episodes/pair " + directory + "/run.h5").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output.push_back(static_cast<char>(c));
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_THAT(output, HasSubstr("(0): 100, 101, 102, 200, 201, 202, 300, 301, 302, 400, 401, 402"));
  EXPECT_THAT(output, HasSubstr("9.18355e-39, 1,"));  // bf16 as numbers
}

}  // namespace
}  // namespace reprise
