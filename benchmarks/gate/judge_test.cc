#include "benchmarks/gate/judge.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace reprise::gate {
namespace {

constexpr Bound kAtMostOne = {.at_least = false, .ratio = 1};

TEST(JudgeTest, AClearViolationFails) {
  const Judgement slow = Judge({{12, 12.1, 12.2, 12.3, 12.4}, {10, 10.1, 10.2, 10.3, 10.4}}, {false, 1.1});
  EXPECT_EQ(slow.outcome, Outcome::kFell);
  EXPECT_NEAR(slow.ratio, 12.2 / 10.2, 1e-12);
  EXPECT_NEAR(slow.chance, 1.0 / 252, 1e-12);
  EXPECT_EQ(Judge({{5, 5.1, 5.2, 5.3, 5.4}, {10, 10.1, 10.2, 10.3, 10.4}}, {true, 0.6}).outcome, Outcome::kFell);
}

TEST(JudgeTest, AGateHoldsWithinItsBound) {
  const Samples samples = {{12, 12.1, 12.2, 12.3, 12.4}, {10, 10.1, 10.2, 10.3, 10.4}};
  EXPECT_EQ(Judge(samples, {false, 1.3}).outcome, Outcome::kHeld);
  EXPECT_EQ(Judge(samples, {true, 1.1}).outcome, Outcome::kHeld);
}

TEST(JudgeTest, AViolationThatNoiseExplainsIsUncertain) {
  const Judgement judgement = Judge({{9, 11, 12, 10, 13}, {10, 12, 9, 11, 10.5}}, kAtMostOne);
  EXPECT_GT(judgement.ratio, 1);
  EXPECT_EQ(judgement.outcome, Outcome::kUncertain);
}

TEST(JudgeTest, AGateCanFailWithTheFewestRepetitions) {
  Samples samples;
  for (int i = 0; i < kFewestRepetitions - 1; ++i) {
    samples.numerator.push_back(20 + i);
    samples.denominator.push_back(1 + i);
  }
  EXPECT_EQ(Judge(samples, kAtMostOne).outcome, Outcome::kUncertain);
  samples.numerator.push_back(30);
  samples.denominator.push_back(5);
  EXPECT_EQ(Judge(samples, kAtMostOne).outcome, Outcome::kFell);
}

// Simulates a typical machine: 3% of noise, one measurement in ten slower by up to half, and a clock that drifts by a
// fifth while both sides are measured alternately.
Samples NoisySamples(double ratio, int repetitions, std::mt19937& generator) {
  std::normal_distribution<double> jitter(0, 0.03);
  std::uniform_real_distribution<double> uniform(0, 1);
  Samples samples;
  for (int i = 0; i < repetitions; ++i) {
    const double drift = 1 + 0.2 * i / repetitions;
    const auto measure = [&](double seconds) {
      const double hiccup = uniform(generator) < 0.1 ? 0.5 * uniform(generator) : 0;
      return seconds * drift * std::exp(jitter(generator)) * (1 + hiccup);
    };
    samples.numerator.push_back(measure(ratio));
    samples.denominator.push_back(measure(1));
  }
  return samples;
}

double PartThatFell(double ratio, const Bound& bound, int repetitions) {
  constexpr int kTrials = 4000;
  std::mt19937 generator(1);
  int fell = 0;
  for (int i = 0; i < kTrials; ++i) {
    fell += Judge(NoisySamples(ratio, repetitions, generator), bound).outcome == Outcome::kFell;
  }
  return static_cast<double>(fell) / kTrials;
}

TEST(NoiseTest, NoiseAloneDoesNotMakeAGateFail) {
  for (int repetitions : {5, 7, 11}) {
    EXPECT_LE(PartThatFell(1.0, {false, 1.0}, repetitions), kSignificance * 1.5) << repetitions;  // exactly at it
    EXPECT_LE(PartThatFell(1.0, {true, 1.0}, repetitions), kSignificance * 1.5) << repetitions;
    EXPECT_LE(PartThatFell(1.0, {false, 1.1}, repetitions), 0.0005) << repetitions;  // with some margin
    EXPECT_LE(PartThatFell(1.0, {true, 0.9}, repetitions), 0.0005) << repetitions;
  }
}

TEST(NoiseTest, ARealRegressionFailsDespiteTheNoise) {
  EXPECT_GE(PartThatFell(1.6, {false, 1.1}, 7), 0.95);
  EXPECT_GE(PartThatFell(0.6, {true, 0.9}, 7), 0.95);
  EXPECT_GE(PartThatFell(1.4, {false, 1.1}, 11), 0.95);
}

}  // namespace
}  // namespace reprise::gate
