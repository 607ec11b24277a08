#include "pipelines/estimate/cost_tables.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(MemoryTableTest, IncludesMemoryThatIsNotPredicted) {
  rl::MemoryEstimate estimate;
  estimate.items = {{"weights", "4 W", 1024}};
  EXPECT_EQ(MemoryTable(estimate).find("not predicted"), std::string::npos);
  estimate.not_predicted = "LibTorch";
  EXPECT_NE(MemoryTable(estimate).find("not predicted, on top: LibTorch"), std::string::npos);
}

TEST(FormatBytesTest, HasTwoOrThreeDigits) {
  EXPECT_EQ(FormatBytes(512), "512 bytes");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(int64_t{200} << 20), "200 MiB");
  EXPECT_EQ(FormatBytes(int64_t{5} << 40), "5.0 TiB");
}

}  // namespace
}  // namespace reprise
