#ifndef RL_WORKLOADS_BANDIT_BANDIT_WORKLOAD_H_
#define RL_WORKLOADS_BANDIT_BANDIT_WORKLOAD_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/policy/categorical/categorical_policy.h"
#include "rl/workload/run_parts.h"
#include "rl/workload/workload.h"
#include "rl/workloads/bandit/bandit_problem.h"

namespace reprise::rl {

// The contextual bandit: an episode is one choice among the actions of a problem. The SFT phase learns the best
// actions.
class BanditWorkload : public Workload {
 public:
  // What `run` refers to, and `policy`, must outlive this.
  BanditWorkload(const WorkloadRun& run, CategoricalPolicy& policy);

  Policy& policy() override { return policy_; }
  const RewardColumns& rewards() const override { return rewards_; }
  bool may_lack_decisions() const override { return false; }

  // DataLoss for a step that is not stored, where all are, and for a stored one that is not the bandit's.
  absl::StatusOr<StepEpisodes> Draw(const StepPart& part) override;
  absl::Status Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) override;
  absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest& request,
                                                      const std::vector<TaskRecord>& task_P) override;
  absl::StatusOr<Metrics> Evaluate(int64_t step, int64_t reporting_step) override;
  const RecordSchema& schema() const override { return schema_; }
  std::vector<StreamTable> EncodeStep(StepRecord part) override;
  absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const override;
  void AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const override;
  NamedCounts execution_counts() const override { return {}; }

 private:
  absl::StatusOr<StepEpisodes> DrawHere(const StepPart& part) const;
  // Returns the actions of `samples` samples in the task's problem, with their log-probabilities.
  std::vector<EpisodeRecord> Sample(const CategoricalPolicy& policy, const TaskRecord& task, Purpose purpose,
                                    int64_t step, int64_t samples) const;
  absl::StatusOr<std::vector<EpisodeRecord>> Replay(const StepRecord& stored, const TaskRecord& task,
                                                    int64_t samples) const;

  const WorkloadRun run_;
  const BanditWorld world_;
  const RecordSchema schema_;
  const RewardColumns rewards_;
  CategoricalPolicy& policy_;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_BANDIT_BANDIT_WORKLOAD_H_
