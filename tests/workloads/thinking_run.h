#ifndef TESTS_WORKLOADS_THINKING_RUN_H_
#define TESTS_WORKLOADS_THINKING_RUN_H_

// Small runs of a model that thinks, with their states.

#include <string>
#include <vector>

#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/learner/learner_state.h"
#include "tests/workloads/training.h"

namespace reprise::rl {

// Returns the configuration of a run of two steps. thoughts: further keys of [quiet_star]; more: further sections.
Config MakeThoughtsConfig(const std::string& more = "", const std::string& thoughts = "");

// Keeps a state after each step, too.
class StateSink : public TableSink {
 public:
  bool WantsState(Phase, int64_t, bool) override { return true; }
  absl::Status SaveState(const PolicyState& state) override;

  FlatLayout layout;  // of the policy
  std::vector<LearnerState> states;

 private:
  std::vector<float> Flat(const std::vector<TensorView>& tensors) const;
};

// Runs to the end, from a state unless it is null; returns the final weights. A run that fails fails the test.
std::vector<float> RunFrom(const Config& config, const LearnerState* from, StateSink* sink);

}  // namespace reprise::rl

#endif  // TESTS_WORKLOADS_THINKING_RUN_H_
