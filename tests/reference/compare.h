#ifndef TESTS_REFERENCE_COMPARE_H_
#define TESTS_REFERENCE_COMPARE_H_

// Runs the learner and compares every step with the reference's computation from its record.

#include <vector>

#include "rl/config/config.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::reference {

// Returns a run of a model of some thousand weights: two training steps of 20 completions of up to 5 tokens, some of
// them truncated, each with two iterations of two minibatches.
rl::Config NanoRun();

// Returns the same with episodes of up to three turns.
rl::Config NanoTurnsRun();

// Returns a number that depends on the text; the rewards of four completions are seldom all equal.
double SomeReward(const rl::Completion& completion);

// Fails the test if a step's weights, moments or metrics differ, beyond the tolerances of compare.cc, from those that
// the reference computes from its record and the state before it. Returns the records.
std::vector<rl::StepRecord> ExpectTheReferencesSteps(const rl::Config& config, rl::testing::RunOptions how = {});

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_COMPARE_H_
