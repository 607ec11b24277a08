#ifndef RL_EPISODES_SOURCES_H_
#define RL_EPISODES_SOURCES_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/generation/generate.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/episodes/episode_source.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/record/completions/record_streams.h"

namespace reprise::rl {

// SFT phase: the answers, each with an end token, or an environment's demonstrations. Training: completions sampled
// from the current model, or episodes that it plays.
class LiveSource : public EpisodeSource {
 public:
  // `model`, `tokenizer` and `pool` must outlive this; options.step is set by each Draw.
  LiveSource(const models::Model& model, const models::Tokenizer& tokenizer, models::GenerateOptions options,
             ThreadPool& pool, TurnDeps turns = {})
      : model_(model), tokenizer_(tokenizer), options_(std::move(options)), pool_(pool), turns_(std::move(turns)) {}

  absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) override;

  int64_t refills() const override { return refills_; }

 private:
  absl::StatusOr<Episodes> Answers(const std::vector<TaskRecord>& tasks) const;
  // Calls work(index) for each index, on the threads that call the external process.
  absl::Status ForEachOnPartnerThreads(int64_t count, const std::function<void(int64_t index)>& work) const;
  absl::Status Score(const std::function<const Dialogue&(int64_t)>& dialogue, Episodes* episodes) const;
  absl::StatusOr<Episodes> Demonstrations(int64_t step, const std::vector<TaskRecord>& tasks) const;

  const models::Model& model_;
  const models::Tokenizer& tokenizer_;
  models::GenerateOptions options_;
  ThreadPool& pool_;
  const TurnDeps turns_;
  models::GenerateMemory memory_;
  int64_t refills_ = 0;
};

// Returns the policy's tokens of stored steps and the stored replies of the external process. Nothing else is taken
// from the store: log-probabilities, routing, the replies of other environments and whether a completion ended are
// recomputed, so that a comparison with the store is meaningful.
class ReplaySource : public EpisodeSource {
 public:
  // `steps`, in order and of the form, `decoder` and `tokenizer` must outlive this. num_generations: per prompt of a
  // training step; SFT steps have one answer per prompt. rest: the source of the steps after the last stored one;
  // may be null.
  ReplaySource(const std::vector<StepTables>& steps, RecordForm form, const models::DecoderConfig& decoder,
               int64_t num_generations, const models::Tokenizer& tokenizer, TurnDeps turns,
               std::unique_ptr<EpisodeSource> rest = nullptr);

  // DataLoss if the step is not stored, if its rows are inconsistent, if it lacks an episode of a task, or if an
  // episode has tokens that this decoder could not have drawn: a stored run is not trusted.
  absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) override;
  const std::vector<EvaluationReply>* StoredEvaluation(int64_t step) const override;
  int64_t refills() const override { return rest_ == nullptr ? 0 : rest_->refills(); }

 private:
  absl::StatusOr<const EpisodeRecord*> StoredEpisode(const TaskRecord& task, int64_t sample, int64_t generations) const;
  EpisodeRecord Replay(const EpisodeRecord& stored) const;

  const std::vector<StepTables>& steps_;
  const RecordForm form_;
  const models::DecoderConfig& decoder_;
  const int64_t num_generations_;
  const models::Tokenizer& tokenizer_;
  const TurnDeps turns_;
  const std::unique_ptr<EpisodeSource> rest_;
  std::optional<StepRecord> stored_;  // the step that was drawn last; nullopt where it was not stored
};

}  // namespace reprise::rl

#endif  // RL_EPISODES_SOURCES_H_
