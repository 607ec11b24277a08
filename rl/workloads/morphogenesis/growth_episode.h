#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_EPISODE_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_EPISODE_H_

// An episode of a growing network as its controller experiences it. Everything here follows from the reports of the
// network and the chosen actions, so that a record of these is enough to compute the episode again, without the
// network.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/morphogenesis/life_cycle/host_task.h"
#include "rl/config/config.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/workloads/morphogenesis/growth_actions.h"
#include "rl/workloads/morphogenesis/growth_events.h"
#include "rl/workloads/morphogenesis/growth_report.h"
#include "rl/workloads/morphogenesis/growth_reward.h"

namespace reprise::rl {

// What all episodes of a run share.
struct GrowthRules {
  // InvalidArgument or NotFound for a configuration that describes no task, or no algorithm.
  static absl::StatusOr<GrowthRules> Of(const Config& config);

  // batches_per_epoch: of training.
  GrowthScale Scale(int64_t host_params) const;

  models::HostTask task;
  GrowthActions actions;
  LossRewardScale loss_scale;
  std::string reward;
  bool has_telemetry = true;
  bool is_bootstrapped = false;  // GrowthScale
  int64_t batches_per_epoch = 1;
};

// The state before a decision.
struct GrowthState {
  TrainingSignals signals;
  std::vector<float> feature_F;
  std::vector<uint8_t> allowed_A;
};

// Follows an episode while it is played, or from its reports.
class GrowthEpisode {
 public:
  // rules must outlive this.
  GrowthEpisode(const GrowthRules& rules, int64_t host_params) : rules_(rules), scale_(rules.Scale(host_params)) {}

  // Returns the state after an epoch. Internal: the state allows no action.
  absl::StatusOr<GrowthState> Observe(const GrowthReport& report);

  // Returns what an action earns in the state that was returned last.
  GrowthReward ComputeReward(const GrowthReport& report, GrowthActionKind action) const;

  // Returns the features after the last decision, when it has been carried out.
  std::vector<float> FinalFeatures(const GrowthReport& report) const;

  // Must be told of every action that is taken, in the state that was returned last.
  void Take(GrowthActionKind action) { germinated_ += action == GrowthActionKind::kGerminate ? 1 : 0; }

  const TrainingSignals& signals() const { return tracker_.signals(); }

 private:
  std::vector<float> ComputeFeatures(const GrowthReport& report) const;

  const GrowthRules& rules_;
  const GrowthScale scale_;
  SignalTracker tracker_;
  std::optional<SeedReport> seed_, seed_before_;  // in the state that was returned last, and in the one before
  int64_t germinated_ = 0;                        // seeds
};

// An episode that was played: T decisions, and a report for each and for the state after the last.
struct PlayedGrowth {
  int64_t host_params = 1;
  std::vector<GrowthReport> report_T1 = {};
  std::vector<int32_t> action_T = {};
  std::vector<float> logprob_T = {};  // empty where the policy did not choose
  std::vector<GrowthEvent> events = {};

  bool operator==(const PlayedGrowth&) const = default;
};

// What follows from an episode.
struct GrowthOutcome {
  FeatureDecisions decisions;
  std::vector<GrowthReward> reward_T;
  std::vector<TrainingSignals> signals_T;

  std::vector<double> earned_T() const;
  double total_return() const;  // the sum of what was earned
};

// DataLoss: another number of epochs than an episode has, an action that is not allowed in its state, or numbers out of
// bounds. Pure.
absl::StatusOr<GrowthOutcome> ComputeOutcome(const GrowthRules& rules, const PlayedGrowth& played);

// What is measured of an episode.
struct GrowthScore {
  double total_return = 0;
  double final_accuracy = 0;  // percent
  double added_params = 0;    // of fossils and the live seed at its end

  bool operator==(const GrowthScore&) const = default;
};
GrowthScore ScoreGrowth(const PlayedGrowth& played, const GrowthOutcome& outcome);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_EPISODE_H_
