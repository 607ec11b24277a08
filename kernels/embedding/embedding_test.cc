#include "kernels/embedding/embedding.h"

#include <vector>

#include "kernels/products/packed_matrix.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::kernels {
namespace {

using ::reprise::testing::BitEqual;
using ::reprise::testing::ForEachIsa;
using ::reprise::testing::LargestError;
using ::reprise::testing::RandomBelow;
using ::reprise::testing::RandomNormals;
using ::reprise::testing::WithOneBitFlipped;

std::vector<int32_t> RandomTokens(int64_t rows, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t t = 0; t < rows; ++t) tokens.push_back(static_cast<int32_t>(RandomBelow(vocabulary, 5, t)));
  return tokens;
}

TEST(EmbedTest, CopiesTheTokensRows) {
  const std::vector<float> table = {0, 1, 10, 11, 20, 21};
  const std::vector<int32_t> tokens = {2, 0, 2};
  std::vector<float> y(9, 7.0f);
  Embed(tokens.data(), table.data(), {y.data(), 3, 2, 3});
  EXPECT_TRUE(BitEqual({20, 21, 7, 0, 1, 7, 20, 21, 7}, y));
  Embed(nullptr, table.data(), {nullptr, 0, 2});
}

TEST(EmbedTest, ExtendsABf16TableToFloats) {
  const std::vector<uint16_t> table = {RoundToBf16(0.5f), RoundToBf16(-3.0f), 0x7F7F, 0x8001};
  const std::vector<int32_t> tokens = {1, 0};
  std::vector<float> y(4);
  Embed(tokens.data(), table.data(), {y.data(), 2, 2});
  EXPECT_TRUE(BitEqual({0x1.FEp127f, -0x1p-133f, 0.5f, -3.0f}, y));
}

std::vector<float> Reference(int64_t width, const std::vector<int32_t>& tokens, const std::vector<float>& dy,
                             int64_t lddy, int32_t skip, std::vector<float> gradient) {
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (int64_t j = 0; j < width && tokens[t] != skip; ++j) gradient[tokens[t] * width + j] += dy[t * lddy + j];
  }
  return gradient;
}

TEST(EmbedBackwardTest, EqualsTheScalarReferenceOnEveryInstructionSet) {
  constexpr int64_t kVocabulary = 6;
  for (int64_t width : {1, 8, 17, 64, 100}) {
    for (int64_t rows : {0, 1, 40}) {
      const std::vector<int32_t> tokens = RandomTokens(rows, kVocabulary);
      const std::vector<float> dy = RandomNormals(rows * (width + 3), 1),
                               before = RandomNormals(kVocabulary * width, 2);
      for (int32_t skip : {-1, 3}) {
        const std::vector<float> expected = Reference(width, tokens, dy, width + 3, skip, before);
        ForEachIsa([&] {
          std::vector<float> gradient = before;
          EmbedBackward(tokens.data(), {dy.data(), rows, width, width + 3}, skip, gradient.data());
          EXPECT_TRUE(BitEqual(expected, gradient)) << rows << " x " << width;
          EXPECT_FALSE(BitEqual(WithOneBitFlipped(expected, 0), gradient));
        });
      }
    }
  }
}

TEST(EmbedBackwardTest, AddsInRowOrderHoweverRowsAreSplitIntoCalls) {
  const std::vector<int32_t> tokens(100, 0);
  const std::vector<float> dy = RandomNormals(100, 1);
  std::vector<float> whole(1), parts(1), reversed(1);
  EmbedBackward(tokens.data(), {dy.data(), 100, 1}, -1, whole.data());
  EmbedBackward(tokens.data(), {dy.data(), 37, 1}, -1, parts.data());
  EmbedBackward(tokens.data(), {dy.data() + 37, 63, 1}, -1, parts.data());
  for (int t = 99; t >= 0; --t) EmbedBackward(tokens.data(), {dy.data() + t, 1, 1}, -1, reversed.data());
  EXPECT_TRUE(BitEqual(whole, parts));
  EXPECT_FALSE(BitEqual(whole, reversed)) << "the order of these rows must matter, or the test proves nothing";
  double exact = 0;
  for (float v : dy) exact += v;
  EXPECT_LT(LargestError({exact}, whole), 1e-5);
}

}  // namespace
}  // namespace reprise::kernels
