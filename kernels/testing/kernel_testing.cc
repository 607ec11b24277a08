#include "kernels/testing/kernel_testing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "core/random/draw.h"
#include "kernels/isa/isa.h"
#include "kernels/math/scalar_math.h"
#include "kernels/testing/dispatched_width.h"

namespace reprise::testing {
namespace {

double Uniform(uint64_t seed, uint64_t index, uint64_t turn) {
  return DrawUniform(seed, Purpose::kTest, {.turn = turn, .token = index});
}

}  // namespace

std::vector<float> RandomFloats(int64_t n, uint64_t seed, float low, float high) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(low + (high - low) * Uniform(seed, i, 0));
  return values;
}

std::vector<float> RandomNormals(int64_t n, uint64_t seed, float scale) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(scale * kernels::NormalDeviate(Uniform(seed, i, 1), Uniform(seed, i, 2)));
  }
  return values;
}

int64_t RandomBelow(int64_t bound, uint64_t seed, uint64_t index) {
  return static_cast<int64_t>(DrawBelow(seed, Purpose::kTest, {.turn = 3, .token = index}, bound));
}

::testing::AssertionResult BitEqual(absl::Span<const float> expected, absl::Span<const float> actual) {
  if (expected.size() != actual.size()) {
    return ::testing::AssertionFailure() << expected.size() << " elements expected, " << actual.size() << " found";
  }
  size_t first = expected.size(), count = 0;
  for (size_t i = expected.size(); i-- > 0;) {
    if (std::bit_cast<uint32_t>(expected[i]) == std::bit_cast<uint32_t>(actual[i])) continue;
    first = i;
    ++count;
  }
  if (count == 0) return ::testing::AssertionSuccess();
  char text[200];
  std::snprintf(text, sizeof(text), "%zu of %zu elements differ; [%zu]: expected %a (%.9g), found %a (%.9g)", count,
                expected.size(), first, static_cast<double>(expected[first]), static_cast<double>(expected[first]),
                static_cast<double>(actual[first]), static_cast<double>(actual[first]));
  return ::testing::AssertionFailure() << text;
}

std::vector<float> WithOneBitFlipped(std::vector<float> values, int64_t index) {
  values.at(index) = std::bit_cast<float>(std::bit_cast<uint32_t>(values.at(index)) ^ 1u);
  return values;
}

double LargestError(absl::Span<const double> exact, absl::Span<const float> actual) {
  if (exact.size() != actual.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    if (std::isnan(exact[i]) != std::isnan(actual[i])) return std::numeric_limits<double>::infinity();
    if (exact[i] == actual[i] || std::isnan(exact[i])) continue;
    largest = std::max(largest, std::fabs(exact[i] - actual[i]));
  }
  return largest;
}

void ForEachIsa(const std::function<void()>& body) {
  using kernels::Isa;
  const std::vector<Isa> available = kernels::AvailableIsas();
  ASSERT_FALSE(available.empty()) << "this machine cannot run the kernels";
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (std::find(available.begin(), available.end(), isa) == available.end()) {
      std::printf("[ skipped  ] %s: not on this machine\n", std::string(kernels::NameOf(isa)).c_str());
      continue;
    }
    kernels::SetIsaForTest(isa);
    EXPECT_EQ(kernels::ActiveIsa(), isa);
    EXPECT_EQ(DispatchedWidth(), isa == Isa::kAvx512 ? 16 : 8) << "the dispatcher runs another instruction set";
    SCOPED_TRACE(kernels::NameOf(isa));
    body();
  }
  kernels::SetIsaForTest(available.back());
}

void Lanes::MulAdd(int64_t i, float a, float b) { lane_[i % 64] = std::fma(a, b, lane_[i % 64]); }

float Lanes::Sum() const {
  std::array<float, 64> t = lane_;
  for (int w = 32; w >= 1; w /= 2) {
    for (int i = 0; i < w; ++i) t[i] += t[i + w];
  }
  return t[0];
}

}  // namespace reprise::testing
