#include "core/comm/self_communicator.h"

#include "core/comm/testing/conformance.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::ConformanceCase;
using ::reprise::testing::ConformanceCases;

class SelfConformanceTest : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(SelfConformanceTest, Holds) {
  SelfCommunicator self;
  GetParam().run(self);
}

INSTANTIATE_TEST_SUITE_P(All, SelfConformanceTest, ::testing::ValuesIn(ConformanceCases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SelfCommunicatorDeathTest, SpanOfTheWrongSizeIsABug) {
  SelfCommunicator self;
  std::byte bytes[4] = {};
  EXPECT_DEATH(
      { (void)self.Allgatherv(absl::MakeConstSpan(bytes, 2), {2}, absl::MakeSpan(bytes, 3)); }, "CHECK failed");
}

}  // namespace
}  // namespace reprise
