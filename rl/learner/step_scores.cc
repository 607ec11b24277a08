#include "rl/learner/step_scores.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/gradient/fault_origin.h"
#include "rl/gradient/step_loss.h"
#include "rl/record/bounds.h"
#include "rl/record/record_turns.h"
#include "rl/record/recorded.h"
#include "rl/rollout/draw_token.h"

namespace reprise::rl {
namespace {

constexpr int64_t kObserved = -1;  // a token of an observation

// Returns for each token its index within its action.
std::vector<int64_t> NumbersInActions(const EpisodeRecord& episode) {
  std::vector<int64_t> number_T;
  for (const TurnRecord& turn : episode.turn_K) {
    number_T.insert(number_T.end(), static_cast<size_t>(turn.observation_tokens), kObserved);
    for (int64_t t = 0; t < turn.action_tokens; ++t) number_T.push_back(t);
  }
  while (episode.turn_K.empty() && number_T.size() < episode.tokens.size()) {
    number_T.push_back(static_cast<int64_t>(number_T.size()));
  }
  return number_T;
}

// Checks the behaviour's log-probabilities that the source returned.
absl::Status CheckBehaviour(const StepBatch& batch) {
  for (const EpisodeRecord& episode : batch.episode_N) {
    RETURN_IF_ERROR(WithContext(CheckWithinBounds(absl::MakeConstSpan(episode.behaviour_logprobs), "behaviour_logprob"),
                                absl::StrCat("prompt ", episode.prompt, " sample ", episode.sample)));
  }
  return absl::OkStatus();
}

absl::Status ScoreRewards(const StepTools& tools, StepBatch* batch) {
  RETURN_IF_ERROR(CheckBehaviour(*batch));
  return ScoreEpisodes(tools.parts.tokenizer, tools.rewards, batch->task_P, absl::MakeSpan(batch->episode_N));
}

bool HasAllLogprobs(const StepBatch& batch) {
  return std::none_of(batch.episode_N.begin(), batch.episode_N.end(), [](const auto& e) { return e.logprobs.empty(); });
}

// Sets, where episodes lack them (in a replay), the log-probabilities of tokens under the distributions that they were
// drawn from: -infinity for a token that is never drawn. The same bits as those of sampling.
void ScoreBehaviour(StepTools* tools, StepBatch* batch) {
  std::vector<EpisodeRecord>& episode_N = batch->episode_N;
  if (std::none_of(episode_N.begin(), episode_N.end(), [](const auto& e) { return e.behaviour_logprobs.empty(); })) {
    return;
  }
  const GenerateOptions options = GenerateOptionsOf(tools->parts.config, tools->parts.tokenizer, tools->rewards.rules);
  std::vector<std::vector<int64_t>> number_NT;
  for (EpisodeRecord& episode : episode_N) {
    number_NT.push_back(NumbersInActions(episode));
    episode.behaviour_logprobs.assign(episode.tokens.size(), 0.0f);
  }
  tools->updater.gradient().ShowLogits(
      tools->InputsOf(*batch), [&](int64_t group, int64_t completion, int64_t token, absl::Span<float> logits) {
        const size_t n = batch->shape.IndexOf(group, completion), t = static_cast<size_t>(token);
        if (number_NT[n][t] == kObserved) return;
        kernels::SamplingWorkspace workspace;
        episode_N[n].behaviour_logprobs[t] =
            BehaviourLogprob(options, number_NT[n][t], episode_N[n].tokens[t], logits, &workspace);
      });
}

// Sets the log-probabilities under the reference of every episode.
void ScoreReference(const StepPlan& plan, StepTools* tools, StepBatch* batch) {
  // A pass of a reference that is the policy that sampled would compute the recorded log-probabilities, bit for bit.
  // Importance correction is for samplers that differ from the policy.
  const bool is_policy = tools->reference->SharesWith(tools->parts.model) && tools->is_exact() &&
                         plan.algorithm.correction.mode == ImportanceMode::kNone;
  if (is_policy && HasAllLogprobs(*batch)) {
    for (EpisodeRecord& episode : batch->episode_N) episode.ref_logprobs = OnActions(episode, episode.logprobs);
    return;
  }
  tools->updater.gradient().Score(
      tools->reference->decoder(), tools->InputsOf(*batch), tools->temperature(),
      [batch](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float>) {
        EpisodeRecord& episode = batch->episode_N[batch->shape.IndexOf(group, completion)];
        episode.ref_logprobs = OnActions(episode, logprob_T);
      });
}

// Sets the log-probabilities under the policy of every episode that lacks them (in a replay).
void ScorePolicy(StepTools* tools, StepBatch* batch) {
  if (HasAllLogprobs(*batch)) return;
  tools->updater.gradient().Score(
      tools->parts.model.decoder(), tools->InputsOf(*batch), tools->temperature(),
      [batch](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float>) {
        EpisodeRecord& episode = batch->episode_N[batch->shape.IndexOf(group, completion)];
        if (episode.logprobs.empty()) episode.logprobs = OnActions(episode, logprob_T);
      });
}

// Returns for every episode the log-probabilities before the first update, which become the old ones of its ratios, and
// the importance weights relative to the log-probabilities that it was sampled with: the behaviour's where they are
// recorded, else the policy's.
std::vector<Correction> CorrectionsOf(const ImportanceOptions& options, StepTools* tools, StepBatch* batch) {
  std::vector<Correction> correction_N(batch->episode_N.size());
  tools->updater.gradient().Score(
      tools->parts.model.decoder(), tools->InputsOf(*batch), tools->temperature(),
      [&](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float>) {
        const size_t at = batch->shape.IndexOf(group, completion);
        EpisodeRecord& episode = batch->episode_N[at];
        const std::vector<float> computed_T = OnActions(episode, logprob_T);
        if (episode.logprobs.empty()) episode.logprobs = computed_T;
        const std::vector<float>& recorded =
            episode.behaviour_logprobs.empty() ? episode.logprobs : episode.behaviour_logprobs;
        const std::vector<double> sampler(recorded.begin(), recorded.end());
        Correction& correction = correction_N[at];
        correction.old_logprob_T.assign(computed_T.begin(), computed_T.end());
        correction.weight_T = ImportanceWeights(correction.old_logprob_T, sampler, LearnedMaskOf(episode), options);
      });
  return correction_N;
}

// Completions with one more, arbitrary token: the value of a state is computed together with the token that follows it.
using LongerCompletions = std::vector<std::vector<int32_t>>;

// Returns the inputs with the longer completion in place of each truncated one. `longer` receives the tokens and must
// outlive the result.
std::vector<ShardInput> WithStatesOfTruncation(std::vector<ShardInput> inputs, const StepBatch& batch,
                                               LongerCompletions* longer) {
  longer->resize(batch.episode_N.size());
  for (ShardInput& input : inputs) {
    for (size_t g = 0; g < input.groups.size(); ++g) {
      auto& completion_G = input.groups[g].completion_G;
      for (size_t c = 0; c < completion_G.size(); ++c) {
        const int64_t group = static_cast<int64_t>(g), completion = static_cast<int64_t>(c);
        const size_t at = batch.shape.IndexOf(input.GroupOf(group), input.SampleOf(group, completion));
        if (batch.episode_N[at].terminated) continue;
        std::vector<int32_t>& tokens = (*longer)[at];
        tokens.assign(completion_G[c].begin(), completion_G[c].end());
        tokens.push_back(0);
        completion_G[c] = tokens;
      }
    }
  }
  return inputs;
}

// Computes the values before the step's updates, which are the old values of all its updates.
void ScoreValues(bool bootstrap_truncated, const StepBatch& batch, StepTools* tools, StepScores* scores) {
  scores->value_NT.resize(batch.episode_N.size());
  scores->bootstrap_N.resize(batch.episode_N.size());
  LongerCompletions longer;
  std::vector<ShardInput> inputs = tools->InputsOf(batch);
  if (bootstrap_truncated) inputs = WithStatesOfTruncation(std::move(inputs), batch, &longer);
  tools->updater.gradient().Evaluate(inputs, [&](int64_t group, int64_t completion, absl::Span<const float> value_T) {
    const size_t at = batch.shape.IndexOf(group, completion), tokens = batch.episode_N[at].tokens.size();
    if (value_T.size() > tokens) scores->bootstrap_N[at] = value_T[tokens];
    scores->value_NT[at].assign(value_T.begin(), value_T.begin() + static_cast<int64_t>(tokens));
  });
}

}  // namespace

absl::StatusOr<StepScores> ScoreStep(const StepPlan& plan, StepTools* tools, StepBatch* batch) {
  const AlgorithmRow& algorithm = plan.algorithm;
  StepScores scores;
  RETURN_IF_ERROR(AgreeOk(tools->parts.comm, ScoreRewards(*tools, batch)));
  if (FiltersSampling(tools->parts.config.rollout)) ScoreBehaviour(tools, batch);
  if (tools->reference != nullptr) ScoreReference(plan, tools, batch);
  // Before the first update computes them, the reward needs the policy's log-probabilities, and so do minibatches that
  // are not part of the first update.
  if (NeedsDivergence(algorithm) || algorithm.update.num_mini_batches > 1) ScorePolicy(tools, batch);
  if (algorithm.correction.mode != ImportanceMode::kNone) {
    scores.correction_N = CorrectionsOf(algorithm.correction, tools, batch);
  }
  if (NeedsValues(algorithm)) {
    ScoreValues(algorithm.advantage.bootstrap_truncated, *batch, tools, &scores);
    RETURN_IF_ERROR(AgreeOk(tools->parts.comm, CheckScores(*batch, scores, *tools)));
  }
  return scores;
}

absl::Status CheckScores(const StepBatch& batch, const StepScores& scores, const StepTools& tools) {
  const OriginSearch search = {tools.parts.model, tools.reference.get(), tools.temperature(), tools.is_exact()};
  for (size_t i = 0; i < batch.episode_N.size(); ++i) {
    const EpisodeRecord& episode = batch.episode_N[i];
    absl::Status status = CheckLogprobs(episode);
    if (status.ok() && !scores.value_NT.empty()) {
      std::vector<double> value_T = scores.value_NT[i];
      if (scores.bootstrap_N[i]) value_T.push_back(*scores.bootstrap_N[i]);
      status = CheckValues(episode, value_T);
    }
    if (!status.ok()) return WithOrigin(search, batch.TaskOf(episode), episode, {}, status);
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
