#ifndef DATA_STORIES_STORY_SET_H_
#define DATA_STORIES_STORY_SET_H_

// Text for small language models, as sequences of bytes: short generated stories in the manner of TinyStories (Eldan
// and Li, 2023), or the text of a file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::data {

inline constexpr int64_t kByteVocabulary = 256;

// N sequences of T + 1 tokens, each a byte: T inputs, and for each the next one as its target.
struct StorySet {
  int64_t block = 1;  // T
  std::vector<uint8_t> token_NT = {};

  size_t size() const { return token_NT.size() / static_cast<size_t>(block + 1); }
  absl::Span<const uint8_t> sequence(size_t n) const {
    const size_t tokens = static_cast<size_t>(block + 1);
    return absl::MakeConstSpan(token_NT).subspan(n * tokens, tokens);
  }

  bool operator==(const StorySet&) const = default;
};

struct StorySplits {
  StorySet train, validation;
};

struct StoryCounts {
  int64_t block = 1, train = 1, validation = 1;
};

// Returns a story of several sentences about one of a few heroes, whose name and thing come back later in it: a
// model that remembers predicts them. Pure.
std::string GeneratedStory(uint64_t seed, uint64_t index);

// Sequences of stories that follow each other, the first of the validation after the last of the training. Pure.
StorySplits GeneratedStories(uint64_t seed, const StoryCounts& counts);

// Cuts a text, without a byte order mark at its beginning, into sequences that do not overlap. DataLoss, saying how
// many bytes there must be, if it is too short. name: of the text, for messages.
absl::StatusOr<StorySplits> SplitText(absl::string_view text, absl::string_view name, const StoryCounts& counts);

}  // namespace reprise::data

#endif  // DATA_STORIES_STORY_SET_H_
