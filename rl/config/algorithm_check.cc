#include "rl/config/algorithm_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/config/reward_choice.h"

namespace reprise::rl {
namespace {

// The divergence is subtracted from the reward where kl_in_reward says so, or where leave-one-out advantages of
// loss_type rloo are computed from it.
absl::Status CheckPlaceOfDivergence(const AlgorithmConfig& algorithm) {
  const bool is_rloo = algorithm.loss.loss_type == LossType::kRloo;
  if (is_rloo && algorithm.kl_in_reward == false) {
    return absl::InvalidArgumentError(
        "algorithm.kl_in_reward false cannot be combined with algorithm.loss_type rloo, whose terms are per "
        "completion: remove it, or choose another loss_type");
  }
  if (algorithm.advantage.reward_beta == 0 || algorithm.advantage.baseline == Baseline::kLeaveOneOut ||
      algorithm.kl_in_reward.has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm.beta ", algorithm.advantage.reward_beta,
      " with algorithm.loss_type rloo is subtracted from the reward, which needs algorithm.baseline leave_one_out and "
      "not with ",
      BaselineName(algorithm.advantage.baseline), ": set algorithm.baseline to leave_one_out, or algorithm.beta to 0"));
}

// The exact divergence is a function of the whole distribution at each token: it has no estimate in the reward and no
// ratio.
absl::Status CheckExactDivergence(const AlgorithmConfig& algorithm) {
  if (Estimator(algorithm) != KlEstimator::kExact) return absl::OkStatus();
  if (KlInReward(algorithm)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm.kl_estimator exact is added to the loss, but ",
        algorithm.loss.loss_type == LossType::kRloo ? "algorithm.loss_type rloo" : "algorithm.kl_in_reward true",
        " subtracts the divergence from the reward, as an estimate from sampled tokens: ",
        algorithm.loss.loss_type == LossType::kRloo ? "choose another algorithm"
                                                    : "set algorithm.kl_in_reward to false",
        ", or remove kl_estimator"));
  }
  if (!algorithm.loss.use_bias_correction_kl) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "algorithm.use_bias_correction_kl true weighs an estimate from sampled tokens, which algorithm.kl_estimator "
      "exact "
      "is not: remove one of them");
}

absl::Status CheckOptions(const AlgorithmConfig& algorithm) {
  RETURN_IF_ERROR(CheckPlaceOfDivergence(algorithm));
  RETURN_IF_ERROR(CheckExactDivergence(algorithm));
  RETURN_IF_ERROR(WithContext(ValidateImportanceOptions(algorithm.correction), "[algorithm]"));
  return WithContext(ValidateAlgorithm(algorithm), "[algorithm]");
}

}  // namespace

absl::Status CheckAlgorithm(const AlgorithmConfig& algorithm) {
  RETURN_IF_ERROR(ParseRewardChoice(algorithm.reward).status());
  RETURN_IF_ERROR(CheckOptions(algorithm));
  if (algorithm.kl.schedule == KlSchedule::kFixed) return absl::OkStatus();
  AlgorithmConfig later = algorithm;  // an initial weight of 0 may change
  SetBeta(std::max(Beta(algorithm), 1.0), &later);
  return CheckOptions(later);
}

models::ValueModel ChooseValueModel(const AlgorithmConfig& algorithm) {
  if (!NeedsValues(algorithm)) return models::ValueModel::kNone;
  return algorithm.has_value_network ? models::ValueModel::kNetwork : models::ValueModel::kHead;
}

}  // namespace reprise::rl
