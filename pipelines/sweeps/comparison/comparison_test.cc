#include "pipelines/sweeps/comparison/comparison.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "pipelines/sweeps/comparison/student.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

std::vector<double> Scores(const std::vector<int>& whole) { return {whole.begin(), whole.end()}; }

// With one degree of freedom the distribution is Cauchy's, with two 1 - t / sqrt(2 + t^2).
TEST(StudentTest, AgreesWithClosedForms) {
  for (const double t : {0.0, 0.1, 0.5, 1.0, 3.0, 12.7, 1000.0}) {
    EXPECT_NEAR(StudentTwoSided(t, 1), 1 - 2 / M_PI * std::atan(t), 1e-13);
    EXPECT_NEAR(StudentTwoSided(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-13);
    const double angle = std::atan(t / std::sqrt(5.0)), c = std::cos(angle), s = std::sin(angle);
    EXPECT_NEAR(StudentTwoSided(-t, 5), 1 - 2 / M_PI * (angle + s * (c + 2.0 / 3 * c * c * c)), 1e-13);
  }
}

// Values of printed tables, for 95%.
TEST(StudentTest, HasTheTablesQuantiles) {
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.7062047362, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.05, 4), 2.77644510520, 1e-10);
  EXPECT_NEAR(StudentQuantile(0.05, 30), 2.04227245630, 1e-10);
  EXPECT_NEAR(StudentQuantile(0.05, 1e6), 1.95996, 1e-4);
  EXPECT_NEAR(StudentQuantile(0.01, 9), 3.24983554159, 1e-10);
}

RC_GTEST_PROP(StudentTest, TheQuantileInvertsTheProbability, ()) {
  const double degrees = *rc::gen::inRange(1, 500) / 3.0, p = *rc::gen::inRange(1, 1000) / 1000.0;
  RC_ASSERT(std::fabs(StudentTwoSided(StudentQuantile(p, degrees), degrees) - p) < 1e-10);
}

TEST(InterquartileMeanTest, LeavesOutAQuarterAtEachEnd) {
  EXPECT_EQ(InterquartileMean({3}), 3);
  EXPECT_EQ(InterquartileMean({9, 1, 2}), 4);         // floor(3 / 4) = 0
  EXPECT_EQ(InterquartileMean({100, 2, 4, -50}), 3);  // of 2 and 4
  EXPECT_EQ(InterquartileMean({8, 7, 6, 5, 4, 3, 2, 1}), 4.5);
}

TEST(ProbabilityOfImprovementTest, CountsPairsAndHalvesTies) {
  EXPECT_EQ(ProbabilityOfImprovement({1, 2}, {3, 4}), 1);
  EXPECT_EQ(ProbabilityOfImprovement({1, 2}, {2, 0}), 0.375);  // 2 > 1, 2 = 2, 0 < 1, 0 < 2
  EXPECT_EQ(ProbabilityOfImprovement({1}, {1}), 0.5);
}

// Differences 1, 2, 3: mean 2, deviation 1, error 1 / sqrt(3); t(2 degrees) = 4.30265273.
TEST(PairedDifferenceTest, IsStudentsIntervalOfTheDifferences) {
  const Difference difference = PairedDifference({10, 20, 30}, {11, 22, 33}, 0.95);
  EXPECT_EQ(difference.n, 3);
  EXPECT_EQ(difference.value, 2);
  EXPECT_EQ(difference.deviation, 1);
  EXPECT_NEAR(difference.interval.low, 2 - 4.30265273 / std::sqrt(3.0), 1e-8);
  EXPECT_NEAR(difference.interval.high, 2 + 4.30265273 / std::sqrt(3.0), 1e-8);
  EXPECT_NEAR(difference.p, 1 - 2 * std::sqrt(3.0) / std::sqrt(2 + 12.0), 1e-12);
}

// Variances 100 and 121, three scores of each: error sqrt(221 / 3), degrees 221^2 / (100^2 / 2 + 121^2 / 2).
TEST(UnpairedDifferenceTest, IsWelchs) {
  const Difference difference = UnpairedDifference({10, 20, 30}, {11, 22, 33}, 0.95);
  const double degrees = 221.0 * 221 * 2 / (100.0 * 100 + 121.0 * 121);
  EXPECT_EQ(difference.value, 2);
  EXPECT_NEAR(difference.deviation, std::sqrt(221.0), 1e-12);
  EXPECT_NEAR(difference.p, StudentTwoSided(2 / std::sqrt(221.0 / 3), degrees), 1e-14);
  EXPECT_NEAR(difference.interval.high, 2 + StudentQuantile(0.05, degrees) * std::sqrt(221.0 / 3), 1e-10);
}

