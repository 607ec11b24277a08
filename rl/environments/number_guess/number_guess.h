#ifndef RL_ENVIRONMENTS_NUMBER_GUESS_NUMBER_GUESS_H_
#define RL_ENVIRONMENTS_NUMBER_GUESS_NUMBER_GUESS_H_

// The policy guesses a number from 1 to `largest`. A guess is only its digits; the reply to a wrong one is "higher" or
// "lower":
//   "number from 1 to 16\n"  8  "higher\n"  12  "lower\n"  10 (reward 1)
// The reply to anything but a number in the range is "invalid\n", and the turn is used up. Demonstrations guess at
// random, regardless of the replies: they show the form of a guess and not how to find the number.

#include "rl/environment/environment.h"

namespace reprise::rl {

class NumberGuess : public StatelessEnvironment {
 public:
  explicit NumberGuess(int64_t largest) : largest_(largest) {}  // at least 1

  // The number is uniform; it is the task's answer.
  std::optional<data::Task> TaskAt(const TaskPlace& place) const override;
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;
  std::optional<std::string> Demonstrate(const Dialogue& dialogue) const override;

 private:
  const int64_t largest_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENTS_NUMBER_GUESS_NUMBER_GUESS_H_
