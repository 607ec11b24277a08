#include "rl/loss/aggregation.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise::rl {

double TokenWeight(const LossOptions& options, const LossNormalizer& normalizer, int64_t sequence_tokens) {
  CHECK_GE(normalizer.num_sequences, 1.0);
  switch (options.loss_type) {
    case LossType::kGrpo:
    case LossType::kSapo:
    case LossType::kRloo:
      return 1.0 / (normalizer.num_sequences * static_cast<double>(std::max<int64_t>(sequence_tokens, 1)));
    case LossType::kBnpo:
      return 1.0 / std::max(normalizer.num_tokens, 1.0);
    case LossType::kDapo:
    case LossType::kCispo:
    case LossType::kVespo:
      return 1.0 / std::max(normalizer.mean_num_tokens, 1.0);
    case LossType::kDrGrpo:
      return 1.0 / (normalizer.num_sequences * static_cast<double>(options.max_completion_length));
    case LossType::kLuspo:
      break;
  }
  return 1.0 / normalizer.num_sequences;
}

}  // namespace reprise::rl
