#ifndef RL_WORKLOAD_WORKLOAD_H_
#define RL_WORKLOAD_WORKLOAD_H_

// What a run trains and on what, as the training loop sees it: a policy, the tasks and episodes of a step, their
// rewards, and evaluations. Of a task and an episode the loop reads only what all workloads have.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/algorithm/algorithm.h"
#include "rl/policy/policy.h"
#include "rl/record/record_schema.h"
#include "rl/record/step_record.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Returns the first prompt of a logical shard, when `prompts` prompts are dealt to `shards` shards in contiguous, equal
// blocks; shard == shards gives `prompts`.
inline int64_t FirstPromptOfShard(int64_t prompts, int shards, int shard) { return prompts * shard / shards; }

// The prompts [begin, end) of a step: those of a rank.
struct StepPart {
  Phase phase = Phase::kTraining;
  int64_t step = 0, begin = 0, end = 0;
};

// The episodes of a part of a step. Rewards and advantages are set later.
struct StepEpisodes {
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;  // by prompt, then sample
  std::vector<int64_t> count_C;          // Policy::CountShard, of all of them; empty where drawing did not count
  int64_t num_tokens = 0;                // what the metric num_tokens sums over steps
};

// The reward functions of a run, including penalties: EpisodeRecord::rewards_F has one reward for each.
struct RewardColumns {
  std::vector<std::string> names_F;
  std::vector<double> weights_F;
  // The function whose rewards are given during the episode (EpisodeRecord::earned_T), each where it is earned. Others
  // are given at the end of the episode, and so are all where this is not set.
  std::optional<size_t> by_turn = std::nullopt;
  bool may_lack = false;  // a function may be unable to score an episode: its reward is NaN

  bool operator==(const RewardColumns&) const = default;
};

// A baseline that is computed for each prompt: Baseline::kGreedy or kOptimal.
struct PromptBaselineRequest {
  const AlgorithmConfig& algorithm;
  const Policy& policy;  // kGreedy: the current policy; kOptimal: the reference
  int64_t step = 0;
};

// Functions are called by one thread. Collective ones return the same status on every rank.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual Policy& policy() = 0;
  virtual const RewardColumns& rewards() const = 0;
  // Returns whether an episode of training may be invalid, or may have no learned decision.
  virtual bool may_lack_decisions() const = 0;

  // Returns the episodes of this rank's part: drawn from the policy, or those of a record that is executed again. What
  // is drawn for a prompt does not depend on the part's bounds. Collective.
  virtual absl::StatusOr<StepEpisodes> Draw(const StepPart& part) = 0;

  // Sets the rewards of episodes that Draw returned, and their weighted sums; NaN where an episode could not be scored.
  // Internal, naming prompt and sample, for a reward that is not within bounds.
  virtual absl::Status Reward(absl::Span<const TaskRecord> task_P, absl::Span<EpisodeRecord> episode_N) = 0;

  // Returns the baseline of each of the tasks' rewards; NaN where a prompt has none and must be left out. A replay
  // returns the same. InvalidArgument where the workload has no such baseline; else the errors of Reward.
  virtual absl::StatusOr<std::vector<double>> PromptBaselines(const PromptBaselineRequest& request,
                                                              const std::vector<TaskRecord>& task_P) = 0;

  // Measures the policy on held-out tasks. step: the training step after which the weights are measured, 0 before the
  // first; reporting_step: the step that reports the metrics. Collective; the same metrics on every rank, for any
  // number of ranks and threads.
  virtual absl::StatusOr<Metrics> Evaluate(int64_t step, int64_t reporting_step) = 0;

  // Returns a text that shows people one held-out episode as the policy plays it now; "" where the workload has none.
  // step: as in Evaluate. Not collective; the same text on every rank.
  virtual absl::StatusOr<std::string> Transcript(int64_t /*step*/) { return std::string(); }

  // Describes the records of the run: the workload's own streams, and those of the results (ResultStreams).
  virtual const RecordSchema& schema() const = 0;

  // Returns the tables of the workload's own streams for what this rank has of a step, including what the evaluations
  // since the last call drew from outside the program: a replay needs it.
  virtual std::vector<StreamTable> EncodeStep(StepRecord part) = 0;

  // Returns the step that tables of all streams, or of the workload's own alone, describe; what they lack of the
  // results is empty. DataLoss, naming stream and row, for rows that do not belong together.
  virtual absl::StatusOr<StepRecord> DecodeStep(const StepTables& step) const = 0;

  // Appends the metrics of the workload's own for a training step. record: the whole step; *metrics: all others.
  virtual void AddMetrics(const AlgorithmConfig& algorithm, const StepRecord& record, Metrics* metrics) const = 0;

  // Returns counts of this rank's execution so far, by name, for execution.jsonl: they may depend on ranks and threads.
  using NamedCounts = std::vector<std::pair<std::string, int64_t>>;
  virtual NamedCounts execution_counts() const = 0;
};

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_WORKLOAD_H_
