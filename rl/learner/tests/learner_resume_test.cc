// Tests that a run that is resumed from a state, on any number of ranks, equals an uninterrupted run.

#include <algorithm>
#include <atomic>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/learner/tests/learner_testing.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using testing::Outcome;
using testing::RunLearner;
using testing::SmallRun;

// Uses a reference model, which a state must contain: it differs from the current policy.
Config RunWithReference() {
  Config config = SmallRun();
  SetBeta(0.1, &config.algorithm);
  return config;
}

Outcome Uninterrupted(const Config& config) {
  Outcome outcome;
  outcome.sink.keep_states = true;
  EXPECT_OK(RunLearner(config, {}, &outcome));
  return outcome;
}

// Expects the records after the first `done` of `whole`, and its checkpoint.
void ExpectRest(const Outcome& whole, size_t done, const Outcome& rest) {
  ASSERT_EQ(rest.sink.records.size(), whole.sink.records.size() - done);
  for (size_t i = 0; i < rest.sink.records.size(); ++i) {
    const auto divergence = FirstDivergence(whole.sink.records[done + i], rest.sink.records[i], {});
    ASSERT_FALSE(divergence.has_value()) << divergence->ToString();
  }
  if (!rest.sink.records.empty()) {
    EXPECT_EQ(rest.sink.checkpoint, whole.sink.checkpoint);
  }
  EXPECT_EQ(rest.last_weights_R[0], whole.last_weights_R[0]);
}

TEST(LearnerResumeTest, ResumesFromEveryStepOnAnotherNumberOfRanks) {
  const Config config = RunWithReference();
  const Outcome whole = Uninterrupted(config);
  ASSERT_EQ(whole.sink.states.size(), 7u);
  for (size_t done = 1; done <= 7; ++done) {
    SCOPED_TRACE(done);
    Outcome rest;
    ASSERT_OK(
        RunLearner(config, {.ranks = static_cast<int>(done % 4) + 1, .from = &whole.sink.states[done - 1]}, &rest));
    ExpectRest(whole, done, rest);
  }
}

TEST(LearnerResumeTest, EveryPartOfAStateMatters) {
  const Config config = RunWithReference();
  const Outcome whole = Uninterrupted(config);
  const auto differs = [&](const std::function<void(LearnerState&)>& spoil) {
    LearnerState state = whole.sink.states[3];  // after the first training step
    spoil(state);
    Outcome rest;
    EXPECT_OK(RunLearner(config, {.from = &state}, &rest));
    return FirstDivergence(whole.sink.records[4], rest.sink.records.at(0), {}).has_value();
  };
  EXPECT_FALSE(differs([](LearnerState&) {}));
  // Changes a weight that learns: the embeddings of tokens that occur in no task do not.
  const std::vector<float>& moments = whole.sink.states[3].optimizer[0].values;
  const size_t at = static_cast<size_t>(std::find_if(moments.begin(), moments.end(), [](float m) { return m != 0; }) -
                                        moments.begin());
  EXPECT_TRUE(differs([&](LearnerState& state) { state.weights[at] += 1e-3f; }));
  ASSERT_EQ(whole.sink.states[3].optimizer.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(differs([&](LearnerState& state) { state.optimizer[i].values[at] += 1e-3f; })) << i;
  }
  EXPECT_TRUE(differs([&](LearnerState& state) { state.reference[at] += 1e-1f; }));
  EXPECT_TRUE(differs([](LearnerState& state) { ++state.updates; }));
  EXPECT_TRUE(differs([](LearnerState& state) { ++state.num_tokens; }));
}

TEST(LearnerResumeTest, TheStateContainsTheStateOfSchedules) {
  Config config = RunWithReference();
  config.algorithm.advantage.baseline = Baseline::kRunningMean;
  config.algorithm.kl.schedule = KlSchedule::kBanded;
  config.algorithm.kl.interval = 2, config.algorithm.kl.patience = 0, config.algorithm.kl.tolerance = 0;
  const Outcome whole = Uninterrupted(config);
  for (const LearnerState& state : whole.sink.states) EXPECT_EQ(state.schedules.empty(), state.phase == Phase::kSft);
  const std::vector<double>& after_first = whole.sink.states[3].schedules;
  // Coefficient, updates, the mean's two numbers, the adaptive entropy's two, one divergence.
  ASSERT_EQ(after_first.size(), 7u);
  for (const size_t i : {0, 1, 2, 3, 6}) {  // learner_choices_test resumes with adaptive entropy
    LearnerState state = whole.sink.states[3];
    state.schedules[i] += 1;
    Outcome rest;
    ASSERT_OK(RunLearner(config, {.from = &state}, &rest));
    bool differs = false;
    for (size_t k = 0; k < 3; ++k)
      differs |= FirstDivergence(whole.sink.records[4 + k], rest.sink.records[k], {}).has_value();
    EXPECT_TRUE(differs) << i;
  }
}

TEST(LearnerResumeTest, AnInterruptOnOneRankEndsTheRunOnAllAfterTheCurrentStep) {
  const Config config = SmallRun();
  const Outcome whole = Uninterrupted(config);
  std::atomic<bool> interrupt = false;
  Outcome outcome;
  outcome.sink.keep_states = true;
  const auto raise = [&](int rank, Phase phase, int64_t step, models::Model&, Episodes&) {
    if (rank == 2 && phase == Phase::kTraining && step == 2) interrupt = true;
  };
  ASSERT_OK(RunLearner(config, {.ranks = 3, .spoil = raise, .interrupt = &interrupt, .interrupted_rank = 2}, &outcome));
  ASSERT_EQ(outcome.sink.records.size(), 5u);  // three of the SFT phase, two of training
  EXPECT_TRUE(outcome.sink.received_last_step);
  Outcome rest;
  ASSERT_OK(RunLearner(config, {.from = &outcome.sink.states.back()}, &rest));
  ExpectRest(whole, 5, rest);
}

TEST(LearnerResumeTest, AFinishedRunMakesNoSteps) {
  const Config config = SmallRun();
  const Outcome whole = Uninterrupted(config);
  Outcome rest;
  ASSERT_OK(RunLearner(config, {.from = &whole.sink.states[4], .stop_after_step = 1}, &rest));
  EXPECT_TRUE(rest.sink.records.empty());
}

TEST(LearnerResumeTest, AnErrorAfterAStepNamesThatStep) {
  Outcome outcome;
  outcome.sink.checkpoint_status = absl::ResourceExhaustedError("the disk is full");
  EXPECT_EQ(RunLearner(SmallRun(), {}, &outcome).message(), "step 4: the disk is full");
}

}  // namespace
}  // namespace reprise::rl
