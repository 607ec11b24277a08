#ifndef RL_LOSS_OPTIONS_H_
#define RL_LOSS_OPTIONS_H_

// The options of a policy loss, under TRL's names and with its defaults.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::rl {

// A token's term together with the divisor of the sum over tokens (rl/loss/aggregation.h).
enum class LossType { kGrpo, kBnpo, kDrGrpo, kDapo, kCispo, kSapo, kLuspo, kVespo, kRloo };

// A token's policy term; each has its own file. kTwoSided is PPO's clip, kNone the unclipped ratio, and kReinforce the
// log-prob without a ratio. kGmpo and kRegression have one term per sequence.
enum class Clip { kTwoSided, kCispo, kSapo, kVespo, kNone, kReinforce, kGmpo, kRegression };

// The divisor of the sum of the terms (rl/loss/aggregation.h).
enum class Aggregation { kGrpo, kBnpo, kDrGrpo, kDapo, kLuspo, kSum, kSequenceMean, kTurnMean };

// How the divergence from the reference is estimated (rl/loss/terms.h).
enum class KlEstimator { kK1, kK2, kK3, kExact };

// The level at which an importance ratio is computed (rl/loss/ratio.h).
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

  bool operator==(const VespoOptions&) const = default;
};

struct LossOptions {
  LossType loss_type = LossType::kDapo;
  std::optional<Clip> clip = {};                // nullopt: that of the loss type (EffectiveClip)
  std::optional<Aggregation> aggregation = {};  // nullopt: that of the loss type (EffectiveAggregation)
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
  // The least weight of a token's entropy is this times Sequence::entropy_floor_scale_T, where that is given.
  double entropy_floor = 0.0;
  double regression_beta = 1e-3;  // for kRegression (beta2)

  bool operator==(const LossOptions&) const = default;
};

// Return the effective choices: those that are set, otherwise the loss type's.
Clip EffectiveClip(const LossOptions& options);
Aggregation EffectiveAggregation(const LossOptions& options);

// Returns whether a completion has one term for all of its tokens, which must then share one advantage.
bool HasOneTerm(const LossOptions& options);

// Returns whether the loss reads the reference's log-probs for anything other than the divergence.
inline bool RegressesToReference(const LossOptions& options) { return EffectiveClip(options) == Clip::kRegression; }

// Returns InvalidArgument, with the key, its value and its range, for options from which no loss can be computed.
absl::Status ValidateLossOptions(const LossOptions& options);

}  // namespace reprise::rl

#endif  // RL_LOSS_OPTIONS_H_
