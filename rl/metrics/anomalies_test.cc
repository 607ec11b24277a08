#include "rl/metrics/anomalies.h"

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

TEST(AnomaliesTest, AreTheMetricsBeyondTheirBounds) {
  const Metrics sound = {{"ratio/max", 5.0},
                         {"ratio/min", 0.1},
                         {"critic/vf_explained_var", 0.1},
                         {"critic/advantages/std", 0.1},
                         {"loss", 1e9}};
  EXPECT_TRUE(FindAnomalies(sound).empty());
  EXPECT_TRUE(FindAnomalies({}).empty());
  const Metrics wrong = {
      {"ratio/max", 5.5}, {"ratio/min", 0.05}, {"critic/vf_explained_var", -2.0}, {"critic/advantages/std", 0.01}};
  EXPECT_EQ(FindAnomalies(wrong), (std::vector<Anomaly>{{AnomalyKind::kRatioExplosion, 5.5},
                                                        {AnomalyKind::kRatioCollapse, 0.05},
                                                        {AnomalyKind::kValueCollapse, -2.0},
                                                        {AnomalyKind::kAdvantageCollapse, 0.01}}));
}

TEST(AnomaliesTest, HaveNamesAndSentences) {
  EXPECT_EQ(AnomalyName(AnomalyKind::kRatioExplosion), "RATIO_EXPLOSION_DETECTED");
  EXPECT_EQ(AnomalyName(AnomalyKind::kAdvantageCollapse), "ADVANTAGE_COLLAPSE_DETECTED");
  EXPECT_EQ(Describe({AnomalyKind::kValueCollapse, -2.0}),
            "critic/vf_explained_var is -2, below 0.1: the values hardly predict the returns; wait if training has "
            "just begun, otherwise raise algorithm.vf_coef");
}

}  // namespace
}  // namespace reprise::rl
