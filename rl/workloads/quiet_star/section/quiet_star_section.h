#ifndef RL_WORKLOADS_QUIET_STAR_SECTION_QUIET_STAR_SECTION_H_
#define RL_WORKLOADS_QUIET_STAR_SECTION_QUIET_STAR_SECTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"
#include "rl/evaluation/scores/anti_theater.h"
#include "rl/reward/thought_reward.h"
#include "rl/schedule/trend_rules.h"

namespace reprise::rl {

// Where the model thinks.
enum class ThoughtPositions { kEvery, kDifficult, kAnswer };
// How a thought changes what is predicted.
enum class ThoughtMixing { kScalar, kAttention };
// The tokens whose cross-entropy counts.
enum class CountedTokens { kText, kAnswer };
// The direction of the divergence between the policy and its frozen copy.
enum class KlDirection { kPolicyFromCopy, kCopyFromPolicy };

struct QuietStarConfig {
  // Where and how long the model thinks.
  ThoughtPositions positions = ThoughtPositions::kEvery;
  double injection_threshold = 0.6;
  int64_t injection_interval = 3;
  bool attention_dispersion = false;
  int64_t min_thought_length = 10, max_thought_length = 20;
  std::string delimiters_like = "";  // "": drawn like the other thinking tokens
  double delimiter_gradient_weight = 100;

  // How thoughts change predictions.
  ThoughtMixing mixing = ThoughtMixing::kScalar;
  bool bounded_mixing = false;
  int64_t mixing_heads = 8;
  double mixing_dropout = 0.1;

  // What thoughts are rewarded for, and the losses of the text.
  int64_t tokens_ahead = 4;
  ThoughtReward reward = ThoughtReward::kNonMyopic;
  bool clamp_rewards = true;
  double reward_weight = 1;
  double base_weight = 0.5, talk_weight = 0.5;
  CountedTokens counted = CountedTokens::kText;
  std::string value_hidden = "256 256";  // "": none
  bool values_train_decoder = false;
  KlDirection kl_direction = KlDirection::kPolicyFromCopy;

  // Prompt baking, in the SFT phase.
  double plain_share = 0.5;
  int64_t baking_examples = 1600;  // 0: every example is a new one
  double baking_convergence = 0;   // 0: the SFT phase takes all of its steps
  int64_t baking_window = 10;

  // Tests whether thoughts matter.
  bool anti_theater = false;
  AntiTheaterOptions theater = {};
  int64_t anti_theater_patience = 0;  // 0: never ends the run

  bool paper_metrics = false;

  bool operator==(const QuietStarConfig&) const = default;
};

// What other sections decide of the keys of [quiet_star].
struct ThoughtConditions {
  config::Condition scope;             // that a run has these keys
  config::Condition values, sft;       // that it has a value function, or an SFT phase
  config::Condition exact_divergence;  // that the loss has an exact divergence
};

// Lists the keys of [quiet_star].
void VisitQuietStar(config::FieldList& list, QuietStarConfig& quiet_star, const ThoughtConditions& when);

// Returns whether the key describes the model that thinks, not the problem. Pure.
bool ShapesThoughtPolicy(absl::string_view section, absl::string_view key);

// Returns the widths in quiet_star.value_hidden. InvalidArgument, naming the word, for one that is no width.
absl::StatusOr<std::vector<int64_t>> ValueWidths(const QuietStarConfig& quiet_star);

// Returns the names of the metrics of an evaluation that compare thinking with not thinking. Pure.
std::vector<std::string> ThoughtScoreNames(const QuietStarConfig& quiet_star);

// Returns what a run of thoughts keeps from step to step. Pure.
WorkloadTrends ThoughtTrends(const QuietStarConfig& quiet_star);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_SECTION_QUIET_STAR_SECTION_H_
