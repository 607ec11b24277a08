#ifndef RL_ENVIRONMENTS_COUNTDOWN_COUNTDOWN_H_
#define RL_ENVIRONMENTS_COUNTDOWN_COUNTDOWN_H_

// The numbers round of the television game: reach a target by + - * / and parentheses over given whole numbers, each of
// which may be used once. With max_turns above 1, the reply to a miss is its value, and the policy may try again:
//   "3 5 7 -> 22\n"  3+5*7  "38\n"  3*5+7 (reward 1)
// The reply to anything else is "invalid\n". Demonstrations solve the task.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

struct Calculation {
  int64_t value = 0;
  std::vector<int64_t> numbers;  // in the order of the text, from left to right
};

// Evaluates an expression of whole numbers with + - * / and parentheses, the usual precedence, and optional spaces.
// Returns nullopt for any other text, for a division with a remainder, and for values above 10^12 or more than 64
// nested parentheses. Pure.
std::optional<Calculation> Calculate(absl::string_view text);

class Countdown : public StatelessEnvironment {
 public:
  // Tasks have `numbers` numbers (at least 2) from 1 to `largest`, 1 to 500,000: then some
  // operation of each two numbers gives at most six digits (TaskAt).
  Countdown(int64_t numbers, int64_t largest) : numbers_(numbers), largest_(largest) {}

  // The target is the value, a positive number, of a random calculation with all of the numbers, which is the task's
  // answer. Other solutions are rewarded equally.
  std::optional<data::Task> TaskAt(const TaskPlace& place) const override;
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;

 private:
  const int64_t numbers_, largest_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENTS_COUNTDOWN_COUNTDOWN_H_
