// Parses the inputs that fuzzing found: no input of a corpus makes its parser fail, and each target has a corpus.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "tests/fuzz/targets.h"

namespace reprise::testing {
namespace {

TEST(FuzzReplayTest, NoInputOfACorpusMakesItsParserFail) {
  for (const FuzzTarget& target : FuzzTargets()) {
    int64_t inputs = 0;
    for (const auto& input : std::filesystem::directory_iterator("tests/fuzz/corpus/" + std::string(target.name))) {
      SCOPED_TRACE(input.path().string());
      std::ifstream file(input.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      target.run(bytes);
      ++inputs;
    }
    EXPECT_GE(inputs, 3) << target.name;
  }
}

}  // namespace
}  // namespace reprise::testing
