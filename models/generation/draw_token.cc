#include "models/generation/draw_token.h"

#include <vector>

#include "kernels/lm_head/row_statistics.h"

namespace reprise::models {
namespace {

constexpr float kOutOfTheQuestion = -1e9f;  // a logit whose probability is 0 next to any other

void RuleOutEnds(const GenerateOptions& options, absl::Span<float> logits) {
  for (const int32_t end : options.end_tokens) logits[end] = kOutOfTheQuestion;
}

}  // namespace

kernels::SampledToken DrawToken(const GenerateOptions& options, int64_t at, double uniform, absl::Span<float> logits,
                                kernels::SamplingWorkspace* workspace) {
  const int64_t vocabulary = static_cast<int64_t>(logits.size());
  if (at >= options.min_new_tokens) {
    return kernels::SampleToken(vocabulary, logits.data(), options.sampling, uniform, workspace);
  }
  std::vector<float> without_ends(logits.begin(), logits.end());
  RuleOutEnds(options, absl::MakeSpan(without_ends));
  const kernels::SampledToken chosen =
      kernels::SampleToken(vocabulary, without_ends.data(), options.sampling, uniform, workspace);
  kernels::SamplingOptions greedy = options.sampling;
  greedy.greedy = true;
  kernels::SampledToken drawn =
      kernels::SampleToken(vocabulary, logits.data(), greedy, 0, workspace);  // divides the logits
  drawn.token = chosen.token;
  drawn.logprob = kernels::LogProbability(kernels::StatisticsOfRow(vocabulary, logits.data()), logits[chosen.token]);
  drawn.behaviour_logprob = chosen.behaviour_logprob;
  return drawn;
}

float BehaviourLogprob(const GenerateOptions& options, int64_t at, int32_t token, absl::Span<float> logits,
                       kernels::SamplingWorkspace* workspace) {
  if (at < options.min_new_tokens) RuleOutEnds(options, logits);
  return kernels::BehaviourLogProbability(static_cast<int64_t>(logits.size()), logits.data(), options.sampling, token,
                                          workspace);
}

}  // namespace reprise::models
