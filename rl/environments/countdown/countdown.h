#ifndef RL_ENVIRONMENTS_COUNTDOWN_COUNTDOWN_H_
#define RL_ENVIRONMENTS_COUNTDOWN_COUNTDOWN_H_

// The numbers round of the television game: reach a target by + - * / and parentheses over given whole numbers, each of
// which may be used once. With max_turns above 1, the reply to a miss is its value, and the policy may try again:
//   "3 5 7 -> 22\n"  3+5*7  "38\n"  3*5+7 (reward 1)
// The reply to anything else is "invalid\n". Demonstrations solve the task. Values on the way may be fractions, as in
// TinyZero's version of the game, which evaluates the expression in floating-point arithmetic and compares with a
// tolerance; here the arithmetic is exact. (On television a division must leave no remainder.)

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "rl/environment/environment.h"

namespace reprise::rl {

// In lowest terms, with a positive denominator.
struct Fraction {
  int64_t numerator = 0, denominator = 1;

  bool operator==(const Fraction&) const = default;
};

struct Calculation {
  Fraction value;
  std::vector<int64_t> numbers;  // in the order of the text, from left to right
};

// Evaluates an expression of whole numbers with + - * / and parentheses, the usual precedence, and optional spaces.
// Returns nullopt for any other text, for a division by zero, for values whose numerator or denominator is above 10^12,
// and for more than 64 nested parentheses. Pure.
std::optional<Calculation> Calculate(absl::string_view text);

class Countdown : public StatelessEnvironment {
 public:
  // Tasks have `numbers` numbers (at least 2) from 1 to `largest`, 1 to 500,000: then some
  // operation of each two numbers gives at most six digits (TaskAt).
  Countdown(int64_t numbers, int64_t largest) : numbers_(numbers), largest_(largest) {}

  // The target is the value, a positive number, of a random calculation with all of the numbers, which is the task's
  // answer. Other solutions are rewarded equally.
  std::optional<data::Task> TaskAt(const TaskPlace& place) const override;
  // The reply to a miss is its value, "38\n" or, of a fraction, "7/2\n".
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;
  // The numbers in ascending order, and the target.
  std::string CanonicalProblem(absl::string_view prompt) const override;

 private:
  const int64_t numbers_, largest_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENTS_COUNTDOWN_COUNTDOWN_H_
