#ifndef RL_COMPLETIONS_COMPLETIONS_WORKLOAD_H_
#define RL_COMPLETIONS_COMPLETIONS_WORKLOAD_H_

// The workload of a decoder that completes prompts, or plays multi-turn episodes with an environment in text.

#include <functional>
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
#include "rl/environment/environment.h"
#include "rl/environments/process/process_client.h"
#include "rl/episodes/action_checks.h"
#include "rl/episodes/episode_source.h"
#include "rl/episodes/sources.h"
#include "rl/episodes/step_rewards.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/policy/decoder/decoder_policy.h"
#include "rl/record/completions/record_streams.h"
#include "rl/reward/reward.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// All references must outlive the workload.
struct CompletionsParts {
  const Config& config;  // checked (CheckConfig)
  DecoderPolicy& policy;
  models::Model& model;  // that of the policy, refreshed; training changes its weights
  const models::Tokenizer& tokenizer;
  const std::vector<data::Task>& problems;  // of data.path; empty without a path
  const std::vector<data::Task>& held_out;  // of a file, for evaluations
  Environment* environment;                 // null where the run has none
  ProcessClient* process;                   // null where the run has none
  Communicator& comm;
  ThreadPool& pool;
  RecordForm form;  // of the run's records
  // Stored steps: they are executed from the stored tokens and replies. Null: all steps are drawn from the model.
  const std::vector<StepTables>* records = nullptr;
  bool continues_live = false;  // steps after the last stored one are drawn; else they are an error
  // Returns a source to use in place of the given one, which it may call; for tests and measurements. Null: none.
  std::function<std::unique_ptr<EpisodeSource>(EpisodeSource& source)> replace_source = nullptr;
  RewardFunction reward = nullptr;  // null: the functions that the configuration names
};

class CompletionsWorkload : public Workload {
 public:
  // Collective. Errors: those of the configuration's names, and of HeldOutTasks, where there are evaluations.
  static absl::StatusOr<std::unique_ptr<CompletionsWorkload>> Create(const CompletionsParts& parts);

  Policy& policy() override { return parts_.policy; }
  const RewardColumns& rewards() const override { return rewards_.columns; }
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
  void AddMetrics(const AlgorithmRow& algorithm, const StepRecord& record, Metrics* metrics) const override;

  Counts execution_counts() const override { return {{"refills", live_.refills()}}; }

 private:
  CompletionsWorkload(const CompletionsParts& parts, RewardOptions rewards, const TurnParts& turns,
                      const TurnParts& evaluation_turns, std::vector<TaskRecord> held_out);

  const CompletionsParts parts_;
  const RecordSchema schema_;
  const RewardOptions rewards_;  // of training
  const TurnParts turns_, evaluation_turns_;
  const std::optional<ActionCheckOptions> checks_;  // nullopt: actions are not checked
  const std::vector<TaskRecord> held_out_;
  LiveSource live_;
  std::unique_ptr<EpisodeSource> replay_, replacement_;  // may be null
  EpisodeSource* source_;                                // one of them
  std::vector<EvaluationReply> replies_;                 // of evaluations since the last EncodeStep
};

}  // namespace reprise::rl

#endif  // RL_COMPLETIONS_COMPLETIONS_WORKLOAD_H_
