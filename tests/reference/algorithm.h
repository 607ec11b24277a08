#ifndef TESTS_REFERENCE_ALGORITHM_H_
#define TESTS_REFERENCE_ALGORITHM_H_

// A second implementation of the algorithms, in double, from docs/algorithms.md, the papers that it names, and the
// description of the [algorithm] keys in docs/configuration.md. Shares only the configuration and the records with rl/.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rl/config/config.h"
#include "rl/record/step_record.h"
#include "tests/reference/tape.h"

namespace reprise::reference {

// A row of the table of docs/algorithms.md, by the names of the keys that override it.
struct Row {
  std::string baseline = "group_mean", scale_rewards = "group", level = "token", clip = "two_sided";
  std::string aggregation = "dapo", kl_estimator = "k3";
  double epsilon = 0.2, epsilon_high = 0.2, beta = 0, gamma = 1;
  bool kl_in_reward = false, use_bias_correction_kl = true, whiten_tokens = false;
  int64_t num_iterations = 1;

  // Return whether each token has its own advantage, and whether these are computed from rewards of tokens.
  bool by_token() const { return whiten_tokens || baseline == "value" || by_step(); }
  bool has_token_rewards() const { return baseline == "value" || (whiten_tokens && baseline == "none") || by_step(); }
  // Returns whether each step (turn, or token without turns) is compared with the same step of others.
  bool by_step() const { return baseline == "step_group_mean" || baseline == "step_leave_one_out"; }

  bool operator==(const Row&) const = default;
};

// Returns what the page says of the algorithm of this name, and what the keys of a configuration say.
Row PageRow(const std::string& name);
Row RowOf(const rl::AlgorithmConfig& algorithm);

// Returns algorithm.reward_weights (1 where it gives none) for the first `functions` reward functions.
Vector RewardWeights(const rl::AlgorithmConfig& algorithm, size_t functions);

// Returns the reward clipped to reward_clip_range.
double Clipped(const rl::AlgorithmConfig& algorithm, double reward);

// The input and results of the computation for one episode.
struct Episode {
  int64_t prompt = 0;
  std::vector<int32_t> tokens;
  std::vector<size_t> own, learned;  // indices of the policy's tokens, and of those that are learned
  std::vector<size_t> turn_T;        // the turn of each token
  size_t turns = 0;                  // 0: a completion
  Vector rewards_F;
  double reward = 0;  // weighted sum
  bool terminated = false, invalid = false;
  // With turn_rewards "turn": the environment's rewards by turn, and by token. There a reward is at the last token that
  // is learned up to its turn's end.
  Vector earned_K, earned_T;
  // By learned token: log-probabilities of the sampling policy and of the reference, and the values before the step's
  // updates. `bootstrap` is the value of the state after a truncated episode.
  Vector old_L, entropy_L, ref_L, value_L;
  double bootstrap = 0;

  // Results of the computation.
  bool left_out = false;  // excluded from all averages; then no token counts either
  bool masked = false;    // no token counts
  Vector advantage_L, return_L;

  size_t counted() const { return masked ? 0 : learned.size(); }
};

// Returns the inputs that a run of that configuration recorded for an episode.
Episode EpisodeOf(const rl::Config& config, const rl::EpisodeRecord& record);

// Returns the estimate k1, k2 or k3 of the divergence from the log-probabilities under policy and reference.
double Divergence(const std::string& estimator, double logprob, double ref);

// Sets left_out, masked, advantage_L and return_L of all episodes of a step.
struct AdvantageContext {
  const rl::Config& config;
  const Row& row;           // with the step's beta
  double running_mean = 0;  // of earlier steps' rewards
  Vector baseline_P = {};   // by prompt, for a greedy or optimal baseline; NaN: there is none
};
void SetAdvantages(const AdvantageContext& context, std::vector<Episode>* episodes);

// The counts by which an update's loss is divided.
struct Normalizer {
  double completions = 0;        // completions of the minibatch that are not left out
  double with_tokens = 0;        // of these, completions with a token that counts
  double tokens = 0;             // tokens of the minibatch that count
  double tokens_of_share = 0;    // tokens of the step that count, divided by the number of minibatches
  double entropy_threshold = 0;  // of top_entropy_quantile
};

// The model's results for an episode's learned tokens.
struct Scores {
  Var logprob_L, entropy_L;
  std::optional<Var> exact_kl_L, value_L;
};

struct EpisodeLoss {
  Var loss;
  double policy = 0, value = 0;  // parts of the loss
  // For metrics: sums over tokens that count, and over ratios.
  double tokens = 0, entropy = 0, kl = 0, approx_kl = 0, abs_max = 0;
  double ratios = 0, low = 0, high = 0, dual = 0, value_clipped = 0, phi = 0;
  double ratio = 0, squares = 0;  // sums over tokens of the ratio to the sampling policy, and of its logarithm^2
  double implicit_reward = 0;     // of a regression
};

struct LossContext {
  const rl::Config& config;
  const Row& row;
  double entropy_coef = 0;
  bool is_first = false;  // the step's first update: the policy is the sampling policy
  Normalizer normalizer;
};
EpisodeLoss LossOf(const LossContext& context, const Episode& episode, const Scores& scores);

// Plain statistics; the deviation divides by the count minus ddof.
double Mean(const Vector& values);
double Deviation(const Vector& values, double ddof);
bool AllEqual(const Vector& values);
double Quantile(Vector values, double share);  // linearly interpolated

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_ALGORITHM_H_
