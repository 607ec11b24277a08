#include "core/io/file_group.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status Write(FakeFileSystem& files, FileGroup& group, absl::string_view path) {
  return group.Add(path, WriteFileAtomically(files, path, "x"));
}

TEST(FileGroupTest, AGroupThatIsNotKeptRemovesWhatItWroteTheLastFileFirst) {
  FakeFileSystem files;
  int64_t before = 0;
  {
    FileGroup group(files);
    ASSERT_OK(Write(files, group, "a"));
    ASSERT_OK(Write(files, group, "b"));
    EXPECT_FALSE(group.Add("c", absl::ResourceExhaustedError("full")).ok());
    before = files.calls();
  }
  EXPECT_THAT(std::vector<std::string>(files.log().begin() + before, files.log().end()),
              ElementsAre("unlink c", "unlink b", "unlink a"));
  EXPECT_THAT(files.List(".").value(), IsEmpty());
}

TEST(FileGroupTest, AGroupThatIsKeptStays) {
  FakeFileSystem files;
  {
    FileGroup group(files);
    ASSERT_OK(Write(files, group, "a"));
    group.Keep();
  }
  EXPECT_THAT(files.List(".").value(), ElementsAre("a"));
}

// The other process has perhaps written all of them.
TEST(FileGroupTest, WhereAnotherProcessIsAtWorkNothingIsRemoved) {
  for (const absl::Status& error : {absl::AlreadyExistsError("b exists"), absl::NotFoundError("b is gone")}) {
    FakeFileSystem files;
    {
      FileGroup group(files);
      ASSERT_OK(Write(files, group, "a"));
      EXPECT_EQ(group.Add("b", error), error);
    }
    EXPECT_THAT(files.List(".").value(), ElementsAre("a"));
  }
}

}  // namespace
}  // namespace reprise
