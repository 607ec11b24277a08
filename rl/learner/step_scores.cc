#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/gradient/corruption_origin.h"
#include "rl/gradient/step_loss.h"
#include "rl/learner/stages.h"
#include "rl/record/bounds.h"
#include "rl/record/decisions.h"
#include "rl/record/recorded.h"

namespace reprise::rl {
namespace {

// Checks the behaviour's log-probabilities that the source returned.
absl::Status CheckBehaviour(const StepBatch& batch) {
  for (const EpisodeRecord& episode : batch.episode_N) {
    RETURN_IF_ERROR(WithContext(CheckWithinBounds(absl::MakeConstSpan(episode.behaviour_logprobs), "behaviour_logprob"),
                                absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample)));
  }
  return absl::OkStatus();
}

absl::Status ScoreRewards(const StepContext& step_context, StepBatch* batch) {
  RETURN_IF_ERROR(CheckBehaviour(*batch));
  return step_context.parts.workload.Reward(batch->task_P, absl::MakeSpan(batch->episode_N));
}

bool HasAllLogprobs(const StepBatch& batch) {
  return std::none_of(batch.episode_N.begin(), batch.episode_N.end(), [](const auto& e) { return e.logprobs.empty(); });
}

// Sets, where episodes lack them (in a replay), the log-probabilities of tokens under the distributions that they were
// drawn from: -infinity for a token that is never drawn. The same bits as those of sampling.
void ScoreBehaviour(StepContext* step_context, StepBatch* batch) {
  std::vector<EpisodeRecord>& episode_N = batch->episode_N;
  if (std::none_of(episode_N.begin(), episode_N.end(), [](const auto& e) { return e.behaviour_logprobs.empty(); })) {
    return;
  }
  step_context->updater.gradient().ForEachShard(
      step_context->ShardInputs(*batch), [&](const ShardInput& input, PassWorkspace* workspace) {
        step_context->parts.policy().ScoreBehaviour(
            input,
            [&](int64_t index, absl::Span<const float> logprob_T) {
              episode_N[index].behaviour_logprobs.assign(logprob_T.begin(), logprob_T.end());
            },
            workspace);
      });
}

// Sets the log-probabilities under the reference of every episode.
void ScoreReference(const StepPlan& plan, StepContext* step_context, StepBatch* batch) {
  // A pass of a reference that is the policy that sampled would compute the recorded log-probabilities, bit for bit.
  // Importance correction is for samplers that differ from the policy.
  const bool is_policy = step_context->reference->SharesWith(step_context->parts.policy()) &&
                         step_context->is_exact() && plan.algorithm.correction.mode == ImportanceMode::kNone;
  if (is_policy && HasAllLogprobs(*batch)) {
    for (EpisodeRecord& episode : batch->episode_N) episode.ref_logprobs = OnDrawn(episode.decisions, episode.logprobs);
    return;
  }
  step_context->Score(*step_context->reference, step_context->ShardInputs(*batch),
                      [batch](int64_t index, absl::Span<const float> logprob_T, absl::Span<const float>) {
                        EpisodeRecord& episode = batch->episode_N[index];
                        episode.ref_logprobs = OnDrawn(episode.decisions, logprob_T);
                      });
}

// Sets the log-probabilities under the policy of every episode that lacks them (in a replay).
void ScorePolicy(StepContext* step_context, StepBatch* batch) {
  if (HasAllLogprobs(*batch)) return;
  step_context->Score(step_context->parts.policy(), step_context->ShardInputs(*batch),
                      [batch](int64_t index, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T) {
                        SetIfLacking(logprob_T, entropy_T, &batch->episode_N[index]);
                      });
}

// Returns for every episode the log-probabilities before the first update, which become the old ones of its ratios, and
// the importance weights relative to the log-probabilities that it was sampled with: the behaviour's where they are
// recorded, else the policy's.
std::vector<Correction> ComputeCorrections(const ImportanceOptions& options, StepContext* step_context,
                                           StepBatch* batch) {
  std::vector<Correction> correction_N(batch->episode_N.size());
  step_context->Score(step_context->parts.policy(), step_context->ShardInputs(*batch),
                      [&](int64_t index, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T) {
                        const size_t at = static_cast<size_t>(index);
                        EpisodeRecord& episode = batch->episode_N[at];
                        const std::vector<float> computed_T = OnDrawn(episode.decisions, logprob_T);
                        SetIfLacking(logprob_T, entropy_T, &episode);
                        const std::vector<float>& recorded =
                            episode.behaviour_logprobs.empty() ? episode.logprobs : episode.behaviour_logprobs;
                        const std::vector<double> sampler(recorded.begin(), recorded.end());
                        Correction& correction = correction_N[at];
                        correction.old_logprob_T.assign(computed_T.begin(), computed_T.end());
                        correction.weight_T =
                            ImportanceWeights(correction.old_logprob_T, sampler, episode.decisions.learned_T, options);
                      });
  return correction_N;
}

// Computes the values before the step's updates, which are the old values of all its updates.
void ScoreValues(bool bootstrap_truncated, const StepBatch& batch, StepContext* step_context, StepScores* scores) {
  scores->value_NT.resize(batch.episode_N.size());
  scores->bootstrap_N.resize(batch.episode_N.size());
  step_context->updater.gradient().ForEachShard(
      step_context->ShardInputs(batch), [&](const ShardInput& input, PassWorkspace* workspace) {
        step_context->parts.policy().PredictValues(
            input, bootstrap_truncated,
            [&](int64_t index, absl::Span<const float> value_T) {
              const size_t at = static_cast<size_t>(index),
                           positions = static_cast<size_t>(batch.episode_N[at].decisions.count);
              if (value_T.size() > positions) scores->bootstrap_N[at] = value_T[positions];
              scores->value_NT[at].assign(value_T.begin(), value_T.begin() + static_cast<int64_t>(positions));
            },
            workspace);
      });
}

}  // namespace

