#include "data/tasks/task.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/config/unknown_name.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::data {
namespace {

constexpr absl::string_view kNames[] = {"addition", "reverse", "sort", "lookup"};  // in the order of the enumeration

absl::Status InRange(absl::string_view key, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, " is ", value, "; expected ", low, " to ", high));
}

// The source of a task's randomness. Each generator of tasks numbers its draws: the i-th draw does not depend on which
// other draws are made.
struct TaskDraw {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kTask;
  uint64_t step = 0;
  uint64_t index = 0;
  uint64_t attempt = 0;

  // Uniform in {low, ..., high}.
  int64_t Between(uint64_t i, int64_t low, int64_t high) const {
    return low +
           static_cast<int64_t>(DrawBelow(seed, purpose, {.step = step, .prompt = index, .turn = attempt, .token = i},
                                          static_cast<uint64_t>(high - low + 1)));
  }
};

// Uses draws [first_draw, first_draw + digits).
std::string Number(const TaskDraw& draw, uint64_t first_draw, int64_t digits) {
  std::string number;
  for (int64_t i = 0; i < digits; ++i) {
    const int64_t least = i == 0 && digits > 1 ? 1 : 0;
    number.push_back(static_cast<char>('0' + draw.Between(first_draw + static_cast<uint64_t>(i), least, 9)));
  }
  return number;
}

struct Addition {
  std::string sum, carries;  // the carries from the lowest digit on
};

Addition Add(const std::string& a, const std::string& b) {
  std::string reversed, carries;
  int carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    const int digit_a = i < a.size() ? a[a.size() - 1 - i] - '0' : 0;
    const int digit_b = i < b.size() ? b[b.size() - 1 - i] - '0' : 0;
    const int sum = digit_a + digit_b + carry;
    reversed.push_back(static_cast<char>('0' + sum % 10));
    carry = sum / 10;
    carries.push_back(static_cast<char>('0' + carry));
  }
  return {{reversed.rbegin(), reversed.rend()}, carries};
}

// "12+7=" -> "19": the number of digits of each summand is uniform within the lengths, and then every number with that
// many digits is equally likely (without leading zeros; a one-digit number may be 0). Any length is allowed: the sum is
// computed digit by digit.
Task MakeAddition(const TaskDraw& draw, const TaskOptions& options) {
  const int64_t digits_a = draw.Between(0, options.min_length, options.max_length);
  const int64_t digits_b = draw.Between(1, options.min_length, options.max_length);
  const std::string a = Number(draw, 2, digits_a);
  const std::string b = Number(draw, 2 + static_cast<uint64_t>(options.max_length), digits_b);
  Addition addition = Add(a, b);
  return {.prompt = a + "+" + b + "=", .answer = std::move(addition.sum), .hint = std::move(addition.carries)};
}

// A uniform length, then independent uniform letters (which may repeat).
std::string Word(const TaskDraw& draw, const TaskOptions& options) {
  const int64_t length = draw.Between(0, options.min_length, options.max_length);
  std::string word;
  for (int64_t i = 0; i < length; ++i) {
    word.push_back(static_cast<char>('a' + draw.Between(1 + static_cast<uint64_t>(i), 0, options.alphabet_size - 1)));
  }
  return word;
}

// "abcde=" -> "edcba".
Task MakeReverse(const TaskDraw& draw, const TaskOptions& options) {
  const std::string word = Word(draw, options);
  return {.prompt = word + "=", .answer = {word.rbegin(), word.rend()}};
}

// "cabed=" -> "abcde".
Task MakeSort(const TaskDraw& draw, const TaskOptions& options) {
  const std::string word = Word(draw, options);
  Task task = {.prompt = word + "=", .answer = word};
  std::sort(task.answer.begin(), task.answer.end());
  return task;
}

// The first letters of the alphabet in a uniform order (Fisher and Yates). Uses draws [first_draw, first_draw +
// alphabet_size).
std::string ShuffledLetters(const TaskDraw& draw, uint64_t first_draw, int64_t alphabet_size) {
  std::string letters;
  for (int64_t i = 0; i < alphabet_size; ++i) letters.push_back(static_cast<char>('a' + i));
  for (int64_t i = alphabet_size - 1; i > 0; --i) {
    std::swap(letters[i], letters[draw.Between(first_draw + static_cast<uint64_t>(i), 0, i)]);
  }
  return letters;
}

// "ca,bc,ab;2a=" -> "c": every cycle of the letters, every order of its pairs, every letter that is asked for and every
// number of steps within the lengths is equally likely. In a cycle the letters one and two steps behind are never the
// same (of three or more), so that the answer to one question is no answer to the other.
Task MakeLookup(const TaskDraw& draw, const TaskOptions& options) {
  const uint64_t letters = static_cast<uint64_t>(options.alphabet_size);
  const int64_t steps = draw.Between(0, options.min_length, options.max_length);
  const std::string cycle = ShuffledLetters(draw, 1, options.alphabet_size);
  const std::string order = ShuffledLetters(draw, 1 + letters, options.alphabet_size);
  const auto behind = [&](char letter, int64_t count) {
    return cycle[(cycle.find(letter) + static_cast<size_t>(count)) % cycle.size()];
  };
  std::string text;
  for (const char letter : order) {
    absl::StrAppend(&text, text.empty() ? "" : ",", std::string{letter, behind(letter, 1)});
  }
  const char asked = static_cast<char>('a' + draw.Between(1 + 2 * letters, 0, options.alphabet_size - 1));
  std::string way = steps == 1 ? std::string(1, asked) : "";
  for (int64_t step = 1; step < steps; ++step) way.push_back(behind(asked, step));
  return {.prompt = absl::StrCat(text, ";", steps, std::string(1, asked), "="),
          .answer = {behind(asked, steps)},
          .hint = std::move(way)};
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

// "12+7=" -> "7+12=".
std::string CanonicalAddition(absl::string_view prompt) {
  absl::string_view sum = prompt;
  if (!absl::ConsumeSuffix(&sum, "=")) return std::string(prompt);
  std::vector<absl::string_view> numbers = absl::StrSplit(sum, '+');
  if (!std::all_of(numbers.begin(), numbers.end(), IsNumber)) return std::string(prompt);
  std::sort(numbers.begin(), numbers.end(), [](absl::string_view a, absl::string_view b) {
    return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);
  });
  return absl::StrCat(absl::StrJoin(numbers, "+"), "=");
}

