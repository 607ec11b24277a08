#include "rl/policy/encoder/text_decisions.h"

#include <any>

#include "core/status/check.h"

namespace reprise::rl {

const TextDecisions& TextDecisionsIn(const EpisodeRecord& episode) {
  const auto* const content = std::any_cast<TextDecisions>(&episode.content);
  CHECK(content != nullptr);
  CHECK_EQ(static_cast<int64_t>(content->action_T.size()), episode.decisions.count);
  CHECK_GE(content->token_TS.size(), content->action_T.size());
  return *content;
}

models::DropoutPlace PlaceOfText(const TextDropout& dropout, absl::Span<const int32_t> text) {
  uint64_t hash = text.size();
  for (const int32_t token : text) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return {.seed = dropout.seed,
          .step = dropout.step,
          .prompt = hash & 0xFFFFFF,
          .sample = hash >> 24 & 0xFFFF,
          .in_sft = dropout.in_sft};
}

UniqueTexts::UniqueTexts(const ShardInput& shard, bool after_truncation) {
  for (const EpisodeGroup& group : shard) {
    for (const EpisodeRecord* const episode : group.episode_G) {
      const TextDecisions& content = TextDecisionsIn(*episode);
      const size_t states = CountStates(*episode, after_truncation);
      CHECK_GE(content.token_TS.size(), states);
      for (size_t t = 0; t < states; ++t) Add(content.token_TS[t]);
    }
  }
}

void UniqueTexts::Add(absl::Span<const int32_t> text) {
  const auto [at, is_new] = index_of_.try_emplace(text, static_cast<int32_t>(texts()));
  text_R_.push_back(at->second);
  tokens_read_ += static_cast<int64_t>(text.size());
  if (!is_new) {
    ++decisions_U_[at->second];
    return;
  }
  CHECK(!text.empty());
  text_U_.push_back(text);
  decisions_U_.push_back(1);
  tokens_ += static_cast<int64_t>(text.size());
}

std::vector<kernels::Range> UniqueTexts::MicroBatches(int64_t max_rows) const {
  std::vector<kernels::Range> ranges;
  int64_t rows = 0;  // of the last range
  for (int64_t u = 0; u < texts(); ++u) {
    const int64_t count = static_cast<int64_t>(text(u).size());
    if (ranges.empty() || (max_rows > 0 && rows + count > max_rows)) {
      ranges.push_back({u, u});
      rows = 0;
    }
    ++ranges.back().end;
    rows += count;
  }
  return ranges;
}

}  // namespace reprise::rl
