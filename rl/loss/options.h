#ifndef RL_LOSS_OPTIONS_H_
#define RL_LOSS_OPTIONS_H_

// The choices of a policy loss, under TRL's names and with its defaults.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::rl {

// What a token's term is, and what its sum over tokens is divided by (rl/loss/aggregation.h).
enum class LossType { kGrpo, kBnpo, kDrGrpo, kDapo, kCispo, kSapo, kLuspo, kVespo, kRloo };

// What a token's policy term is; each has a file of its own. kTwoSided is PPO's clip, kNone the ratio as it is, and
// kReinforce the log-prob without any ratio. kGmpo and kRegression are one term a sequence.
enum class Clip { kTwoSided, kCispo, kSapo, kVespo, kNone, kReinforce, kGmpo, kRegression };

// What the sum of the terms is divided by (rl/loss/aggregation.h).
enum class Aggregation { kGrpo, kBnpo, kDrGrpo, kDapo, kLuspo, kSum, kSequenceMean, kTurnMean };

// How the divergence from the reference is estimated (rl/loss/divergence.h).
enum class KlEstimator { kK1, kK2, kK3, kExact };

// What an importance ratio is of (rl/loss/ratio.h).
enum class ImportanceLevel { kToken, kSequence, kSequenceSum };

// "grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo", "rloo".
absl::StatusOr<LossType> ParseLossType(absl::string_view name);
absl::string_view LossTypeName(LossType type);
std::vector<absl::string_view> LossTypeNames();  // in the order of the enumeration

// "token", "sequence", "sequence_sum".
absl::StatusOr<ImportanceLevel> ParseImportanceLevel(absl::string_view name);
absl::string_view ImportanceLevelName(ImportanceLevel level);

// "two_sided", "cispo", "sapo", "vespo", "none", "reinforce", "gmpo", "regression".
absl::StatusOr<Clip> ParseClip(absl::string_view name);
absl::string_view ClipName(Clip clip);

// "grpo", "bnpo", "dr_grpo", "dapo", "luspo", "sum", "sequence_mean", "turn_mean".
absl::StatusOr<Aggregation> ParseAggregation(absl::string_view name);
absl::string_view AggregationName(Aggregation aggregation);

// "k1", "k2", "k3", "exact".
absl::StatusOr<KlEstimator> ParseKlEstimator(absl::string_view name);
absl::string_view KlEstimatorName(KlEstimator estimator);

// Shape of VESPO's weight for advantages >= 0 and < 0.
struct VespoOptions {
  double k_pos = 2.0, lambda_pos = 3.0;
  double k_neg = 3.0, lambda_neg = 2.0;
};

struct LossOptions {
  LossType loss_type = LossType::kDapo;
  std::optional<Clip> clip = {};                // none: the loss type's own (ClipOf)
  std::optional<Aggregation> aggregation = {};  // none: the loss type's own (AggregationOf)
  ImportanceLevel importance_sampling_level = ImportanceLevel::kToken;
  double epsilon = 0.2;                  // the ratio is clipped below 1 - epsilon
  double epsilon_high = 0.2;             // and above 1 + epsilon_high; CISPO: the cap of the ratio itself
  std::optional<double> delta = {};      // two-sided clipping: cap of the unclipped branch's ratio
  std::optional<double> dual_clip = {};  // verl's clip_ratio_c: a term with A < 0 is at most this times -A
  double beta = 0.0;                     // weight of the divergence from the reference, per token
  KlEstimator kl_estimator = KlEstimator::kK3;
  bool use_bias_correction_kl = true;
  int64_t max_completion_length = 1;  // dr_grpo's constant divisor
  double sapo_temperature_pos = 1.0, sapo_temperature_neg = 1.05;
  VespoOptions vespo = {};
  std::optional<double> off_policy_mask_threshold = {};
  double top_entropy_quantile = 1.0;  // < 1: only tokens of this top share of entropies carry the policy term
  double entropy_coef = 0.0;          // weight of the entropy bonus
  double regression_beta = 1e-3;      // of kRegression (beta2)
};

// The choices that the options come to: their own, or else the loss type's.
Clip ClipOf(const LossOptions& options);
Aggregation AggregationOf(const LossOptions& options);

// Whether a completion has one term for all of its tokens, for which they must share one advantage.
bool HasOneTerm(const LossOptions& options);

// Whether the loss reads the reference's log-probs, other than for the divergence.
inline bool RegressesToReference(const LossOptions& options) { return ClipOf(options) == Clip::kRegression; }

// InvalidArgument, with the key, its value and its range, for what no loss can be computed from.
absl::Status ValidateLossOptions(const LossOptions& options);

}  // namespace reprise::rl

#endif  // RL_LOSS_OPTIONS_H_
