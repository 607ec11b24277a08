#ifndef RL_WORKLOADS_BANDIT_BANDIT_PROBLEM_H_
#define RL_WORKLOADS_BANDIT_BANDIT_PROBLEM_H_

// The problems of the contextual bandit. In a problem with the features x, action a has the score s_a = w_a . x. Its
// reward is the score, rescaled so that the worst of the allowed actions has 0 and the best has 1; where all scores are
// equal, every allowed action has 1.

#include <cstdint>
#include <vector>

#include "core/random/draw.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Token: index of the draw: the rewards of a bandit, the same for all of its problems.
inline constexpr Purpose kBanditRewards{10};

struct BanditProblem {
  uint64_t step = 0;  // of the run, to which the noise of its rewards belongs
  std::vector<float> feature_F;
  std::vector<uint8_t> allowed_A;  // 1 where an action is allowed, else 0; at least two are
  std::vector<double> reward_A;    // 0 where an action is not allowed
  int32_t best = 0;                // the allowed action of reward 1; of several, the first

  bool operator==(const BanditProblem&) const = default;
};

// Makes the problems of a run. Its functions are pure and thread-safe: what they return follows from the configuration,
// the seed and their arguments.
class BanditWorld {
 public:
  // Draws the weights w, which all problems of a run share.
  BanditWorld(const BanditConfig& config, uint64_t seed);

  // Returns the problem of a prompt. purpose: kTask in training, kSftTask in the SFT phase, kEvaluationTask in an
  // evaluation.
  BanditProblem ProblemAt(Purpose purpose, uint64_t step, uint64_t prompt) const;

  // Returns the noise that training adds to the reward of one sample: normal, with the standard deviation bandit.noise.
  double NoiseAt(uint64_t step, uint64_t prompt, uint64_t sample) const;

 private:
  // Returns the standard normal number with this index at a place.
  double Normal(Purpose purpose, DrawAt at, uint64_t index) const;

  const BanditConfig config_;
  const uint64_t seed_;
  std::vector<double> weight_AF_;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_BANDIT_BANDIT_PROBLEM_H_
