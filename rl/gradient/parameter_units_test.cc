#include "rl/gradient/parameter_units.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

// 50304 rows of 64: 16384 rows of a block are 2^20 elements.
FlatLayout LayoutWithTables() {
  FlatLayout layout;
  layout.Append("embedding", {50304, 64}, ParameterKind::kEmbedding, /*by_rows=*/true);
  layout.Append("norm", {5}, ParameterKind::kVector);
  layout.Append("matrix", {50304, 64}, ParameterKind::kMatrix);
  layout.Append("head", {7, 64}, ParameterKind::kHead, /*by_rows=*/true);
  return layout;
}

TEST(ParameterUnitsTest, AreWholeTensorsExceptForBigOnesByRows) {
  const FlatLayout layout = LayoutWithTables();
  std::vector<int> units_of_spec(layout.specs.size());
  int64_t end = 0;
  for (const ParameterUnit& unit : MakeParameterUnits(layout)) {
    const ParameterSpec& spec = layout.specs[unit.spec];
    const int64_t begin = units_of_spec[unit.spec]++ == 0 ? spec.offset : end;
    EXPECT_EQ(unit.offset, begin) << spec.name;
    end = unit.offset + unit.size;
    if (spec.name != "embedding") {
      EXPECT_EQ(unit.size, spec.size) << spec.name;
    } else {
      EXPECT_EQ(unit.size, std::min<int64_t>(1 << 20, spec.offset + spec.size - begin));
    }
  }
  EXPECT_EQ(units_of_spec, (std::vector<int>{4, 1, 1, 1}));
}

TEST(TensorDigestsTest, AreTheUnitsDigestOrTheDigestOfTheUnitsDigests) {
  const std::vector<ParameterUnit> units = {{0, 0, 4}, {0, 4, 4}, {1, 8, 4}};
  const std::vector<Digest> digests = {Sha256("a"), Sha256("b"), Sha256("c")};
  const std::vector<Digest> tensors = TensorDigests(units, digests, 2);
  Sha256Stream both;
  both.Update(digests[0]);
  both.Update(digests[1]);
  EXPECT_EQ(tensors[0], both.Current());
  EXPECT_EQ(tensors[1], digests[2]);
}

TEST(DecaysTest, ByKindAndNameAndNeverForStatistics) {
  const auto spec = [](const char* name, ParameterKind kind) { return ParameterSpec{name, {1}, 0, 1, kind}; };
  const ParameterSpec matrix = spec("policy.0.weight", ParameterKind::kMatrix),
                      bias = spec("value_model.0.bias", ParameterKind::kVector),
                      head = spec("v_head.summary.weight", ParameterKind::kHead),
                      mean = spec("value_model.mean", ParameterKind::kStatistic);
  const auto decaying = [&](DecayedTensors on) {
    return std::vector<bool>{Decays(matrix, on), Decays(bias, on), Decays(head, on), Decays(mean, on)};
  };
  EXPECT_EQ(decaying(DecayedTensors::kAll), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(decaying(DecayedTensors::kMatrices), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(decaying(DecayedTensors::kValues), (std::vector<bool>{false, true, true, false}));
}

}  // namespace
}  // namespace reprise::rl
