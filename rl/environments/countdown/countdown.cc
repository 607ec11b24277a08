#include "rl/environments/countdown/countdown.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace reprise::rl {
namespace {

constexpr int64_t kGreatest = 1'000'000'000'000;
constexpr int kDeepest = 64;

__extension__ using Wide = __int128;  // products of two numbers within kGreatest, and sums of two of those

// Euclid's algorithm; of 0 and b it is b.
Wide GreatestCommonDivisor(Wide a, Wide b) {
  if (a < 0) a = -a;
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// Recursive descent: sum = product {(+|-) product}, product = factor {(*|/) factor}, factor = number | "(" sum ")".
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  std::optional<Calculation> Parse() {
    const std::optional<Fraction> value = Sum();
    if (!value || Peek() != '\0' || !text_.empty()) return std::nullopt;
    return Calculation{*value, std::move(numbers_)};
  }

 private:
  // Returns the next character that is not a space; 0 at the end.
  char Peek() {
    while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }

  bool Take(char wanted) {
    if (Peek() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::optional<Fraction> Sum() {
    std::optional<Fraction> value = Product();
    while (value && (Peek() == '+' || Peek() == '-')) {
      const Wide sign = Take('-') ? -1 : 1;
      if (sign > 0) Take('+');
      const std::optional<Fraction> other = Product();
      if (!other) return std::nullopt;
      value = Reduced(Wide{value->numerator} * other->denominator + sign * other->numerator * value->denominator,
                      Wide{value->denominator} * other->denominator);
    }
    return value;
  }

  std::optional<Fraction> Product() {
    std::optional<Fraction> value = Factor();
    while (value && (Peek() == '*' || Peek() == '/')) {
      const bool divide = Take('/');
      if (!divide) Take('*');
      std::optional<Fraction> other = Factor();
      if (!other) return std::nullopt;
      if (divide) std::swap(other->numerator, other->denominator);
      value = Reduced(Wide{value->numerator} * other->numerator, Wide{value->denominator} * other->denominator);
    }
    return value;
  }

  std::optional<Fraction> Factor() {
    if (absl::ascii_isdigit(Peek())) return Number();
    if (depth_ == kDeepest || !Take('(')) return std::nullopt;
    ++depth_;
    const std::optional<Fraction> value = Sum();
    --depth_;
    return Take(')') ? value : std::nullopt;
  }

  std::optional<Fraction> Number() {
    int64_t number = 0;
    for (; !text_.empty() && absl::ascii_isdigit(text_[0]); text_.remove_prefix(1)) {
      number = 10 * number + (text_[0] - '0');
      if (number > kGreatest) return std::nullopt;
    }
    numbers_.push_back(number);
    return Fraction{number, 1};
  }

  // Returns the fraction in lowest terms; nullopt where it has no value, or beyond the bounds.
  static std::optional<Fraction> Reduced(Wide numerator, Wide denominator) {
    if (denominator == 0) return std::nullopt;
    if (denominator < 0) numerator = -numerator, denominator = -denominator;
    const Wide divisor = GreatestCommonDivisor(numerator, denominator);
    const Wide above = numerator / divisor, below = denominator / divisor;
    if (above > kGreatest || above < -kGreatest || below > kGreatest) return std::nullopt;
    return Fraction{static_cast<int64_t>(above), static_cast<int64_t>(below)};
  }

  absl::string_view text_;
  std::vector<int64_t> numbers_;
  int depth_ = 0;
};

constexpr absl::string_view kArrow = " -> ";
constexpr int64_t kGreatestTarget = 999'999;

struct Problem {
  std::vector<int64_t> numbers;
  int64_t target = 0;
};

// Parses a prompt, the inverse of its construction in TaskAt; nullopt for any other text.
std::optional<Problem> ParseProblem(absl::string_view prompt) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(prompt, absl::MaxSplits(kArrow, 1));
  Problem problem;
  for (const absl::string_view word : absl::StrSplit(parts.first, ' ')) {
    if (!absl::SimpleAtoi(word, &problem.numbers.emplace_back())) return std::nullopt;
  }
  if (!absl::SimpleAtoi(parts.second, &problem.target)) return std::nullopt;
  return problem;
}

// Returns whether each used number is given, at least as often as it is used.
bool UsesOnly(std::vector<int64_t> used, std::vector<int64_t> given) {
  std::sort(used.begin(), used.end());
  std::sort(given.begin(), given.end());
  return std::includes(given.begin(), given.end(), used.begin(), used.end());
}

// Extends the calculation by `number`: uses the first drawn operator whose result is a positive whole number within
// bounds. There is one: where the sum is too great, the value exceeds half of kGreatestTarget, so that `number`, if it
// is not greater, can be subtracted or divides; and it is not greater, as it is at most 500,000.
void Extend(int64_t number, uint64_t drawn, int64_t* value, std::string* text) {
  constexpr absl::string_view kOperators = "-/*+";
  for (uint64_t i = 0;; ++i) {
    const char op = kOperators[(drawn + i) % kOperators.size()];
    int64_t next = *value + number;
    if (op == '-') next = *value - number;
    if (op == '*') next = *value * number;
    if (op == '/') next = *value % number == 0 ? *value / number : 0;
    if (next < 1 || next > kGreatestTarget) continue;
    // A sum needs no parentheses within a sum; with any other operator it does.
    const bool bare = op == '+' || op == '-' || text->find_first_of("+-") == std::string::npos;
    *text = bare ? absl::StrCat(*text, std::string(1, op), number)
                 : absl::StrCat("(", *text, ")", std::string(1, op), number);
    *value = next;
    return;
  }
}

}  // namespace

std::optional<Calculation> Calculate(absl::string_view text) { return Parser(text).Parse(); }

std::optional<data::Task> Countdown::TaskAt(const TaskPlace& place) const {
  const auto draw = [&](uint64_t i, uint64_t bound) {
    return DrawBelow(place.seed, place.purpose,
                     {.step = place.step, .prompt = place.prompt, .sample = place.attempt, .token = i}, bound);
  };
  data::Task task;
  int64_t value = 0;
  for (int64_t i = 0; i < numbers_; ++i) {
    const uint64_t first = 2 * static_cast<uint64_t>(i);
    const int64_t number = 1 + static_cast<int64_t>(draw(first, static_cast<uint64_t>(largest_)));
    absl::StrAppend(&task.prompt, i == 0 ? "" : " ", number);
    if (i == 0) {
      value = number;
      task.answer = absl::StrCat(number);
    } else {
      Extend(number, draw(first + 1, 4), &value, &task.answer);
    }
  }
  absl::StrAppend(&task.prompt, kArrow, value, "\n");
  return task;
}

absl::StatusOr<Reply> Countdown::Step(const Dialogue& dialogue) {
  const std::optional<Problem> problem = ParseProblem(dialogue.task.prompt);
  if (!problem) {
    return absl::DataLossError(
        absl::StrCat(DialogueName(dialogue), ": \"", absl::StripAsciiWhitespace(dialogue.task.prompt),
                     "\" is no problem of countdown; expected numbers and a target, as in 3 5 7 -> 22"));
  }
  const std::optional<Calculation> calculation = Calculate(dialogue.actions.back());
  if (!calculation || !UsesOnly(calculation->numbers, problem->numbers)) return Reply{.observation = "invalid\n"};
  const auto [numerator, denominator] = calculation->value;
  if (numerator == problem->target && denominator == 1) return Reply{.observation = "yes\n", .reward = 1, .done = true};
  return Reply{.observation =
                   denominator == 1 ? absl::StrCat(numerator, "\n") : absl::StrCat(numerator, "/", denominator, "\n")};
}

std::string Countdown::CanonicalProblem(absl::string_view prompt) const {
  std::optional<Problem> problem = ParseProblem(prompt);
  if (!problem) return std::string(prompt);
  std::sort(problem->numbers.begin(), problem->numbers.end());
  return absl::StrCat(absl::StrJoin(problem->numbers, " "), kArrow, problem->target);
}

}  // namespace reprise::rl
