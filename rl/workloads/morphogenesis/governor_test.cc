#include "rl/workloads/morphogenesis/governor.h"

#include <limits>
#include <optional>

#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// A governor that knows `count` losses.
Governor Knowing(int count, double loss, const GovernorOptions& options = {}) {
  Governor governor(options);
  for (int i = 0; i < count; ++i) EXPECT_EQ(governor.Check(loss), std::nullopt);
  return governor;
}

TEST(GovernorTest, PanicsAtOnceWhenTheLossIsNotANumber) {
  for (const double loss : {kNan, kInf, -kInf}) {
    Governor governor({});
    const std::optional<Panic> panic = governor.Check(loss);
    ASSERT_TRUE(panic.has_value());
    EXPECT_EQ(panic->reason, PanicReason::kNotFinite);
    EXPECT_TRUE(governor.history().empty()) << "it is not remembered";
  }
}

TEST(GovernorTest, PanicsWhenAGoodNetworkGuessesAgain) {
  Governor governor = Knowing(10, 1.0);
  const std::optional<Panic> panic = governor.Check(2.3);
  ASSERT_TRUE(panic.has_value());
  EXPECT_EQ(panic->reason, PanicReason::kLobotomy);
  EXPECT_EQ(panic->loss, 2.3);
}

TEST(GovernorTest, AGuessIsNoPanicBeforeTenLossesAreKnownOrWhereTheMeanIsNotGood) {
  EXPECT_EQ(Knowing(9, 1.0).Check(2.3), std::nullopt);
  EXPECT_EQ(Knowing(10, 0.6 * 2.303).Check(2.3), std::nullopt) << "the mean is not below 0.6 of a guess";
  EXPECT_EQ(Knowing(10, 1.0).Check(2.302585092994046 * (1 - 0.0651)), std::nullopt) << "the loss is no guess";
  EXPECT_NE(Knowing(10, 1.0).Check(2.302585092994046 * (1 - 0.0649)), std::nullopt);
}

TEST(GovernorTest, PanicsAfterConsecutiveAnomalies) {
  Governor governor = Knowing(5, 4.0);
  EXPECT_EQ(governor.Check(12.5), std::nullopt) << "one is none";
  EXPECT_EQ(governor.history().size(), 5u) << "an anomaly is not remembered";
  const std::optional<Panic> panic = governor.Check(13);
  ASSERT_TRUE(panic.has_value());
  EXPECT_EQ(panic->reason, PanicReason::kAnomalies);
  EXPECT_EQ(panic->threshold, 12) << "three times the mean is the greatest of the three bounds";
  EXPECT_EQ(panic->num_anomalies, 2) << "esper-lite reports the count after it is 0 again";
  EXPECT_EQ(governor.Check(13), std::nullopt) << "the count began anew";
}

TEST(GovernorTest, AGoodLossEndsARowOfAnomalies) {
  Governor governor = Knowing(5, 4.0);
  EXPECT_EQ(governor.Check(13), std::nullopt);
  EXPECT_EQ(governor.Check(4), std::nullopt);
  EXPECT_EQ(governor.Check(13), std::nullopt);
}

TEST(GovernorTest, AnAnomalyExceedsAllThreeBounds) {
  const auto is_anomaly = [](double loss) {
    GovernorOptions options = {.consecutive = 1, .random_guess = 100};
    Governor governor(options);
    // Mean 4, deviation 1: the bounds are 10, 10 and 12.
    for (const double known : {3.0, 5.0, 3.0, 5.0}) EXPECT_EQ(governor.Check(known), std::nullopt);
    return governor.Check(loss).has_value();
  };
  EXPECT_FALSE(is_anomaly(12));
  EXPECT_TRUE(is_anomaly(12.0625));
  Governor small = Knowing(4, 1.0, {.consecutive = 1, .random_guess = 100});
  EXPECT_EQ(small.Check(10), std::nullopt) << "not above the absolute bound";
}

TEST(GovernorTest, TheFirstLossesOfATaskAreNoAnomaly) {
  Governor governor({.consecutive = 1});
  EXPECT_EQ(governor.Check(10.8), std::nullopt);
  EXPECT_EQ(governor.Check(10.7), std::nullopt);
}

TEST(GovernorTest, RemembersAWindow) {
  Governor governor({.window = 3});
  for (const double loss : {1.0, 2.0, 3.0, 4.0}) EXPECT_EQ(governor.Check(loss), std::nullopt);
  EXPECT_EQ(governor.history(), (std::deque<double>{2, 3, 4}));
}

TEST(GovernorTest, WantsASnapshotEveryFiveEpochsAndWhenTheStructureChanged) {
  const Governor governor({});
  for (int64_t epoch = 0; epoch <= 25; ++epoch) {
    EXPECT_EQ(governor.NeedsSnapshot(epoch, false), epoch % 5 == 0) << epoch;
    EXPECT_TRUE(governor.NeedsSnapshot(epoch, true)) << "a rollback must not undo a fossil";
  }
}

// In esper-lite a snapshot may be of a failed network, to which every later panic goes back.
TEST(GovernorTest, WantsNoSnapshotOfAnEpochWithAnAnomaly) {
  Governor governor = Knowing(5, 4.0);
  EXPECT_EQ(governor.Check(13), std::nullopt);
  EXPECT_FALSE(governor.NeedsSnapshot(5, false));
  EXPECT_FALSE(governor.NeedsSnapshot(6, true));
  EXPECT_NE(governor.Check(13), std::nullopt);
  EXPECT_TRUE(governor.NeedsSnapshot(10, false)) << "the network was restored";
  EXPECT_EQ(governor.Check(13), std::nullopt);
  EXPECT_EQ(governor.Check(4), std::nullopt);
  EXPECT_TRUE(governor.NeedsSnapshot(12, true)) << "the anomaly is over";
}

}  // namespace
}  // namespace reprise::rl
