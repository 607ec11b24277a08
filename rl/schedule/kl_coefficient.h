#ifndef RL_SCHEDULE_KL_COEFFICIENT_H_
#define RL_SCHEDULE_KL_COEFFICIENT_H_

// The weight of the divergence from the reference over a run:
//   fixed          always the same
//   linear         from `initial` to `final` over the run's updates
//   proportional   c' = c (1 + clip(KL / target - 1, -0.2, 0.2) samples / horizon)   (Ziegler et al., 2019,
//   section 2.2;
//                  TRL's and verl's AdaptiveKLController)
//   banded         every `interval` updates, after `patience` of them, by the mean KL of the last `interval`: above
//                  target + tolerance times `rate`, below target - tolerance divided by it, within [low, high]
// A controller is a state and a function that returns the next one; the state is stored in a checkpoint.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"

namespace reprise::rl {

// In the order of the names of algorithm.kl_schedule.
enum class KlSchedule { kFixed, kLinear, kProportional, kBanded };

struct KlOptions {
  KlSchedule schedule = KlSchedule::kFixed;
  double initial = 0.0;
  double final = 0.0;         // of kLinear
  int64_t total_updates = 1;  // of kLinear
  double target = 0.01;       // of kProportional and kBanded
  double horizon = 10000;     // of kProportional, in samples
  // Of kBanded.
  double tolerance = 0.005, rate = 1.5, low = 0.001, high = 0.1;
  int64_t interval = 10, patience = 100;

  bool operator==(const KlOptions&) const = default;
};

// Returns InvalidArgument, with key, value and range.
absl::Status ValidateKlOptions(const KlOptions& options);

struct KlState {
  double coefficient = 0.0;
  int64_t updates = 0;                 // done so far
  std::vector<double> recent_kl = {};  // for kBanded: since the last decision, at most `interval`

  bool operator==(const KlState&) const = default;
};

// Options must be valid.
KlState InitialKlState(const KlOptions& options);

// Returns the state after an update with mean divergence `kl` (finite; checked) over `num_samples` samples. nullopt: no
// token was learned; controllers stay unchanged, while kLinear continues. Pure.
KlState NextKlState(const KlState& state, const KlOptions& options, std::optional<double> kl, int64_t num_samples);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_KL_COEFFICIENT_H_
