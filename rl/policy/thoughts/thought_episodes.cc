#include "rl/policy/thoughts/thought_episodes.h"

#include <algorithm>
#include <any>
#include <tuple>

#include "core/status/check.h"
#include "models/quiet_star/thought_batch.h"

namespace reprise::rl {

const TextToThinkAbout& TextIn(const TaskRecord& task) {
  const auto* const text = std::any_cast<TextToThinkAbout>(&task.content);
  CHECK(text != nullptr);
  CHECK_GE(text->token_S.size(), 2u);
  CHECK(text->counts_S.empty() || text->counts_S.size() == text->token_S.size());
  return *text;
}

const ThoughtsOfSample& ThoughtsIn(const EpisodeRecord& episode, const TextToThinkAbout& text) {
  const auto* const thoughts = std::any_cast<ThoughtsOfSample>(&episode.content);
  CHECK(thoughts != nullptr);
  CHECK_EQ(MakeDecisions(*thoughts, text).count, episode.decisions.count);
  return *thoughts;
}

Decisions MakeDecisions(const ThoughtsOfSample& thoughts, const TextToThinkAbout& text) {
  Decisions decisions;
  if (thoughts.predicts_text) {
    CHECK(thoughts.thought_P.empty());
    decisions.count = static_cast<int64_t>(text.token_S.size()) - 1;
    for (int64_t s = 1; s <= decisions.count; ++s) decisions.learned_T.push_back(text.Counts(s) ? 1 : 0);
    return decisions;
  }
  decisions.turns = static_cast<int64_t>(thoughts.thought_P.size());
  for (size_t p = 0; p < thoughts.thought_P.size(); ++p) {
    const size_t tokens = thoughts.thought_P[p].tokens.size();
    decisions.turn_T.insert(decisions.turn_T.end(), tokens, static_cast<int32_t>(p));
  }
  decisions.count = static_cast<int64_t>(decisions.turn_T.size());
  return decisions;
}

ThoughtGroup::ThoughtGroup(const EpisodeGroup& group) : group_(&group), text_(&TextIn(*group.task)) {
  struct Entry {
    int64_t position;
    size_t episode, thought;
  };
  std::vector<Entry> entries;
  place_GP_.resize(group.episode_G.size());
  for (size_t g = 0; g < group.episode_G.size(); ++g) {
    const ThoughtsOfSample& of = ThoughtsIn(*group.episode_G[g], *text_);
    CHECK(g == 0 || of.predicts_text == predicts_text_);
    predicts_text_ = of.predicts_text;
    place_GP_[g].resize(of.thought_P.size());
    for (size_t p = 0; p < of.thought_P.size(); ++p) {
      CHECK(p == 0 || of.thought_P[p - 1].position < of.thought_P[p].position);
      entries.push_back({of.thought_P[p].position, g, p});
    }
  }
  std::ranges::sort(entries, {}, [](const Entry& e) { return std::tuple(e.position, e.episode); });
  size_t token = 0, position = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const models::Thought& thought = ThoughtsIn(*group.episode_G[entry.episode], *text_).thought_P[entry.thought];
    if (i > 0 && entry.position != entries[i - 1].position) ++position;
    place_GP_[entry.episode][entry.thought] = {token, thought.tokens.size(), position};
    token += thought.tokens.size();
    thoughts_.push_back(thought);
  }
}

std::vector<float> ThoughtGroup::OfEpisode(size_t g, absl::Span<const float> number_T) const {
  if (predicts_text_) return {number_T.begin(), number_T.end()};
  std::vector<float> numbers;
  for (const Place& place : place_GP_[g]) {
    const absl::Span<const float> part = number_T.subspan(place.first_token, place.tokens);
    numbers.insert(numbers.end(), part.begin(), part.end());
  }
  return numbers;
}

std::vector<float> ThoughtGroup::OfPositions(size_t g, absl::Span<const float> number_M) const {
  std::vector<float> numbers;
  for (const Place& place : place_GP_[g]) numbers.insert(numbers.end(), place.tokens, number_M[place.position]);
  if (predicts_text_) numbers.resize(text_->token_S.size() - 1);
  return numbers;
}

void ThoughtGroup::ToPass(size_t g, absl::Span<const float> number, absl::Span<float> number_T) const {
  if (predicts_text_) {
    for (size_t t = 0; t < number.size(); ++t) number_T[t] += number[t];
    return;
  }
  size_t next = 0;
  for (const Place& place : place_GP_[g]) {
    std::copy_n(number.begin() + static_cast<int64_t>(next), place.tokens,
                number_T.begin() + static_cast<int64_t>(place.first_token));
    next += place.tokens;
  }
}

void ThoughtGroup::AddToPositions(size_t g, absl::Span<const float> number, absl::Span<float> number_M) const {
  if (predicts_text_) return;
  size_t next = 0;
  for (const Place& place : place_GP_[g]) {
    for (size_t i = 0; i < place.tokens; ++i) number_M[place.position] += number[next++];
  }
}

}  // namespace reprise::rl
