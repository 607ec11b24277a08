#include "rl/workloads/memory_agent/facts_story.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

using Kind = FactMessage::Kind;

constexpr int32_t kNumThings = static_cast<int32_t>(std::size(kThings));
constexpr int32_t kNumPlaces = static_cast<int32_t>(std::size(kPlaces));
constexpr size_t kThingsOfStory = 6;

// Of what can happen next, how often it does, relative to the others.
constexpr int kNew = 4, kMoved = 1, kGone = 2, kTalk = 1;

absl::string_view ThingName(int32_t thing) { return kThings[thing]; }

std::string BeginSentence(int32_t thing) { return absl::StrCat("The ", ThingName(thing), " is "); }

// A story as it is being drawn.
class Story {
 public:
  Story(uint64_t seed, Purpose purpose, const DrawAt& at) : seed_(seed), purpose_(purpose), at_(at) {
    for (int32_t thing = 0; thing < kNumThings; ++thing) untold_.push_back(thing);
    while (untold_.size() > kThingsOfStory) untold_.erase(untold_.begin() + Below(untold_.size()));
    things_ = untold_;
  }

  int64_t Below(size_t bound) {
    const uint64_t drawn = DrawBelow(seed_, purpose_, at_, static_cast<uint64_t>(bound));
    ++at_.token;
    return static_cast<int64_t>(drawn);
  }

  FactMessage Next() {
    const bool has_room = static_cast<int64_t>(known_.size()) < kStoredThings;
    const int is_new = has_room && !untold_.empty() ? kNew : 0;
    const int is_moved = known_.empty() ? 0 : kMoved, is_talk = known_.empty() ? 0 : kTalk;
    const int is_gone = known_.size() < 2 ? 0 : kGone;
    int64_t drawn = Below(static_cast<size_t>(is_new + is_moved + is_gone + is_talk));
    if (drawn < is_new) return New();
    if ((drawn -= is_new) < is_moved) return Moved();
    return drawn - is_moved < is_gone ? Gone() : Talk();
  }

  FactMessage Talk() { return {Kind::kTalk, things_[Below(things_.size())]}; }

  FactMessage Question() {
    const auto& [thing, place] = known_[Below(known_.size())];
    return {Kind::kQuestion, thing, place};
  }

 private:
  FactMessage New() {
    const auto thing = untold_.begin() + Below(untold_.size());
    known_.emplace_back(*thing, static_cast<int32_t>(Below(kNumPlaces)));
    untold_.erase(thing);
    return {Kind::kPlace, known_.back().first, known_.back().second};
  }
  FactMessage Moved() {
    auto& [thing, place] = known_[Below(known_.size())];
    place = static_cast<int32_t>((place + 1 + Below(kNumPlaces - 1)) % kNumPlaces);
    return {Kind::kPlace, thing, place};
  }
  FactMessage Gone() {
    const auto gone = known_.begin() + Below(known_.size());
    const int32_t thing = gone->first;
    known_.erase(gone);
    return {Kind::kGone, thing};
  }

  const uint64_t seed_;
  const Purpose purpose_;
  DrawAt at_;
  std::vector<int32_t> untold_, things_;
  std::vector<std::pair<int32_t, int32_t>> known_;  // things and their places
};

}  // namespace

std::string FormatMessage(const FactMessage& message) {
  switch (message.kind) {
    case Kind::kPlace:
      return absl::StrCat(BeginSentence(message.thing), kPlaces[static_cast<size_t>(message.place)], ".");
    case Kind::kGone:
      return absl::StrCat(BeginSentence(message.thing), "gone for good.");
    case Kind::kTalk:
      return absl::StrCat("Somebody asked for the ", ThingName(message.thing), ".");
    case Kind::kQuestion:
      return absl::StrCat("Where is the ", ThingName(message.thing), "?");
  }
  return "";
}

std::string PlaceIn(absl::string_view text, int32_t thing) {
  const std::string begin = BeginSentence(thing);
  const size_t at = text.rfind(begin);
  if (at == text.npos) return "";
  text.remove_prefix(at + begin.size());
  return std::string(text.substr(0, text.find('.')));
}

std::vector<FactMessage> DrawFactsStory(uint64_t seed, Purpose purpose, DrawAt at) {
  Story story(seed, purpose, at);
  const int64_t length =
      kFactsLengths.least + story.Below(static_cast<size_t>(kFactsLengths.most - kFactsLengths.least + 1));
  std::vector<FactMessage> message_T;
  for (int64_t t = 0; t < length - kFactsLastTalk - kQuestionTurns; ++t) message_T.push_back(story.Next());
  for (int64_t t = 0; t < kFactsLastTalk; ++t) message_T.push_back(story.Talk());
  message_T.insert(message_T.end(), kQuestionTurns, story.Question());
  return message_T;
}

}  // namespace reprise::rl
