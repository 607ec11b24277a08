#ifndef RL_LEARNER_SOURCES_H_
#define RL_LEARNER_SOURCES_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/learner/episode_source.h"
#include "rl/rollout/generate.h"

namespace reprise::rl {

// Warm-up: the answers, each with an end token. Training: completions sampled from the model as it is.
class LiveSource : public EpisodeSource {
 public:
  // `model`, `tokenizer` and `pool` must outlive this; options.step is set by each Draw.
  LiveSource(const models::Model& model, const models::Tokenizer& tokenizer, GenerateOptions options, ThreadPool& pool)
      : model_(model), tokenizer_(tokenizer), options_(std::move(options)), pool_(pool) {}

  absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) override;

  int64_t refills() const { return refills_; }  // over all steps, for tests

 private:
  absl::StatusOr<Episodes> Answers(const std::vector<TaskRecord>& tasks) const;

  const models::Model& model_;
  const models::Tokenizer& tokenizer_;
  GenerateOptions options_;
  ThreadPool& pool_;
  int64_t refills_ = 0;
};

// The tokens of stored steps; log-probabilities are left for the trainer to recompute. The routing's counts are not
// taken from the store either.
class ReplaySource : public EpisodeSource {
 public:
  // `records` must outlive this.
  explicit ReplaySource(const std::vector<StepRecord>& records);

  // DataLoss if the step is not stored or lacks an episode of a task.
  absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) override;

 private:
  std::map<std::pair<Phase, int64_t>, const StepRecord*> steps_;
};

}  // namespace reprise::rl

#endif  // RL_LEARNER_SOURCES_H_
