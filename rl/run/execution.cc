#include "rl/run/execution.h"

#include "core/status/status_macros.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/learner/choices.h"
#include "rl/run/step_number.h"

namespace reprise::rl {
namespace {

// Uses the stored steps up to a number, then live ones.
class StoredThenLive : public EpisodeSource {
 public:
  StoredThenLive(const ExecutionRequest& request, const TurnParts& turns, EpisodeSource& live)
      : config_(request.config),
        replay_until_(request.replay_until),
        stored_(std::make_unique<ReplaySource>(*request.records, request.parts.model->config(),
                                               request.config.rollout.num_generations, *request.parts.tokenizer,
                                               turns)),
        live_(live) {}

  absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) override {
    return SourceOf(phase, step).Draw(phase, step, tasks);
  }
  const std::vector<EvaluationReply>* StoredEvaluation(int64_t step) const override {
    return SourceOf(Phase::kTraining, step).StoredEvaluation(step);
  }

 private:
  EpisodeSource& SourceOf(Phase phase, int64_t step) const {
    return ArtifactStep(config_, phase, step) <= replay_until_ ? *stored_ : live_;
  }

  const Config& config_;
  const int64_t replay_until_;
  const std::unique_ptr<EpisodeSource> stored_;
  EpisodeSource& live_;
};

}  // namespace

Execution::Execution(const ExecutionRequest& request, const TurnParts& turns)
    : live_(*request.parts.model, *request.parts.tokenizer,
            GenerateOptionsOf(request.config, *request.parts.tokenizer, turns.rules), request.pool, turns) {
  if (request.records != nullptr) stored_then_live_ = std::make_unique<StoredThenLive>(request, turns, live_);
}

absl::StatusOr<std::unique_ptr<Execution>> Execution::Create(const ExecutionRequest& request) {
  const RunParts& parts = request.parts;
  ASSIGN_OR_RETURN(const TurnParts turns, TurnPartsOf(request.config, parts.environment.get(), parts.process.get(),
                                                      parts.model->config().eos_token_id));
  std::unique_ptr<Execution> execution(new Execution(request, turns));
  EpisodeSource* source = execution->stored_then_live_ ? execution->stored_then_live_.get() : &execution->live_;
  if (request.replace_source) {
    execution->replacement_ = request.replace_source(*source);
    source = execution->replacement_.get();
  }
  ASSIGN_OR_RETURN(execution->learner_, Learner::Create({.config = request.config,
                                                         .model = *parts.model,
                                                         .tokenizer = *parts.tokenizer,
                                                         .source = *source,
                                                         .sink = request.comm.rank() == 0 ? &request.sink : nullptr,
                                                         .comm = request.comm,
                                                         .pool = request.pool,
                                                         .problems = parts.problems,
                                                         .held_out = parts.held_out,
                                                         .reward = request.reward,
                                                         .interrupt = request.interrupt,
                                                         .environment = parts.environment.get(),
                                                         .process = parts.process.get()}));
  return execution;
}

}  // namespace reprise::rl
