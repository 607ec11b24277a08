#include "rl/record/decisions.h"

#include <algorithm>

#include "core/status/check.h"

namespace reprise::rl {
namespace {

int64_t Ones(const std::vector<uint8_t>& mask_T, int64_t count) {
  return mask_T.empty() ? count : std::count(mask_T.begin(), mask_T.end(), uint8_t{1});
}

}  // namespace

int64_t NumDrawn(const Decisions& decisions) { return Ones(decisions.drawn_T, decisions.count); }

int64_t NumLearned(const Decisions& decisions) { return Ones(decisions.learned_T, decisions.count); }

std::vector<float> OnDrawn(const Decisions& decisions, absl::Span<const float> value_T) {
  std::vector<float> values(value_T.begin(), value_T.end());
  if (decisions.drawn_T.empty()) return values;
  CHECK_EQ(values.size(), decisions.drawn_T.size());
  for (size_t t = 0; t < values.size(); ++t) {
    if (decisions.drawn_T[t] == 0) values[t] = 0;
  }
  return values;
}

}  // namespace reprise::rl
