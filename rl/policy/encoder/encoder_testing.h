#ifndef RL_POLICY_ENCODER_ENCODER_TESTING_H_
#define RL_POLICY_ENCODER_ENCODER_TESTING_H_

// A small encoder's policy, a shard of decisions by texts, and a pass over it with a loss of every kind.

#include <memory>
#include <vector>

#include "models/decoder/config.h"
#include "rl/policy/encoder/encoder_policy.h"

namespace reprise::rl::testing {

inline constexpr int64_t kActions = 4;
inline constexpr float kTemperature = 0.7f;

// A configuration whose weights are large enough that every term matters, load balancing included.
models::DecoderConfig SmallEncoder();

// Returns a policy with random parameters in all tensors, refreshed.
std::unique_ptr<EncoderPolicy> RandomPolicy(const models::DecoderConfig& config, bool has_values, uint64_t seed);

// Groups of two episodes of 1, 2, 3, 1, ... decisions by one of seven texts of 1 to 9 tokens: most are read several
// times, also by different episodes and groups. The last episode is truncated, in a state that has a text of its own.
class TextShard {
 public:
  TextShard(const models::DecoderConfig& config, int64_t groups);

  const ShardInput& input() const { return input_; }
  const std::vector<EpisodeRecord>& episode_N() const { return episode_N_; }
  std::vector<std::vector<int32_t>> DecisionTexts() const;  // of all decisions, in order

 private:
  std::vector<TaskRecord> task_P_;
  std::vector<EpisodeRecord> episode_N_;
  ShardInput input_;
};

// The weight of a decision's log-probability in the loss.
inline double WeightOf(int64_t episode, size_t t) {
  return 0.3 * static_cast<double>(episode % 5) - 0.5 + 0.125 * static_cast<double>(t);
}
inline constexpr double kEntropyWeight = 0.25, kDivergenceWeight = 0.5;  // the value's is value / 2

struct PassOptions {
  PassMemory memory = {};
  Team team = {};
  const Policy* reference = nullptr;
  bool with_values = true;
  bool only_divergence = false;  // the loss is the sum of divergences
  PassTotals totals = {};        // empty: no load balancing
  std::vector<int>* finished = nullptr;
};

struct Pass {
  std::vector<float> gradient, logprobs, divergences, values;
  std::vector<double> sum_M;
  PassCounts counts;
  int64_t encoded_texts = 0;
};

// Elements of the gradient between tensors are 0.
Pass RunPass(const EncoderPolicy& policy, const ShardInput& shard, const PassOptions& options = {});

// Returns the totals of a step that consists of the shard.
PassTotals ComputeTotals(const EncoderPolicy& policy, const ShardInput& shard);

}  // namespace reprise::rl::testing

#endif  // RL_POLICY_ENCODER_ENCODER_TESTING_H_
