#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_WORKLOAD_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/workload/run_parts.h"
#include "rl/workload/workload.h"
#include "rl/workloads/morphogenesis/growth_controllers.h"
#include "rl/workloads/morphogenesis/growth_episode.h"
#include "rl/workloads/morphogenesis/growth_examples.h"
#include "rl/workloads/morphogenesis/growth_metrics.h"

namespace reprise::rl {

// Networks that grow: an episode is the training of a host, and a decision follows each of its epochs. Episodes are
// dealt to threads whole. A replay takes what hosts reported from the record, and computes all else again; hosts are
// only played live, and in evaluations. The SFT phase learns the choices of the heuristic controller.
class GrowthWorkload : public Workload {
 public:
  // The arguments, and what `run` refers to, must outlive this.
  GrowthWorkload(const WorkloadRun& run, CategoricalPolicy& policy, const GrowthRules& rules,
                 const GrowthExamples& examples, bool earns_by_turn);

  Policy& policy() override { return policy_; }
  const RewardColumns& rewards() const override { return rewards_; }
  bool may_lack_decisions() const override { return false; }

  absl::StatusOr<StepEpisodes> Draw(const StepPart& part) override;
  absl::Status Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) override;
  // InvalidArgument: there are none.
  absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest& request,
                                                      const std::vector<TaskRecord>& task_P) override;
  absl::StatusOr<Metrics> Evaluate(int64_t step, int64_t reporting_step) override;
  absl::StatusOr<std::string> Transcript(int64_t step) override;
  const RecordSchema& schema() const override { return schema_; }
  std::vector<StreamTable> EncodeStep(StepRecord part) override;
  absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const override;
  void AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const override;
  NamedCounts execution_counts() const override { return {{"played_hosts", played_hosts_}}; }

 private:
  // An episode to be played.
  struct Game {
    uint64_t host_seed = 0;
    ChooseGrowth choose;
  };
  struct HeldOutHost {
    uint64_t prompt = 0, host_seed = 0;
  };

  absl::StatusOr<StepEpisodes> DrawHere(const StepPart& part);
  absl::StatusOr<std::vector<PlayedGrowth>> PlayAll(const std::vector<Game>& games);
  absl::StatusOr<std::vector<GrowthScore>> ScoreGames(const std::vector<Game>& games);
  ChooseGrowth Sampled(Purpose purpose, int64_t step, int64_t prompt, int64_t sample) const;
  std::vector<HeldOutHost> HeldOutHosts() const;  // those of this rank
  absl::StatusOr<std::vector<HeldOutGrowth>> MeasureHere(int64_t step);
  uint64_t seed() const { return static_cast<uint64_t>(run_.config.run.seed); }

  const WorkloadRun run_;
  CategoricalPolicy& policy_;
  const GrowthRules& rules_;
  const GrowthExamples& examples_;
  const RecordSchema schema_;
  const RewardColumns rewards_;
  // The scores of controllers that do not learn, of this rank's held-out hosts: computed by the first evaluation.
  std::vector<GrowthScore> heuristic_P_, random_P_;
  int64_t played_hosts_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_WORKLOAD_H_
