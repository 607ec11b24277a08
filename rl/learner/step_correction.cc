#include "rl/learner/step_correction.h"

#include "rl/learner/record_turns.h"

namespace reprise::rl {

void CorrectForSampler(const models::Decoder& policy, const std::vector<ShardInput>& inputs, float temperature,
                       const ImportanceOptions& options, StepGradient* passes, Step* step) {
  step->corrections.resize(step->share.episode_N.size());
  passes->Score(
      policy, inputs, temperature,
      [step, &options](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float>) {
        const size_t at = step->IndexOf(group, completion);
        EpisodeRecord& episode = step->share.episode_N[at];
        const std::vector<float> computed_T = OnActions(episode, logprob_T);
        if (episode.logprobs.empty()) episode.logprobs = computed_T;
        const std::vector<double> sampler(episode.logprobs.begin(), episode.logprobs.end());
        Correction& correction = step->corrections[at];
        correction.old_logprob_T.assign(computed_T.begin(), computed_T.end());
        correction.weight_T = ImportanceWeights(correction.old_logprob_T, sampler, LearnedMaskOf(episode), options);
      });
}

}  // namespace reprise::rl