// "cabed=" -> "abcde=".
std::string CanonicalSort(absl::string_view prompt) {
  std::string letters(prompt);
  if (absl::EndsWith(prompt, "=")) std::sort(letters.begin(), letters.end() - 1);
  return letters;
}

// "ca,bc,ab;2a=" -> "ab,bc,ca;2a=".
std::string CanonicalLookup(absl::string_view prompt) {
  const size_t end = prompt.find(';');
  if (end == absl::string_view::npos) return std::string(prompt);
  std::vector<absl::string_view> pairs = absl::StrSplit(prompt.substr(0, end), ',');
  std::sort(pairs.begin(), pairs.end());
  return absl::StrCat(absl::StrJoin(pairs, ","), prompt.substr(end));
}

bool IsWithinLengths(const TaskOptions& options, size_t length) {
  return length >= static_cast<size_t>(options.min_length) && length <= static_cast<size_t>(options.max_length);
}

bool IsLetter(const TaskOptions& options, char c) { return c >= 'a' && c - 'a' < options.alphabet_size; }

bool CanBeSummand(const TaskOptions& options, absl::string_view number) {
  return IsNumber(number) && IsWithinLengths(options, number.size()) && (number.size() == 1 || number[0] != '0');
}

bool CanBeWord(const TaskOptions& options, absl::string_view word) {
  return IsWithinLengths(options, word.size()) &&
         std::all_of(word.begin(), word.end(), [&](char c) { return IsLetter(options, c); });
}

// `question`: the steps and the letter. Every cycle of the letters has each of them once on either side of a pair.
bool CanBeLookup(const TaskOptions& options, absl::string_view pairs, absl::string_view question) {
  int64_t steps = 0;
  if (question.size() < 2 || question[0] == '0' || !IsLetter(options, question.back())) return false;
  question.remove_suffix(1);
  if (!IsNumber(question) || !absl::SimpleAtoi(question, &steps)) return false;
  std::string from, to;
  for (const absl::string_view pair : absl::StrSplit(pairs, ',')) {
    if (pair.size() != 2) return false;
    from.push_back(pair[0]);
    to.push_back(pair[1]);
  }
  const auto are_all_letters = [&](std::string letters) {
    std::sort(letters.begin(), letters.end());
    return static_cast<int64_t>(letters.size()) == options.alphabet_size && IsLetter(options, letters.back()) &&
           std::adjacent_find(letters.begin(), letters.end()) == letters.end() && letters.front() >= 'a';
  };
  return steps >= options.min_length && steps <= options.max_length && are_all_letters(from) && are_all_letters(to);
}

}  // namespace

std::vector<absl::string_view> TaskNames() { return {std::begin(kNames), std::end(kNames)}; }

absl::StatusOr<TaskKind> ParseTaskKind(absl::string_view name) { return ParseName<TaskKind>("task", name, kNames); }

absl::Status ValidateTaskOptions(const TaskOptions& options) {
  RETURN_IF_ERROR(InRange("max_length", options.max_length, 1, kMaxTaskLength));
  RETURN_IF_ERROR(InRange("min_length", options.min_length, 1, options.max_length));
  return InRange("alphabet_size", options.alphabet_size, 1, 26);
}

std::string CanonicalProblem(TaskKind kind, absl::string_view prompt) {
  switch (kind) {
    case TaskKind::kAddition:
      return CanonicalAddition(prompt);
    case TaskKind::kReverse:
      break;
    case TaskKind::kSort:
      return CanonicalSort(prompt);
    case TaskKind::kLookup:
      return CanonicalLookup(prompt);
  }
  return std::string(prompt);
}

bool CanBePrompt(const TaskOptions& options, absl::string_view prompt) {
  if (!absl::ConsumeSuffix(&prompt, "=")) return false;
  const char separator = options.kind == TaskKind::kAddition ? '+' : ';';
  const std::vector<absl::string_view> parts = absl::StrSplit(prompt, separator);
  switch (options.kind) {
    case TaskKind::kAddition:
      return parts.size() == 2 && CanBeSummand(options, parts[0]) && CanBeSummand(options, parts[1]);
    case TaskKind::kReverse:
    case TaskKind::kSort:
      return CanBeWord(options, prompt);
    case TaskKind::kLookup:
      break;
  }
  return parts.size() == 2 && CanBeLookup(options, parts[0], parts[1]);
}

Task MakeTask(const TaskOptions& options, uint64_t seed, Purpose purpose, uint64_t step, uint64_t index,
              uint64_t attempt) {
  CHECK(ValidateTaskOptions(options).ok());
  const TaskDraw draw = {.seed = seed, .purpose = purpose, .step = step, .index = index, .attempt = attempt};
  switch (options.kind) {
    case TaskKind::kAddition:
      return MakeAddition(draw, options);
    case TaskKind::kReverse:
      return MakeReverse(draw, options);
    case TaskKind::kSort:
      return MakeSort(draw, options);
    case TaskKind::kLookup:
      break;
  }
  return MakeLookup(draw, options);
}

}  // namespace reprise::data
