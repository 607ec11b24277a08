#include "rl/config/algorithm_choice.h"

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// The divergence can be taken from the reward only by the baseline that knows of it.
absl::Status CheckDivergence(const AlgorithmRow& row) {
  if (row.advantage.reward_beta == 0 || row.advantage.baseline == Baseline::kLeaveOneOut) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("algorithm.beta ", row.advantage.reward_beta,
                                                 " with algorithm.loss_type rloo is taken from the reward, which "
                                                 "algorithm.name ",
                                                 row.name,
                                                 " does not do: set algorithm.name to rloo, or algorithm.beta to 0"));
}

}  // namespace

absl::StatusOr<AlgorithmRow> AlgorithmOf(const AlgorithmConfig& algorithm) {
  ASSIGN_OR_RETURN(AlgorithmRow row, FindAlgorithm(algorithm.name));
  if (!algorithm.loss_type.empty()) {
    ASSIGN_OR_RETURN(const LossType loss_type, ParseLossType(algorithm.loss_type));
    SetLossType(loss_type, &row);
  }
  const bool raised = row.loss.epsilon_high != row.loss.epsilon;
  if (algorithm.epsilon != -1) row.loss.epsilon = algorithm.epsilon;
  if (!raised) row.loss.epsilon_high = row.loss.epsilon;
  if (algorithm.epsilon_high != -1) row.loss.epsilon_high = algorithm.epsilon_high;
  if (algorithm.beta != -1) SetBeta(algorithm.beta, &row);
  if (!algorithm.scale_rewards.empty()) {
    ASSIGN_OR_RETURN(row.advantage.scale_rewards, ParseScaleRewards(algorithm.scale_rewards));
  }
  row.advantage.advantage_epsilon = algorithm.advantage_epsilon;
  RETURN_IF_ERROR(CheckDivergence(row));
  RETURN_IF_ERROR(WithContext(ValidateLossOptions(row.loss), "[algorithm]"));
  return row;
}

absl::StatusOr<std::vector<std::string>> FillAlgorithm(AlgorithmConfig* algorithm) {
  ASSIGN_OR_RETURN(const AlgorithmRow row, AlgorithmOf(*algorithm));
  std::vector<std::string> filled;
  const auto fill = [&filled](auto& key, const auto& unset, const auto& value, const char* name) {
    if (key != unset) return;
    key = value;
    filled.push_back(absl::StrCat("algorithm.", name));
  };
  fill(algorithm->loss_type, "", std::string(LossTypeName(row.loss.loss_type)), "loss_type");
  fill(algorithm->scale_rewards, "", std::string(ScaleRewardsName(row.advantage.scale_rewards)), "scale_rewards");
  fill(algorithm->epsilon, -1, row.loss.epsilon, "epsilon");
  fill(algorithm->epsilon_high, -1, row.loss.epsilon_high, "epsilon_high");
  fill(algorithm->beta, -1, Beta(row), "beta");
  return filled;
}

}  // namespace reprise::rl
