#include "data/stories/story_set.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/io/byte_order_mark.h"
#include "core/io/foreign_format.h"
#include "core/random/draw.h"
#include "core/status/check.h"

namespace reprise::data {
namespace {

constexpr absl::string_view kHeroes[] = {"Tom", "Lily", "Max", "Anna", "Ben", "Mia", "Sam", "Sue"};
constexpr absl::string_view kKinds[] = {"a cat", "a dog", "a girl", "a boy", "a bird", "a frog", "a bear", "a mouse"};
constexpr absl::string_view kThings[] = {"ball", "hat", "cake", "boat", "book", "drum", "kite", "apple"};
constexpr absl::string_view kPlaces[] = {"the park", "the house", "the lake", "the wood", "the hill", "the shop"};
constexpr absl::string_view kMoods[] = {"happy", "sad", "tired", "proud", "brave", "kind"};

// The stories have the second half of the steps, so that no draw of theirs is one of an image.
constexpr uint64_t kStoryStep = uint64_t{1} << 31;

struct StoryDraw {
  uint64_t seed = 0, index = 0;

  template <size_t kCount>
  absl::string_view Of(const absl::string_view (&choices)[kCount], uint64_t token) const {
    const DrawAt at = {.step = kStoryStep + (index >> 24), .prompt = index & 0xffffff, .token = token};
    return choices[DrawBelow(seed, Purpose::kGeneratedExample, at, kCount)];
  }
};

void AppendSequences(absl::string_view text, int64_t count, StorySet* set) {
  const size_t size = static_cast<size_t>(count * (set->block + 1));
  CHECK_GE(text.size(), size);
  set->token_NT.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
}

int64_t BytesOf(const StoryCounts& counts) { return (counts.train + counts.validation) * (counts.block + 1); }

StorySplits Cut(absl::string_view text, const StoryCounts& counts) {
  StorySplits splits = {{.block = counts.block}, {.block = counts.block}};
  AppendSequences(text, counts.train, &splits.train);
  text.remove_prefix(splits.train.token_NT.size());
  AppendSequences(text, counts.validation, &splits.validation);
  return splits;
}

}  // namespace

std::string GeneratedStory(uint64_t seed, uint64_t index) {
  const StoryDraw draw = {seed, index};
  const absl::string_view hero = draw.Of(kHeroes, 0), kind = draw.Of(kKinds, 1), thing = draw.Of(kThings, 2);
  const absl::string_view place = draw.Of(kPlaces, 3), mood = draw.Of(kMoods, 4), end = draw.Of(kMoods, 5);
  return absl::StrCat("Once there was ", kind, " named ", hero, ". ", hero, " had a ", thing, ". One day ", hero,
                      " went to ", place, " with the ", thing, ". ", hero, " was ", mood, ". At ", place, " ", hero,
                      " lost the ", thing, ". But a friend found the ", thing, ", and ", hero, " was ", end, ".\n");
}

StorySplits GeneratedStories(uint64_t seed, const StoryCounts& counts) {
  std::string text;
  for (uint64_t index = 0; static_cast<int64_t>(text.size()) < BytesOf(counts); ++index) {
    text += GeneratedStory(seed, index);
  }
  return Cut(text, counts);
}

absl::StatusOr<StorySplits> SplitText(absl::string_view text, absl::string_view name, const StoryCounts& counts) {
  text = WithoutByteOrderMark(text);
  if (static_cast<int64_t>(text.size()) < BytesOf(counts)) {
    const std::string foreign = ForeignFormat(text);
    if (!foreign.empty()) return absl::DataLossError(absl::StrCat(name, ": ", foreign));
    return absl::DataLossError(absl::StrCat(name, " has ", text.size(), " bytes, but ", counts.train,
                                            " sequences for "
                                            "training and ",
                                            counts.validation, " for validation of ", counts.block + 1, " bytes need ",
                                            BytesOf(counts), ": use a longer text, or fewer or shorter sequences"));
  }
  return Cut(text, counts);
}

}  // namespace reprise::data
