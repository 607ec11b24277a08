#include "models/safetensors/float_conversion.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Stored>
TensorView View(DType dtype, const std::vector<Stored>& stored) {
  return {"w",
          dtype,
          {static_cast<int64_t>(stored.size())},
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(stored.data()), stored.size() * sizeof(Stored))};
}

template <typename Stored>
std::vector<float> Converted(DType dtype, const std::vector<Stored>& stored) {
  std::vector<float> out(stored.size());
  EXPECT_OK(ConvertToFloat32(View(dtype, stored), absl::MakeSpan(out)));
  return out;
}

TEST(FloatConversionTest, WidensBFloat16Exactly) {
  EXPECT_THAT(Converted<uint16_t>(DType::kBF16, {0x3f80, 0xc040, 0x0001, 0x0000}),
              ElementsAre(1.0f, -3.0f, 0x1p-133f, 0.0f));
}

TEST(FloatConversionTest, WidensHalfExactly) {
  EXPECT_THAT(Converted<uint16_t>(DType::kF16, {0x3c00, 0xc200, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x0000}),
              ElementsAre(1.0f, -3.0f, 65504.0f, 0x1p-14f, 0x1p-24f, -1023 * 0x1p-24f, 0.0f));
  EXPECT_TRUE(std::signbit(Converted<uint16_t>(DType::kF16, {0x8000})[0]));
}

TEST(FloatConversionTest, EveryFiniteHalfMatchesTheFormula) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31) continue;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    const double expected = bits >> 15 ? -magnitude : magnitude;
    ASSERT_EQ(Converted<uint16_t>(DType::kF16, {static_cast<uint16_t>(bits)})[0], expected) << bits;
  }
}

TEST(FloatConversionTest, RoundsDoublesToNearest) {
  EXPECT_THAT(Converted<double>(DType::kF64, {0.1, 1.0 + 0x1p-24, 1.0 + 0x1.8p-23}),
              ElementsAre(0.1f, 1.0f, 1.0f + 0x1p-22f));
}

TEST(FloatConversionTest, ReadsUnalignedBytes) {
  const float values[] = {1.5f, -2.5f};
  std::vector<std::byte> bytes(9);
  std::memcpy(bytes.data() + 1, values, 8);
  const TensorView view = {"w", DType::kF32, {2}, absl::MakeConstSpan(bytes).subspan(1)};
  std::vector<float> out(2);
  ASSERT_OK(ConvertToFloat32(view, absl::MakeSpan(out)));
  EXPECT_THAT(out, ElementsAre(1.5f, -2.5f));
}

TEST(FloatConversionTest, AnEmptyTensorIsConverted) { EXPECT_TRUE(Converted<float>(DType::kF32, {}).empty()); }

TEST(FloatConversionTest, NamesTheFirstElementThatIsNotFinite) {
  std::vector<float> out(3);
  const auto convert = [&](const TensorView& view) { return ConvertToFloat32(view, absl::MakeSpan(out)); };
  EXPECT_THAT(convert(View<float>(DType::kF32, {0, std::numeric_limits<float>::quiet_NaN(), 0})),
              StatusIs(absl::StatusCode::kDataLoss, "tensor w, element 1 of shape [3]: NaN; weights must be finite"));
  const std::string infinite = "element 2 of shape [3]: infinite or beyond float's range";
  EXPECT_THAT(convert(View<uint16_t>(DType::kBF16, {0, 0, 0xff80})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(infinite)));
  EXPECT_THAT(convert(View<uint16_t>(DType::kF16, {0, 0, 0x7c00})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(infinite)));
  EXPECT_THAT(convert(View<double>(DType::kF64, {0, 0, 1e300})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(infinite)));
}

// The bound is the same as that of an update.
TEST(FloatConversionTest, NamesTheFirstElementOutOfBounds) {
  std::vector<float> out(3);
  const auto convert = [&](const TensorView& view) { return ConvertToFloat32(view, absl::MakeSpan(out)); };
  EXPECT_OK(convert(View<float>(DType::kF32, {1e18f, -1e18f, 1e-40f})));
  EXPECT_THAT(
      convert(View<float>(DType::kF32, {0, 3e38f, 0})),
      StatusIs(absl::StatusCode::kDataLoss, "tensor w, element 1 of shape [3]: 3e+38; weights are at most 1e18"));
  EXPECT_THAT(convert(View<double>(DType::kF64, {0, 0, -1.0001e18})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("element 2 of shape [3]: -1.0001e+18")));
}

TEST(FloatConversionTest, RefusesIntegers) {
  std::vector<float> out(1);
  EXPECT_THAT(
      ConvertToFloat32(View<int64_t>(DType::kI64, {1}), absl::MakeSpan(out)),
      StatusIs(absl::StatusCode::kInvalidArgument, "tensor w has element type i64; weights are f32, f64, bf16 or f16"));
}

}  // namespace
}  // namespace reprise::models
