#include "data/artifact/format/run_header.h"

#include "gtest/gtest.h"

namespace reprise {
namespace {

RunHeader Header() {
  return {.config_text = "[run]\nseed = 1\nsteps = 2\n",
          .external_files = {{"a", Sha256("a")}, {"b", Sha256("b")}},
          .streams = {{"s", 1, {ScalarColumn("v", DType::kF64)}}}};
}

TEST(DescribeDifferenceTest, IsEmptyForEqualHeaders) { EXPECT_EQ(DescribeDifference(Header(), Header()), ""); }

TEST(DescribeDifferenceTest, ListsEveryLineThatDiffers) {
  RunHeader other = Header();
  other.config_text = "[run]\nseed = 3\nsteps = 4\n";
  EXPECT_EQ(DescribeDifference(Header(), other),
            "its configuration says \"seed = 1\", \"steps = 2\" where this one says \"seed = 3\", \"steps = 4\"");
  other.config_text = "[run]\nseed = 1\n";
  EXPECT_EQ(DescribeDifference(Header(), other), "its configuration says \"steps = 2\" where this one says nothing");
}

TEST(DescribeDifferenceTest, NamesFilesAndStreamsThatAreChangedMissingOrNew) {
  RunHeader other = Header();
  other.external_files = {{"b", Sha256("c")}, {"d", Sha256("d")}};
  other.streams[0].version = 2;
  EXPECT_EQ(DescribeDifference(Header(), other), "it started with other files: a, b, d; it stores other streams: s");
}

}  // namespace
}  // namespace reprise
