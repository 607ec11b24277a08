#ifndef RL_WORKLOADS_MEMORY_AGENT_FACTS_STORY_H_
#define RL_WORKLOADS_MEMORY_AGENT_FACTS_STORY_H_

// What a memory agent is told and asked in an episode about facts: where things are, that they are somewhere else now,
// that they are gone, and small talk about the same things; at the end, where one of them is.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/random/draw.h"

namespace reprise::rl {

// Things share words, so that a query also finds what is stored about others.
inline constexpr absl::string_view kThings[] = {"cellar key",  "cellar lamp",  "cellar map",
                                                "harbour key", "harbour lamp", "harbour map",
                                                "mill key",    "mill lamp",    "mill map"};
inline constexpr absl::string_view kPlaces[] = {"in the blue box",  "under the stairs", "behind the clock",
                                                "on the top shelf", "beside the stove", "by the back door"};

inline constexpr int64_t kStoredThings = 3;   // whose place is known at a time, at most
inline constexpr int64_t kQuestionTurns = 2;  // in which the question stands

struct FactMessage {
  enum class Kind : uint8_t { kPlace, kGone, kTalk, kQuestion };
  Kind kind = Kind::kTalk;
  int32_t thing = 0;
  int32_t place = 0;  // of kPlace: where it is; of kQuestion: the correct answer

  bool operator==(const FactMessage&) const = default;
};

// Returns "The cellar key is in the blue box.", "The cellar key is gone for good.", "Somebody asked for the cellar
// key." or "Where is the cellar key?". Pure.
std::string FormatMessage(const FactMessage& message);

// Returns what the last sentence about the thing's place in a text says, "in the blue box" or "gone for good"; "" if
// none does. Pure.
std::string PlaceIn(absl::string_view text, int32_t thing);

// Returns one message for each turn: what is told, of which the first message is a place and the last kFactsLastTalk
// are small talk, then the question. At most kStoredThings have a place at a time; what is gone does not return, and
// the question is about something that is not gone. Its length is one of kFactsLengths; each draw has the next token,
// from at.token on. Pure.
std::vector<FactMessage> DrawFactsStory(uint64_t seed, Purpose purpose, DrawAt at);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_FACTS_STORY_H_
