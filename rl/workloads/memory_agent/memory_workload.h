#ifndef RL_WORKLOADS_MEMORY_AGENT_MEMORY_WORKLOAD_H_
#define RL_WORKLOADS_MEMORY_AGENT_MEMORY_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/policy/encoder/encoder_policy.h"
#include "rl/workload/run_parts.h"
#include "rl/workload/workload.h"
#include "rl/workloads/memory_agent/episode_report.h"
#include "rl/workloads/memory_agent/play.h"

namespace reprise::rl {

// A memory agent: an episode is a sequence of operations on a memory, each chosen by the text of the state before it.
// The SFT phase learns to store three notes and then to keep the last one up to date, or, with facts, to store messages
// while there is room and to retrieve at the question.
class MemoryWorkload : public Workload {
 public:
  // What `run` refers to, `policy` and `tokenizer` must outlive this. earns_by_turn: whether the algorithm gives each
  // decision a return of its own.
  MemoryWorkload(const WorkloadRun& run, EncoderPolicy& policy, const models::Tokenizer& tokenizer, bool earns_by_turn);

  Policy& policy() override { return policy_; }
  const RewardColumns& rewards() const override { return rewards_; }
  bool may_lack_decisions() const override { return false; }

  // DataLoss for a step that is not stored, where all are, and for a stored one that is not of this workload.
  absl::StatusOr<StepEpisodes> Draw(const StepPart& part) override;
  absl::Status Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) override;
  absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest& request,
                                                      const std::vector<TaskRecord>& task_P) override;
  absl::StatusOr<Metrics> Evaluate(int64_t step, int64_t reporting_step) override;
  absl::StatusOr<std::string> Transcript(int64_t step) override;
  const RecordSchema& schema() const override { return schema_; }
  std::vector<StreamTable> EncodeStep(StepRecord part) override;
  absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const override;
  void AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const override;
  NamedCounts execution_counts() const override;

 private:
  absl::StatusOr<StepEpisodes> DrawHere(const StepPart& part) const;
  // Returns episodes of these tasks, `samples` of each, by task and then sample, drawn from the stage's behaviour.
  // Those of a record have its operations.
  absl::StatusOr<std::vector<EpisodeRecord>> DrawEpisodes(const StepPart& part, absl::Span<const TaskRecord> task_P,
                                                          const StepRecord* stored) const;
  absl::StatusOr<std::vector<EpisodeRecord>> Solutions(absl::Span<const TaskRecord> task_P) const;
  // Return how the policy's samples, or its most probable operations, are rewarded, by task and then sample.
  absl::StatusOr<std::vector<EpisodeReport>> SampledReports(const EncoderPolicy& policy,
                                                            absl::Span<const MemoryTask> task_P, int64_t samples,
                                                            Purpose purpose, int64_t step) const;
  absl::StatusOr<std::vector<EpisodeReport>> GreedyReports(const EncoderPolicy& policy,
                                                           absl::Span<const MemoryTask> task_P) const;
  absl::StatusOr<std::vector<EpisodeReport>> Reports(const EncoderPolicy& policy,
                                                     absl::Span<const EpisodePlace> place_N,
                                                     const ChooseOperation& choose) const;
  PlayDeps MakePlayDeps(const EncoderPolicy& policy) const;
  double UniformAt(Purpose purpose, int64_t step, const EpisodePlace& place, const SimulatedEpisode& so_far) const;
  float temperature() const { return static_cast<float>(run_.config.rollout.temperature); }
  uint64_t seed() const { return static_cast<uint64_t>(run_.config.run.seed); }

  const WorkloadRun run_;
  EncoderPolicy& policy_;
  const models::Tokenizer& tokenizer_;
  const RecordSchema schema_;
  const RewardColumns rewards_;
  const std::unique_ptr<PassWorkspace> workspace_;  // of drawing and of evaluations
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_MEMORY_WORKLOAD_H_