absl::StatusOr<StepScores> ScoreStep(const StepPlan& plan, StepContext* step_context, StepBatch* batch) {
  step_context->Enter(StepStage::kScore, batch->shape);
  const AlgorithmConfig& algorithm = plan.algorithm;
  StepScores scores;
  RETURN_IF_ERROR(AgreeOk(step_context->parts.comm, ScoreRewards(*step_context, batch)));
  if (FiltersSampling(step_context->parts.config)) ScoreBehaviour(step_context, batch);
  if (step_context->reference != nullptr) ScoreReference(plan, step_context, batch);
  // Before the first update computes them, the reward needs the policy's log-probabilities, and so do minibatches that
  // are not part of the first update.
  if (NeedsDivergence(algorithm) || HasMinibatches(algorithm.update)) ScorePolicy(step_context, batch);
  if (algorithm.correction.mode != ImportanceMode::kNone) {
    scores.correction_N = ComputeCorrections(algorithm.correction, step_context, batch);
  }
  if (NeedsValues(algorithm)) {
    ScoreValues(algorithm.advantage.bootstrap_truncated, *batch, step_context, &scores);
    RETURN_IF_ERROR(AgreeOk(step_context->parts.comm, CheckScores(*batch, scores, *step_context)));
  }
  return scores;
}

absl::Status CheckScores(const StepBatch& batch, const StepScores& scores, const StepContext& step_context) {
  const OriginSearch search = {step_context.parts.policy(), step_context.reference.get(), step_context.temperature(),
                               step_context.is_exact()};
  for (size_t i = 0; i < batch.episode_N.size(); ++i) {
    const EpisodeRecord& episode = batch.episode_N[i];
    absl::Status status = CheckLogprobs(episode);
    if (status.ok() && !scores.value_NT.empty()) {
      std::vector<double> value_T = scores.value_NT[i];
      if (scores.bootstrap_N[i]) value_T.push_back(*scores.bootstrap_N[i]);
      status = CheckValues(episode, value_T);
    }
    if (!status.ok()) return WithOrigin(search, batch.FindTask(episode), episode, {}, status);
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
