#ifndef RL_WORKLOADS_QUIET_STAR_QUIET_STAR_WORKLOAD_H_
#define RL_WORKLOADS_QUIET_STAR_QUIET_STAR_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "models/quiet_star/thought_sampler.h"
#include "rl/config/config.h"
#include "rl/policy/thoughts/thought_policy.h"
#include "rl/workload/run_parts.h"
#include "rl/workload/workload.h"
#include "rl/workloads/quiet_star/foresight.h"
#include "rl/workloads/quiet_star/thought_evaluation.h"
#include "rl/workloads/quiet_star/thought_texts.h"

namespace reprise::rl {

// A model that thinks between the tokens of a text: an episode is one thought at each thinking position, and its
// rewards are computed from the policy's own forward pass over the text. The SFT phase learns texts, some of which have
// a thought before their answer.
class QuietStarWorkload : public Workload {
 public:
  // What `run` refers to, and `policy`, must outlive this. earns_by_turn: whether each thought has its own return
  // (EarnsByTurn); else an episode has the sum of its thoughts' rewards.
  QuietStarWorkload(const WorkloadRun& run, ThoughtPolicy& policy, ThoughtTexts texts, bool earns_by_turn);

  Policy& policy() override { return policy_; }
  const RewardColumns& rewards() const override { return rewards_; }
  bool may_lack_decisions() const override { return run_.config.quiet_star.positions == ThoughtPositions::kDifficult; }

  // DataLoss for a step that is not stored, where all are, and for a stored one that is not of these texts.
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
  absl::StatusOr<StepEpisodes> DrawHere(const StepPart& part);
  absl::StatusOr<std::vector<EpisodeRecord>> Stored(const StepRecord& stored,
                                                    absl::Span<const TaskRecord> task_P) const;
  // Samples thoughts about the texts of tasks, `samples` at each position: by task, then sample.
  std::vector<EpisodeRecord> Think(absl::Span<const TaskRecord> task_P, absl::Span<const int64_t> answer_begin_P,
                                   const models::ThoughtSampling& sampling);
  // Returns after which tokens to think. held_out: for an evaluation, whose text's answer is not known.
  std::vector<int64_t> ChoosePositions(const TaskRecord& task, int64_t answer_begin, bool held_out);
  models::ThoughtSampling MakeSampling(Purpose purpose, int64_t step, int64_t samples, bool greedy) const;
  // Calls `receive` with the places and the scores of each task's thoughts; episode_N: G of each, in order.
  using ReceiveScores = std::function<void(size_t task, const ThoughtPlaces&, const models::ThoughtScores&)>;
  void ScoreTasks(absl::Span<const TaskRecord> task_P, absl::Span<const EpisodeRecord> episode_N,
                  const ReceiveScores& receive);

  // What the held-out texts [begin, end) show, and their trials where thoughts are tested for theater.
  struct HeldOut {
    std::vector<HeldOutThoughts> text_P;
    std::vector<ThoughtTrial> trial_P;
  };
  HeldOut EvaluateHere(int64_t step, int64_t begin, int64_t end);
  void ContinueHere(int64_t step, int64_t begin, absl::Span<const ThoughtText> text_P,
                    std::vector<ThoughtTrial>* trial_P);

  const WorkloadRun run_;
  ThoughtPolicy& policy_;
  const ThoughtTexts texts_;
  const RecordSchema schema_;
  const RewardColumns rewards_;
  const std::unique_ptr<PassWorkspace> workspace_;
  models::ThoughtMemory memory_;
  int64_t thoughts_ = 0;  // sampled by this rank
};

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_QUIET_STAR_WORKLOAD_H_
