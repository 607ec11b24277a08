#include "rl/environments/number_guess/number_guess.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace reprise::rl {
namespace {

// Returns the number that the text is in plain decimal digits; nullopt for anything else.
std::optional<int64_t> ParseNumber(const std::string& text) {
  int64_t number = 0;
  const bool digits = !text.empty() && text.size() <= 9 && text[0] != '0' &&
                      std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<data::Task> NumberGuess::TaskAt(const TaskPlace& place) const {
  const DrawAt at = {.step = place.step, .prompt = place.prompt, .sample = place.attempt};
  const uint64_t drawn = DrawBelow(place.seed, place.purpose, at, static_cast<uint64_t>(largest_));
  return data::Task{.prompt = absl::StrCat("number from 1 to ", largest_, "\n"), .answer = absl::StrCat(1 + drawn)};
}

absl::StatusOr<Reply> NumberGuess::Step(const Dialogue& dialogue) {
  const std::optional<int64_t> guess = ParseNumber(dialogue.actions.back()), number = ParseNumber(dialogue.task.answer);
  if (!guess || *guess > largest_) return Reply{.observation = "invalid\n"};
  if (guess == number) return Reply{.observation = "yes\n", .reward = 1, .done = true};
  return Reply{.observation = *guess < number ? "higher\n" : "lower\n"};
}

std::optional<std::string> NumberGuess::Demonstrate(const Dialogue& dialogue) const {
  const DrawAt at = {.step = dialogue.place.step,
                     .prompt = dialogue.place.prompt,
                     .sample = dialogue.sample,
                     .turn = dialogue.actions.size()};
  return absl::StrCat(1 + DrawBelow(dialogue.place.seed, Purpose::kEnvironment, at, static_cast<uint64_t>(largest_)));
}

}  // namespace reprise::rl
