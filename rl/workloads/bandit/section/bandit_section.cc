#include "rl/workloads/bandit/section/bandit_section.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

using config::Between;

constexpr int64_t kWidest = int64_t{1} << 16, kMostWeights = int64_t{1} << 24;
constexpr size_t kMostLayers = 64;

}  // namespace

bool ShapesBanditPolicy(absl::string_view section, absl::string_view key) {
  return section == "bandit" && (key == "hidden" || key == "activation" || key == "layer_norm");
}

void VisitBandit(config::FieldList& list, BanditConfig& bandit, const config::Condition& scope) {
  list.Section(
          "bandit", config::Kind::kSemantic,
          "A contextual bandit (run.workload bandit): each problem is a vector of features, and the reward of an "
          "action is a linear function of them, scaled to 0 for the worst and 1 for the best of the allowed actions.")
      .OnlyFor(scope);
  list.Int("features", bandit.features, Between(1, kWidest), "Features of a problem, normally distributed.");
  list.Int("actions", bandit.actions, Between(2, kWidest), "Actions, of which one is the best.");
  list.Double(
      "masked_share", bandit.masked_share, {.low = 0, .high = 1, .without_high = true},
      "Share of the actions that a problem does not allow; the number of allowed ones is rounded, and at least 2.");
  list.Double("noise", bandit.noise, {.low = 1e-30, .high = 1e6, .or_exactly = 0},
              "Standard deviation of noise that is added to rewards; 0 = none.");
  list.String("hidden", bandit.hidden, "Widths of the policy's hidden layers, as \"64 64\"; empty = none.");
  list.Name("activation", bandit.activation, {"relu", "tanh"}, "Activation function of the hidden layers.");
  list.Bool("layer_norm", bandit.layer_norm, "Whether hidden layers are normalised (LayerNorm).");
}

absl::StatusOr<std::vector<int64_t>> HiddenWidths(const BanditConfig& bandit) {
  std::vector<int64_t> widths;
  for (const absl::string_view word : absl::StrSplit(bandit.hidden, ' ', absl::SkipEmpty())) {
    int64_t width = 0;
    if (widths.size() == kMostLayers) {
      return absl::InvalidArgumentError(
          absl::StrCat("bandit.hidden has more than ", kMostLayers, " layers; use fewer"));
    }
    if (!absl::SimpleAtoi(word, &width) || width < 1 || width > kWidest) {
      return absl::InvalidArgumentError(absl::StrCat("bandit.hidden: \"", Printable(word),
                                                     "\" is not a width from 1 to ", kWidest,
                                                     "; write the widths of the layers, as \"64 64\""));
    }
    widths.push_back(width);
  }
  return widths;
}

absl::Status CheckBandit(const BanditConfig& bandit) {
  ASSIGN_OR_RETURN(std::vector<int64_t> widths, HiddenWidths(bandit));
  if (bandit.features * bandit.actions > kMostWeights) {
    return absl::InvalidArgumentError(absl::StrCat("bandit.features ", bandit.features, " times bandit.actions ",
                                                   bandit.actions, " is more than ", kMostWeights,
                                                   ", the most weights of rewards: use fewer of one of them"));
  }
  widths.push_back(bandit.actions);
  int64_t weights = 0, inputs = bandit.features;
  for (const int64_t width : widths) {
    weights += inputs * width;
    inputs = width;
  }
  if (weights <= kMostWeights) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("[bandit] describes a network of ", weights, " weights; the most are ",
                                                 kMostWeights, ": use narrower hidden layers, or fewer"));
}

}  // namespace reprise::rl
