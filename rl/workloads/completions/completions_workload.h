#ifndef RL_WORKLOADS_COMPLETIONS_COMPLETIONS_WORKLOAD_H_
#define RL_WORKLOADS_COMPLETIONS_COMPLETIONS_WORKLOAD_H_

// The workload of a decoder that completes prompts, or plays multi-turn episodes with an environment in text.

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/parallel/thread_pool.h"
#include "data/tasks/task.h"
#include "models/decoder/model.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/episodes/action_checks.h"
#include "rl/episodes/episode_source.h"
#include "rl/episodes/step_rewards.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/policy/decoder/decoder_policy.h"
#include "rl/record/completions/record_streams.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// All references must outlive the workload.
struct CompletionsDeps {
  const Config& config;  // checked (CheckConfig)
  DecoderPolicy& policy;
  models::Model& model;  // that of the policy, refreshed; training changes its weights
  const models::Tokenizer& tokenizer;
  const std::vector<data::Task>& problems;  // of data.path; empty without a path
  const std::vector<data::Task>& held_out;  // of a file, for evaluations
  Communicator& comm;
  ThreadPool& pool;
  RecordForm form;                        // of the run's records
  RewardOptions rewards;                  // of training
  TurnDeps turns, evaluation_turns;       // how multi-turn episodes of training and of evaluations are played
  std::unique_ptr<EpisodeSource> source;  // of the run's steps
};

class CompletionsWorkload : public Workload {
 public:
  // Collective. Errors of HeldOutTasks, where there are evaluations.
  static absl::StatusOr<std::unique_ptr<CompletionsWorkload>> Create(CompletionsDeps parts);

  Policy& policy() override { return parts_.policy; }
  const RewardColumns& rewards() const override { return parts_.rewards.columns; }
  bool may_lack_decisions() const override { return checks_.has_value(); }

  // Errors: those of DrawTasks and of the source.
  absl::StatusOr<StepEpisodes> Draw(const StepPart& part) override;
  absl::Status Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) override;
  absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest& request,
                                                      const std::vector<TaskRecord>& task_P) override;
  absl::StatusOr<Metrics> Evaluate(int64_t step, int64_t reporting_step) override;
  const RecordSchema& schema() const override { return schema_; }
  std::vector<StreamTable> EncodeStep(StepRecord part) override;
  absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const override;
  void AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const override;

  NamedCounts execution_counts() const override { return {{"refills", parts_.source->refills()}}; }

 private:
  CompletionsWorkload(CompletionsDeps parts, std::vector<TaskRecord> held_out);

  const CompletionsDeps parts_;
  const RecordSchema schema_;
  const std::optional<ActionCheckOptions> checks_;  // nullopt: actions are not checked
  const std::vector<TaskRecord> held_out_;
  std::vector<EvaluationReply> replies_;  // of evaluations since the last EncodeStep
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_COMPLETIONS_WORKLOAD_H_
