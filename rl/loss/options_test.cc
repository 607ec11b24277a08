#include "rl/loss/options.h"

#include <limits>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LossOptionsTest, ParsesItsNamesAndSuggestsTheNearest) {
  for (int i = 0; i <= static_cast<int>(LossType::kRloo); ++i) {
    ASSERT_OK_AND_ASSIGN(const LossType type, ParseLossType(LossTypeName(static_cast<LossType>(i))));
    EXPECT_EQ(static_cast<int>(type), i);
  }
  for (int i = 0; i <= static_cast<int>(ImportanceLevel::kSequenceSum); ++i) {
    const auto level = static_cast<ImportanceLevel>(i);
    ASSERT_OK_AND_ASSIGN(const ImportanceLevel read, ParseImportanceLevel(ImportanceLevelName(level)));
    EXPECT_EQ(read, level);
  }
  for (int i = 0; i <= static_cast<int>(Clip::kRegression); ++i) {
    ASSERT_OK_AND_ASSIGN(const Clip clip, ParseClip(ClipName(static_cast<Clip>(i))));
    EXPECT_EQ(static_cast<int>(clip), i);
  }
  EXPECT_EQ(ClipName(Clip::kGmpo), "gmpo");
  EXPECT_EQ(ClipName(Clip::kRegression), "regression");
  for (int i = 0; i <= static_cast<int>(Aggregation::kTurnMean); ++i) {
    const auto aggregation = static_cast<Aggregation>(i);
    ASSERT_OK_AND_ASSIGN(const Aggregation read, ParseAggregation(AggregationName(aggregation)));
    EXPECT_EQ(read, aggregation);
  }
  for (int i = 0; i <= static_cast<int>(KlEstimator::kExact); ++i) {
    const auto estimator = static_cast<KlEstimator>(i);
    ASSERT_OK_AND_ASSIGN(const KlEstimator read, ParseKlEstimator(KlEstimatorName(estimator)));
    EXPECT_EQ(read, estimator);
  }
  EXPECT_THAT(ParseClip("capo"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("clip \"capo\"")));
  EXPECT_THAT(ParseLossType("dpao"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"dapo\"?")));
  EXPECT_THAT(ParseImportanceLevel("sequences"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"sequence\"?")));
}

TEST(LossOptionsTest, DefaultToTheLossTypesClipAndAggregation) {
  EXPECT_EQ(EffectiveClip({}), Clip::kTwoSided);
  EXPECT_EQ(EffectiveClip({.loss_type = LossType::kRloo}), Clip::kTwoSided);
  EXPECT_EQ(EffectiveClip({.loss_type = LossType::kSapo}), Clip::kSapo);
  EXPECT_EQ(EffectiveClip({.loss_type = LossType::kSapo, .clip = Clip::kNone}), Clip::kNone);
  EXPECT_EQ(EffectiveAggregation({}), Aggregation::kDapo);
  EXPECT_EQ(EffectiveAggregation({.loss_type = LossType::kSapo}), Aggregation::kGrpo);
  EXPECT_EQ(EffectiveAggregation({.loss_type = LossType::kSapo, .aggregation = Aggregation::kSum}), Aggregation::kSum);
}

TEST(LossOptionsTest, AcceptsItsDefaults) { EXPECT_OK(ValidateLossOptions({})); }

TEST(LossOptionsTest, NamesTheKeyItsValueAndItsRange) {
  const auto expect_refused = [](const LossOptions& options, const char* key) {
    EXPECT_THAT(ValidateLossOptions(options),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(key), HasSubstr("expected"))));
  };
  expect_refused({.epsilon = 1.5}, "epsilon is 1.5");
  expect_refused({.epsilon_high = -0.1}, "epsilon_high is -0.1");
  expect_refused({.delta = 0.5}, "delta is 0.5");
  expect_refused({.dual_clip = 1.0}, "dual_clip is 1");
  expect_refused({.beta = std::numeric_limits<double>::quiet_NaN()}, "beta is nan");
  expect_refused({.max_completion_length = 0}, "max_completion_length is 0");
  expect_refused({.sapo_temperature_pos = 0}, "sapo_temperature_pos is 0");
  expect_refused({.sapo_temperature_neg = -1}, "sapo_temperature_neg is -1");
  expect_refused({.top_entropy_quantile = 0}, "top_entropy_quantile is 0");
  expect_refused({.entropy_coef = std::numeric_limits<double>::infinity()}, "entropy_coef is inf");
}

TEST(LossOptionsTest, RequiresTheSumOfLogRatiosWithRlooAndOnlyThere) {
  LossOptions options = {.loss_type = LossType::kRloo};
  EXPECT_THAT(ValidateLossOptions(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("require each other")));
  options.importance_sampling_level = ImportanceLevel::kSequenceSum;
  EXPECT_OK(ValidateLossOptions(options));
  for (const Clip clip : {Clip::kCispo, Clip::kVespo, Clip::kReinforce}) {
    options.clip = clip;
    EXPECT_THAT(ValidateLossOptions(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be combined with loss_type rloo")));
  }
  for (const Clip clip : {Clip::kTwoSided, Clip::kSapo, Clip::kNone}) {
    options.clip = clip;
    EXPECT_OK(ValidateLossOptions(options));
  }
  options.clip = {};
  options.aggregation = Aggregation::kSum;
  EXPECT_THAT(ValidateLossOptions(options), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("aggregation sum")));
  options.aggregation = {};
  options.beta = 0.1;
  EXPECT_THAT(ValidateLossOptions(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("from the reward instead")));
  EXPECT_FALSE(ValidateLossOptions({.importance_sampling_level = ImportanceLevel::kSequenceSum}).ok());
}

}  // namespace
}  // namespace reprise::rl
