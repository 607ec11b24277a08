#ifndef RL_SCHEDULE_ENTROPY_COEFFICIENT_H_
#define RL_SCHEDULE_ENTROPY_COEFFICIENT_H_

// The weight of the entropy bonus (TRL's entropy_coef) over a run. By default it decays by a factor each step, or with
// `steps` goes linearly to `end`, down to a floor. With `adaptive` a controller keeps the entropy near a target
// (adaptive entropy control; He et al., Skywork Open Reasoner 1, 2025, arXiv 2505.22312, as TRL's
// use_adaptive_entropy): after a step whose mean entropy was e,
//   c' = min(c + delta, max) where e <= target, else max(c - delta, min),
// and the bonus of the next step has weight c' where e <= target, else 0. Before the first step it has entropy_coef.
// Departures: one decision per training step, whose updates share the weight (TRL: one per update), from the entropy in
// the last update of each completion, which is the metric `entropy`.
// The controller is a state and a function that returns the next one; the state is stored in a checkpoint.

#include <cstdint>
#include <optional>

namespace reprise::rl {

struct EntropyOptions {
  double entropy_coef = 0.0;
  double decay = 1.0;  // 0 to 1
  double floor = 0.0;  // not above entropy_coef
  int64_t steps = 0;   // above 0: those after which the weight is `end`, in place of the decay
  double end = 0.0;
  // Whether the floor of a decision with fewer than all actions is higher (LossOptions::entropy_floor).
  bool floor_by_mask = false;
  // With `adaptive`, these are read and those above are not.
  bool adaptive = false;
  double target = 0.2;  // nats
  double delta = 0.005, min = 0.0, max = 1.0;

  bool operator==(const EntropyOptions&) const = default;
};

struct EntropyState {
  double coefficient = 0.0;
  bool is_low = true;  // whether the last entropy was at the target or below

  bool operator==(const EntropyState&) const = default;
};

EntropyState InitialEntropyState(const EntropyOptions& options);

// Returns the state after a step with this mean entropy (finite; checked). nullopt: no token was learned, and the state
// stays unchanged. Pure.
EntropyState NextEntropyState(const EntropyState& state, const EntropyOptions& options, std::optional<double> entropy);

// Returns the weight in the step after `steps_done` = k >= 0 others: with a controller that of its state, otherwise
// max(floor, entropy_coef decay^k), or max(floor, entropy_coef + (end - entropy_coef) min(1, k / steps)), with
// entropy_coef in place of a floor above it. Pure, the same bits on every machine.
double EntropyCoefficient(const EntropyOptions& options, const EntropyState& state, int64_t steps_done);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_ENTROPY_COEFFICIENT_H_
