#ifndef TESTS_GOLDEN_GOLDEN_MODEL_H_
#define TESTS_GOLDEN_GOLDEN_MODEL_H_

// The models of the golden set, loaded as in production, and a fixture that runs a test on each.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/testing/goldens.h"
#include "gtest/gtest.h"
#include "models/decoder/model.h"
#include "tests/golden/errors.h"
#include "tests/golden/vectors.h"

namespace reprise::golden {

// Reads models/NAME of the golden set and packs its weights.
absl::StatusOr<std::unique_ptr<models::Model>> LoadGoldenModel(const std::string& name);

// Multiplies every second parameter by 1 + relative, which gives a slightly wrong model.
void Perturb(double relative, models::Model* model);
// Changes the sign of every second parameter, which gives an unrelated model.
void MakeAnotherModel(models::Model* model);

// Returns the sequences as segments of one batch, each from position 0.
models::PackedBatch Pack(const std::vector<std::vector<int32_t>>& sequences);

// Returns the gradient's elements that belong to `spec`.
absl::Span<const float> SelectGradient(const ParameterSpec& spec, const std::vector<float>& gradient);
// Returns the Euclidean norm, computed in double.
double Norm(absl::Span<const float> x);

class GoldenModelTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  const models::Decoder& decoder() const { return model_->decoder(); }
  // Prints all errors and expects them within their tolerances.
  void ExpectWithin(const Errors& errors) const;

  std::unique_ptr<models::Model> model_;
  std::optional<Vectors> vectors_;
};

std::string TestName(const ::testing::TestParamInfo<std::string>& info);

// Runs the suite on every model of the set, which must have at least one.
#define INSTANTIATE_ON_GOLDEN_MODELS(suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(GoldenModels, suite, ::testing::ValuesIn(::reprise::testing::GoldenModels()), \
                           ::reprise::golden::TestName);                                                 \
  TEST(GoldenSetTest, HasAModelFor##suite) { EXPECT_FALSE(::reprise::testing::GoldenModels().empty()); } \
  static_assert(true)

}  // namespace reprise::golden

#endif  // TESTS_GOLDEN_GOLDEN_MODEL_H_
