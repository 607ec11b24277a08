#include "rl/loss/aggregation.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise::rl {

double TokenWeight(const LossOptions& options, const LossNormalizer& normalizer, int64_t sequence_tokens) {
  CHECK_GE(normalizer.num_sequences, 1.0);
  const double tokens = static_cast<double>(std::max<int64_t>(sequence_tokens, 1));
  switch (EffectiveAggregation(options)) {
    case Aggregation::kGrpo:
    case Aggregation::kTurnMean:
      return 1.0 / (normalizer.num_sequences * tokens);
    case Aggregation::kBnpo:
      return 1.0 / std::max(normalizer.num_tokens, 1.0);
    case Aggregation::kDapo:
      return 1.0 / std::max(normalizer.mean_num_tokens, 1.0);
    case Aggregation::kDrGrpo:
      return 1.0 / (normalizer.num_sequences * static_cast<double>(options.max_completion_length));
    case Aggregation::kLuspo:
      return 1.0 / normalizer.num_sequences;
    case Aggregation::kSequenceMean:
      return 1.0 / (std::max(normalizer.num_nonempty_sequences, 1.0) * tokens);
    case Aggregation::kSum:
      break;
  }
  return 1.0;
}

std::vector<double> TurnFactors(absl::Span<const int32_t> turn_T, absl::Span<const uint8_t> mask_T) {
  const auto counts = [mask_T](size_t t) { return mask_T.empty() || mask_T[t] != 0; };
  std::vector<double> tokens_of_turn_T(turn_T.size(), 0.0);
  double turns = 0.0, tokens = 0.0;
  for (size_t begin = 0, end = 0; begin < turn_T.size(); begin = end) {
    double tokens_of_turn = 0.0;
    for (end = begin; end < turn_T.size() && turn_T[end] == turn_T[begin]; ++end) tokens_of_turn += counts(end) ? 1 : 0;
    std::fill(tokens_of_turn_T.begin() + begin, tokens_of_turn_T.begin() + end, tokens_of_turn);
    turns += tokens_of_turn > 0 ? 1 : 0;
    tokens += tokens_of_turn;
  }
  std::vector<double> factor_T(turn_T.size(), 0.0);
  for (size_t t = 0; t < turn_T.size(); ++t) {
    if (counts(t)) factor_T[t] = tokens / (turns * tokens_of_turn_T[t]);
  }
  return factor_T;
}

LossNormalizer MakeNormalizer(absl::Span<const SequenceSize> minibatch_N, double sampled_tokens,
                              int64_t num_minibatches) {
  CHECK_GE(num_minibatches, 1);
  double sequences = 0.0, nonempty = 0.0, tokens = 0.0;
  for (const SequenceSize& size : minibatch_N) {
    if (size.weight == 0.0) continue;
    sequences += 1.0;
    nonempty += size.num_tokens > 0 ? 1.0 : 0.0;
    tokens += static_cast<double>(size.num_tokens);
  }
  return {.num_sequences = std::max(sequences, 1.0),
          .num_tokens = tokens,
          .mean_num_tokens = sampled_tokens / static_cast<double>(num_minibatches),
          .num_nonempty_sequences = nonempty};
}

}  // namespace reprise::rl