TEST(DifferenceTest, FewOrEqualScoresAreJudgedWithoutADivisionByZero) {
  EXPECT_EQ(PairedDifference({1}, {2}, 0.95).p, 1);
  EXPECT_TRUE(std::isinf(PairedDifference({1}, {2}, 0.95).interval.low));
  EXPECT_EQ(PairedDifference({}, {}, 0.95).n, 0);
  EXPECT_EQ(PairedDifference({0.1, 0.2}, {0.1, 0.2}, 0.95).p, 1);
  EXPECT_EQ(UnpairedDifference({1, 2}, {3}, 0.95).p, 1);
  EXPECT_EQ(StandardDeviation({0.1, 0.1, 0.1}), 0);
}

// Two seeds with the same difference are no certainty: with a p of 0 no correction for several comparisons would help.
TEST(DifferenceTest, EqualDifferencesDecideByTheExactTestOfTheirSigns) {
  const Difference two = PairedDifference({0.25, 0.5}, {0.5, 0.75}, 0.95);
  EXPECT_EQ(two.p, 0.5);
  EXPECT_EQ(two.value, 0.25);
  EXPECT_TRUE(std::isinf(two.interval.low) && std::isinf(two.interval.high)) << "the spread is unknown, not 0";
  EXPECT_EQ(PairedDifference({1, 2, 3}, {2, 3, 4}, 0.95).p, 0.25);
  EXPECT_EQ(PairedDifference({1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5}, 0.95).p, 1.0 / 32);
  // Equal but for rounding: 0.4 - 0.3 > 0.3 - 0.2.
  const Difference rounded = PairedDifference({0.3, 0.2}, {0.4, 0.3}, 0.95);
  EXPECT_EQ(rounded.p, 0.5);
  EXPECT_EQ(rounded.deviation, 0);
  EXPECT_EQ(PairedDifference({0.1 + 0.2, 0.3}, {0.3, 0.3}, 0.95).p, 1) << "a difference of rounding is none";
  // Of six arrangements of four scores two are as extreme.
  EXPECT_NEAR(UnpairedDifference({1, 1}, {2, 2}, 0.95).p, 2.0 / 6, 1e-15);
  EXPECT_TRUE(std::isinf(UnpairedDifference({1, 1}, {2, 2}, 0.95).interval.low));
  EXPECT_EQ(UnpairedDifference({1, 1}, {1, 1, 1}, 0.95).p, 1);
}

RC_GTEST_PROP(DifferenceTest, SwappingTheSidesTurnsTheSign, ()) {
  const std::vector<double> a = Scores(*rc::gen::container<std::vector<int>>(5, rc::gen::inRange(-20, 20)));
  const std::vector<double> b = Scores(*rc::gen::container<std::vector<int>>(5, rc::gen::inRange(-20, 20)));
  for (const auto& difference : {PairedDifference, UnpairedDifference}) {
    const Difference there = difference(a, b, 0.9), back = difference(b, a, 0.9);
    RC_ASSERT(there.value == -back.value);
    RC_ASSERT(there.p == back.p);
    RC_ASSERT(there.interval.low == -back.interval.high);
    if (there.deviation == 0) continue;
    // A difference is beyond the level where the interval leaves 0 out.
    const bool excludes = there.interval.low > 0 || there.interval.high < 0;
    RC_ASSERT(excludes == (there.p < 0.1) || std::fabs(there.p - 0.1) < 1e-9);
  }
  RC_ASSERT(ProbabilityOfImprovement(a, b) + ProbabilityOfImprovement(b, a) == 1);
}

// Adding the same noise to both sides of each pair changes nothing of the paired difference.
RC_GTEST_PROP(DifferenceTest, WhatPairsShareDoesNotCount, ()) {
  const auto draw = [] { return Scores(*rc::gen::container<std::vector<int>>(6, rc::gen::inRange(-20, 20))); };
  const std::vector<double> a = draw(), b = draw(), shared = draw();
  std::vector<double> a_shared = a, b_shared = b;
  for (size_t i = 0; i < a.size(); ++i) {
    a_shared[i] += shared[i];
    b_shared[i] += shared[i];
  }
  RC_ASSERT(PairedDifference(a, b, 0.95).p == PairedDifference(a_shared, b_shared, 0.95).p);
}

