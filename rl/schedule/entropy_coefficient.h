#ifndef RL_SCHEDULE_ENTROPY_COEFFICIENT_H_
#define RL_SCHEDULE_ENTROPY_COEFFICIENT_H_

#include <cstdint>

namespace reprise::rl {

// The weight of the entropy bonus (TRL's entropy_coef): decays by a factor each update, down to a floor.
struct EntropyOptions {
  double entropy_coef = 0.0;
  double decay = 1.0;  // 0 to 1
  double floor = 0.0;  // not above entropy_coef
};

// max(floor, entropy_coef decay^k) for the update that follows `updates_done` = k >= 0 others; entropy_coef itself
// where the floor is above it. Pure, the same bits on every machine.
double EntropyCoefficient(const EntropyOptions& options, int64_t updates_done);

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_ENTROPY_COEFFICIENT_H_
