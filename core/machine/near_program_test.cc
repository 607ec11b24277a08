#include "core/machine/near_program.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(NearProgramTest, FindsAFileInAFolderAboveTheProgram) {
  const std::string path = PathNearProgram("core/machine/near_program_test");
  EXPECT_TRUE(absl::EndsWith(path, "/core/machine/near_program_test")) << path;
  EXPECT_EQ(path.front(), '/');
}

TEST(NearProgramTest, IsEmptyWithoutSuchAFile) { EXPECT_EQ(PathNearProgram("core/machine/no_such_file"), ""); }

}  // namespace
}  // namespace reprise
