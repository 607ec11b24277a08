#include "rl/policy/encoder/text_logits.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/status/check.h"

namespace reprise::rl {
namespace {

absl::string_view AsByteString(absl::Span<const int32_t> text) {
  return {reinterpret_cast<const char*>(text.data()), text.size() * sizeof(int32_t)};
}

}  // namespace

std::vector<float> TextLogits::Get(const EpisodeGroup& group, const UniqueTexts& texts, Compute compute) {
  const size_t count = static_cast<size_t>(texts.texts());
  std::vector<float> logit_UA(count * actions_);
  const auto row = [&](size_t u) { return logit_UA.begin() + static_cast<int64_t>(u * actions_); };
  UniqueTexts missing;
  std::vector<size_t> place_M;  // of the missing texts
  {
    const std::lock_guard lock(mutex_);
    if (step_ != group.step || phase_ != group.phase) logit_A_of_.clear();
    step_ = group.step;
    phase_ = group.phase;
    for (size_t u = 0; u < count; ++u) {
      const absl::Span<const int32_t> text = texts.text(static_cast<int64_t>(u));
      const auto kept = logit_A_of_.find(AsByteString(text));
      if (kept != logit_A_of_.end()) {
        std::copy(kept->second.begin(), kept->second.end(), row(u));
      } else {
        missing.Add(text);
        place_M.push_back(u);
      }
    }
  }
  if (place_M.empty()) return logit_UA;
  const std::vector<float> logit_MA = compute(missing);
  CHECK_EQ(logit_MA.size(), place_M.size() * actions_);
  const std::lock_guard lock(mutex_);
  const bool keeps = step_ == group.step && phase_ == group.phase;
  for (size_t m = 0; m < place_M.size(); ++m) {
    const auto begin = logit_MA.begin() + static_cast<int64_t>(m * actions_),
               end = begin + static_cast<int64_t>(actions_);
    std::copy(begin, end, row(place_M[m]));
    if (keeps) logit_A_of_.try_emplace(std::string(AsByteString(missing.text(static_cast<int64_t>(m)))), begin, end);
  }
  return logit_UA;
}

void TextLogits::Clear() {
  const std::lock_guard lock(mutex_);
  logit_A_of_.clear();
}

}  // namespace reprise::rl
