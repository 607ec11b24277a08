#include "rl/run/execution.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "rl/episodes/turn_episodes.h"
#include "rl/learner/choices.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

// Compares committed steps with the stored ones and passes all later steps on. The checkpoints and states of committed
// steps are passed on too: the earlier process may have died between a step and its checkpoint, and a writer ignores a
// checkpoint that the run already has.
class ResumingSink : public StepSink {
 public:
  explicit ResumingSink(const ExecutionRequest& request)
      : tensor_names_(TensorNamesOf(request.parts)), live_(request.sink), resume_(request.resume) {
    for (const StepRecord& record : *request.records)
      stored_.emplace(std::make_pair(record.phase, record.step), &record);
  }

  absl::StatusOr<bool> Commit(const StepRecord& record) override {
    const auto found = stored_.find({record.phase, record.step});
    if (found == stored_.end()) return live_->Commit(record);
    const auto divergence = FirstDivergence(*found->second, record, tensor_names_);
    if (divergence) {
      return absl::DataLossError(absl::StrCat(
          "the run cannot be resumed: executed again from its stored tokens, a step differs from the stored one (",
          divergence->ToString(), "); this program or machine computes differently from the one that began the run"));
    }
    resume_(record);
    return true;
  }
  bool WantsCheckpoint(Phase phase, int64_t step, bool is_over) override {
    return live_ != nullptr && live_->WantsCheckpoint(phase, step, is_over);
  }
  absl::Status Checkpoint(const PolicyState& state) override { return live_->Checkpoint(state); }
  bool WantsState(Phase phase, int64_t step, bool ends) override {
    return live_ != nullptr && live_->WantsState(phase, step, ends);
  }
  absl::Status SaveState(const PolicyState& state) override { return live_->SaveState(state); }

 private:
  std::map<std::pair<Phase, int64_t>, const StepRecord*> stored_;
  const std::vector<std::string> tensor_names_;
  StepSink* const live_;
  const std::function<void(const StepRecord&)> resume_;
};

}  // namespace

Execution::Execution(const ExecutionRequest& request, const TurnParts& turns)
    : policy_(*request.parts.model, GenerateOptionsOf(request.config, *request.parts.tokenizer, turns.rules)),
      live_(*request.parts.model, *request.parts.tokenizer,
            GenerateOptionsOf(request.config, *request.parts.tokenizer, turns.rules), *request.parts.pool, turns) {
  if (request.records == nullptr) return;
  replay_ = std::make_unique<ReplaySource>(*request.records, request.parts.model->config(),
                                           request.config.rollout.num_generations, *request.parts.tokenizer, turns,
                                           request.resume ? &live_ : nullptr);
  if (request.resume) resuming_ = std::make_unique<ResumingSink>(request);
}

absl::StatusOr<std::unique_ptr<Execution>> Execution::Create(const ExecutionRequest& request) {
  const RunParts& parts = request.parts;
  ASSIGN_OR_RETURN(const TurnParts turns, TurnPartsOf(request.config, parts.environment.get(), parts.process.get(),
                                                      parts.model->config().eos_token_id));
  std::unique_ptr<Execution> execution(new Execution(request, turns));
  EpisodeSource* source = execution->replay_ ? execution->replay_.get() : &execution->live_;
  if (request.replace_source) {
    execution->replacement_ = request.replace_source(*source);
    source = execution->replacement_.get();
  }
  StepSink* const sink = execution->resuming_ ? execution->resuming_.get() : request.sink;
  ASSIGN_OR_RETURN(execution->learner_, Learner::Create({.config = request.config,
                                                         .policy = execution->policy_,
                                                         .model = *parts.model,
                                                         .tokenizer = *parts.tokenizer,
                                                         .source = *source,
                                                         .sink = request.comm.rank() == 0 ? sink : nullptr,
                                                         .comm = request.comm,
                                                         .pool = *parts.pool,
                                                         .problems = parts.problems,
                                                         .held_out = parts.held_out,
                                                         .reward = request.reward,
                                                         .interrupt = request.interrupt,
                                                         .environment = parts.environment.get(),
                                                         .process = parts.process.get()}));
  return execution;
}

}  // namespace reprise::rl