// Holm's example: 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, and never decreasing.
TEST(HolmTest, AdjustsFromTheLeastUp) {
  EXPECT_EQ(HolmAdjusted({0.04, 0.01, 0.03, 0.02}), (std::vector<double>{0.06, 0.04, 0.06, 0.06}));
  EXPECT_EQ(HolmAdjusted({0.5, 0.9}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

RC_GTEST_PROP(HolmTest, KeepsTheOrderAndNeverLowersAValue, ()) {
  std::vector<double> p = Scores(*rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 101)));
  for (double& value : p) value /= 100;
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (size_t i = 0; i < p.size(); ++i) {
    RC_ASSERT(adjusted[i] >= p[i] && adjusted[i] <= 1);
    for (size_t j = 0; j < p.size(); ++j) RC_ASSERT(!(p[i] < p[j]) || adjusted[i] <= adjusted[j]);
  }
}

// By SciPy: nct.sf(t, d, shift) + nct.cdf(-t, d, shift), and ncf.sf(t^2, 1, d, shift^2) where that is not a number.
TEST(NoncentralTest, IsThatOfAnotherImplementation) {
  const struct {
    double difference, n, degrees, confidence, power;
  } cases[] = {{1, 10, 9, 0.95, 0.8030968566327219},     {1.58, 5, 4, 0.95, 0.7522723512807226},
               {3, 4, 3, 0.99, 0.6199332601167866},      {10, 2, 1, 0.95, 0.7328195898057123},
               {20, 2, 1, 0.95, 0.9735240461843051},     {500, 2, 1, 0.999, 0.733311228895549},
               {0.01, 78489, 78488, 0.95, 0.79999237610}};
  for (const auto& each : cases) {
    const double t = StudentQuantile(1 - each.confidence, each.degrees), shift = each.difference * std::sqrt(each.n);
    EXPECT_NEAR(NoncentralTwoSided(t, each.degrees, shift), each.power, 1e-9) << each.difference << " " << each.n;
    EXPECT_EQ(NoncentralTwoSided(t, each.degrees, -shift), NoncentralTwoSided(t, each.degrees, shift));
  }
  EXPECT_EQ(NoncentralTwoSided(2, 5, 0), StudentTwoSided(2, 5));
}

// The power of the number and of one seed less, by SciPy, is in the comments.
TEST(SeedsNeededTest, IsTheLeastNumberWithThePower) {
  EXPECT_EQ(SeedsNeeded(1, 1, 0.95, 0.8, /*is_paired=*/true), 10);  // 0.8031; 0.7480
  EXPECT_EQ(SeedsNeeded(-1, 1, 0.95, 0.8, /*is_paired=*/true), 10);
  EXPECT_EQ(SeedsNeeded(1.67, 1, 0.95, 0.8, /*is_paired=*/true), 6);   // of 5: 0.7947
  EXPECT_EQ(SeedsNeeded(2.12, 1, 0.95, 0.8, /*is_paired=*/true), 5);   // of 4: 0.7974
  EXPECT_EQ(SeedsNeeded(0.81, 1, 0.95, 0.8, /*is_paired=*/true), 15);  // of 14: 0.79986
  EXPECT_EQ(SeedsNeeded(0.1, 1, 0.95, 0.8, /*is_paired=*/true), 787);  // 0.80010; 0.79960
  EXPECT_EQ(SeedsNeeded(20, 1, 0.95, 0.8, /*is_paired=*/true), 2);     // 0.9735
  EXPECT_EQ(SeedsNeeded(1e9, 1, 0.999, 0.8, /*is_paired=*/true), 2);
  EXPECT_EQ(SeedsNeeded(1, std::sqrt(2.0), 0.95, 0.8, /*is_paired=*/false), 17);
  EXPECT_EQ(SeedsNeeded(0.7, 1, 0.95, 0.8, /*is_paired=*/false), 18);  // 0.8225; 0.7992
  EXPECT_EQ(SeedsNeeded(0.1, 1, 0.95, 0.8, /*is_paired=*/false), 786);
  EXPECT_EQ(SeedsNeeded(1, 0, 0.95, 0.8, /*is_paired=*/true), 6) << "2^-5 < 0.05";
  EXPECT_EQ(SeedsNeeded(1, 0, 0.95, 0.8, /*is_paired=*/false), 4) << "2 / C(8, 4) < 0.05";
  EXPECT_EQ(SeedsNeeded(0, 1, 0.95, 0.8, /*is_paired=*/true), 0);
  EXPECT_EQ(SeedsNeeded(1e-9, 1, 0.95, 0.8, /*is_paired=*/true), 0);
}

TEST(BootstrapTest, TheIntervalOfAMeanIsNearStudents) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(i % 8);
  const auto mean = [](const std::vector<std::vector<double>>& samples) { return Mean(samples[0]); };
  const ConfidenceInterval interval = BootstrapInterval({values}, 2000, 0.95, 0, mean);
  const double half = StudentQuantile(0.05, 39) * StandardDeviation(values) / std::sqrt(40.0);
  EXPECT_NEAR(interval.low, 3.5 - half, 0.12);
  EXPECT_NEAR(interval.high, 3.5 + half, 0.12);
  const ConfidenceInterval again = BootstrapInterval({values}, 2000, 0.95, 0, mean);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_NE(interval.low, BootstrapInterval({values}, 2000, 0.95, 1, mean).low) << "each estimate has its own draws";
}

}  // namespace
}  // namespace reprise
