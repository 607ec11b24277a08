#include "rl/config/reward_choice.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// A reward times its weight is one that can be learned from (core/tensor/bounds.h), and no subnormal number.
constexpr double kLeastWeight = 1e-30, kMostWeight = 1e9;

bool IsWeight(double value) {
  return value == 0 || (std::fabs(value) >= kLeastWeight && std::fabs(value) <= kMostWeight);
}

absl::StatusOr<std::vector<double>> ParseWeights(const std::string& text, size_t rewards) {
  if (text.empty()) return std::vector<double>(rewards, 1.0);
  std::vector<double> weights;
  bool numbers = true;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    weights.emplace_back();
    numbers = numbers && absl::SimpleAtod(word, &weights.back()) && std::isfinite(weights.back());
    if (!numbers || IsWeight(weights.back())) continue;
    return absl::InvalidArgumentError(absl::StrCat("algorithm.reward_weights is \"", text,
                                                   "\"; expected 1e-30 to 1e9, ",
                                                   "or 0, and of either sign, in place of ", word));
  }
  if (numbers && weights.size() == rewards) return weights;
  return absl::InvalidArgumentError(absl::StrCat("algorithm.reward_weights is \"", text, "\"; expected ", rewards,
                                                 rewards == 1 ? " number" : " numbers",
                                                 ", one for each of algorithm.reward"));
}

}  // namespace

absl::StatusOr<RewardChoice> ParseRewardChoice(const RewardSelection& selection) {
  RewardChoice choice;
  choice.functions = absl::StrSplit(selection.functions, ' ');
  std::set<std::string> seen;
  for (const std::string& name : choice.functions) {
    if (seen.insert(name).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm.reward names ", name, " twice; give it a weight instead"));
  }
  ASSIGN_OR_RETURN(choice.weights_F, ParseWeights(selection.weights, choice.functions.size()));
  choice.names_F = choice.functions;
  if (selection.soft_punish_cache > 0) choice.names_F.emplace_back("soft_overlong");
  if (selection.missing_eos_penalty > 0) choice.names_F.emplace_back("missing_eos");
  choice.weights_F.resize(choice.names_F.size(), 1.0);
  return choice;
}

absl::Status CheckSomeRewardCounts(const RewardSelection& selection) {
  const absl::StatusOr<RewardChoice> choice = ParseRewardChoice(selection);
  if (!choice.ok()) return absl::OkStatus();
  const auto is_zero = [](double weight) { return weight == 0; };
  if (!std::all_of(choice->weights_F.begin(), choice->weights_F.end(), is_zero)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("algorithm.reward_weights is \"", selection.weights,
                                                 "\", so that every reward is 0: give at least one of "
                                                 "algorithm.reward another weight"));
}

}  // namespace reprise::rl
