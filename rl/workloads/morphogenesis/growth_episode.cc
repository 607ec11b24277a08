#include "rl/workloads/morphogenesis/growth_episode.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "models/morphogenesis/life_cycle/blueprints.h"
#include "rl/algorithm/algorithm.h"
#include "rl/workloads/morphogenesis/growth_features.h"
#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"

namespace reprise::rl {
namespace {

std::vector<std::string> BlueprintNames(models::Topology topology) {
  std::vector<std::string> names;
  for (const models::Blueprint& blueprint : models::Blueprints(topology)) names.push_back(blueprint.name);
  return names;
}

constexpr double kStoryRent = 0.01, kImageRent = 0.05;

}  // namespace

absl::StatusOr<GrowthRules> GrowthRules::Of(const Config& config) {
  const MorphogenesisConfig& growth = config.morphogenesis;
  ASSIGN_OR_RETURN(models::HostTask task, MakeHostTask(growth));
  const AlgorithmConfig& algorithm = config.algorithm;
  const models::Topology topology = task.shape.topology;
  const LossRewardScale loss_scale = {.baseline_loss = task.baseline_loss,
                                      .target_loss = task.target_loss,
                                      .delta_deviation = task.loss_delta_std,
                                      .rent = topology == models::Topology::kTransformer ? kStoryRent : kImageRent};
  const int64_t batches = (growth.train_examples + task.batch_size - 1) / task.batch_size;
  return GrowthRules{.task = std::move(task),
                     .actions = GrowthActions(BlueprintNames(topology)),
                     .loss_scale = loss_scale,
                     .reward = growth.reward,
                     .has_telemetry = growth.telemetry,
                     .is_bootstrapped = NeedsValues(algorithm) && algorithm.advantage.bootstrap_truncated,
                     .batches_per_epoch = batches};
}

GrowthScale GrowthRules::Scale(int64_t host_params) const {
  return {.max_epochs = task.max_epochs,
          .batches_per_epoch = batches_per_epoch,
          .max_steps = task.max_steps,
          .host_params = host_params,
          .is_bootstrapped = is_bootstrapped};
}

std::vector<float> GrowthEpisode::ComputeFeatures(const GrowthReport& report) const {
  return GrowthFeatures(scale_, rules_.actions.blueprints(), rules_.has_telemetry, tracker_.signals(), report);
}

absl::StatusOr<GrowthState> GrowthEpisode::Observe(const GrowthReport& report) {
  GrowthState state;
  state.signals = tracker_.Update(report.measures);
  seed_before_ = std::exchange(seed_, report.seed);
  state.feature_F = ComputeFeatures(report);
  state.allowed_A = rules_.actions.Mask(state.signals, report, germinated_);
  RETURN_IF_ERROR(RequireAction(state.allowed_A));
  return state;
}

GrowthReward GrowthEpisode::ComputeReward(const GrowthReport& report, GrowthActionKind action) const {
  const RewardedState state = {
      tracker_.signals(), report, seed_before_, scale_, action, /*by_contribution=*/rules_.reward == "contribution"};
  if (rules_.reward == "loss") return LossReward(state, rules_.loss_scale);
  const bool is_contribution_known = report.seed && report.seed->counterfactual;
  if (state.by_contribution && is_contribution_known) return ContributionReward(state);
  return ShapedReward(state);
}

std::vector<float> GrowthEpisode::FinalFeatures(const GrowthReport& report) const { return ComputeFeatures(report); }

std::vector<double> GrowthOutcome::earned_T() const {
  std::vector<double> earned;
  for (const GrowthReward& reward : reward_T) earned.push_back(reward.total());
  return earned;
}

double GrowthOutcome::total_return() const { return kernels::TreeSum(earned_T()); }

absl::StatusOr<GrowthOutcome> ComputeOutcome(const GrowthRules& rules, const PlayedGrowth& played) {
  const size_t epochs = static_cast<size_t>(rules.task.max_epochs);
  if (played.action_T.size() != epochs || played.report_T1.size() != epochs + 1) {
    return absl::DataLossError(absl::StrCat("an episode has ", played.action_T.size(), " decisions and ",
                                            played.report_T1.size(), " reports, but ", epochs, " epochs"));
  }
  GrowthOutcome outcome;
  GrowthEpisode episode(rules, played.host_params);
  for (size_t t = 0; t < epochs; ++t) {
    const GrowthReport& report = played.report_T1[t];
    ASSIGN_OR_RETURN(GrowthState state, episode.Observe(report));
    const int32_t action = played.action_T[t];
    if (action < 0 || action >= rules.actions.size() || state.allowed_A[action] == 0) {
      return absl::DataLossError(absl::StrCat("the action ", action, " after epoch ", t + 1, " is not allowed there"));
    }
    FeatureDecisions& decisions = outcome.decisions;
    decisions.feature_TF.insert(decisions.feature_TF.end(), state.feature_F.begin(), state.feature_F.end());
    decisions.allowed_TA.insert(decisions.allowed_TA.end(), state.allowed_A.begin(), state.allowed_A.end());
    decisions.action_T.push_back(action);
    const GrowthActionKind kind = rules.actions.At(action).kind;
    outcome.reward_T.push_back(episode.ComputeReward(report, kind));
    episode.Take(kind);
    outcome.signals_T.push_back(std::move(state.signals));
  }
  const std::vector<float> last = episode.FinalFeatures(played.report_T1.back());
  outcome.decisions.feature_TF.insert(outcome.decisions.feature_TF.end(), last.begin(), last.end());
  return outcome;
}

GrowthScore ScoreGrowth(const PlayedGrowth& played, const GrowthOutcome& outcome) {
  CHECK(!played.report_T1.empty());
  const GrowthReport& last = played.report_T1.back();
  const int64_t live = last.seed ? last.seed->params : 0;
  return {outcome.total_return(), last.measures.val_accuracy, static_cast<double>(last.fossil_params + live)};
}

}  // namespace reprise::rl
