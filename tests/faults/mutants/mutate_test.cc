#include "tests/faults/mutants/mutate.h"

#include <set>

#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

const std::string kOriginal = [] {
  std::string text;
  for (int line = 0; line < 300; ++line) text += "line " + std::to_string(line) + "\n";
  return text;
}();
const std::string kOther = std::string(1000, 'x') + "\n" + std::string(1000, 'y') + "\n";

TEST(MutantOfTest, DiffersFromTheOriginalAndNearlyAlwaysFromTheOtherMutants) {
  for (const Grain grain : {Grain::kBytes, Grain::kSectors, Grain::kLines}) {
    std::set<std::string> mutants;
    for (uint64_t number = 0; number < 1000; ++number)
      mutants.insert(MakeMutant(kOriginal, kOther, grain, number).bytes);
    EXPECT_FALSE(mutants.contains(kOriginal));
    EXPECT_GT(mutants.size(), grain == Grain::kSectors ? 400u : 900u);
  }
}

TEST(MutantOfTest, IsAFunctionOfItsNumber) {
  for (uint64_t number = 0; number < 100; ++number) {
    EXPECT_EQ(MakeMutant(kOriginal, kOther, Grain::kLines, number).bytes,
              MakeMutant(kOriginal, kOther, Grain::kLines, number).bytes);
  }
}

TEST(MutantOfTest, HasTheCorruptionThatItNames) {
  for (uint64_t number = 0; number < 1000; ++number) {
    const Mutant mutant = MakeMutant(kOriginal, kOther, Grain::kBytes, number);
    if (mutant.damage == Damage::kTruncate) {
      EXPECT_TRUE(kOriginal.starts_with(mutant.bytes));
    }
    if (mutant.damage == Damage::kExtend) {
      EXPECT_TRUE(mutant.bytes.starts_with(kOriginal));
    }
    if (mutant.damage == Damage::kRemove) {
      EXPECT_LT(mutant.bytes.size(), kOriginal.size());
    }
    if (mutant.damage == Damage::kDuplicate) {
      EXPECT_GT(mutant.bytes.size(), kOriginal.size());
    }
    if (mutant.damage == Damage::kSwap) {
      EXPECT_EQ(mutant.bytes.size(), kOriginal.size());
    }
  }
}

TEST(MutantOfTest, KeepsLinesWholeWithTheGrainOfLines) {
  for (uint64_t number = 0; number < 1000; ++number) {
    const Mutant mutant = MakeMutant(kOriginal, kOther, Grain::kLines, number);
    if (mutant.damage != Damage::kTruncate && mutant.damage != Damage::kRemove) continue;
    EXPECT_TRUE(mutant.bytes.empty() || mutant.bytes.back() == '\n');
  }
}

}  // namespace
}  // namespace reprise::testing
