#include "core/config/field.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace reprise::config {
namespace {

// Whole bounds are printed without a fraction: 1, not 1.0.
std::string Bound(double value) {
  const std::string text = Literal(value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string DoubleInterval(const DoubleRange& range) {
  const bool below = std::isfinite(range.low), above = std::isfinite(range.high);
  if (!below && !above) return "any number";
  if (below && above && !range.without_low && !range.without_high) {
    return absl::StrCat(Bound(range.low), " to ", Bound(range.high));
  }
  const std::string from = !below              ? ""
                           : range.without_low ? absl::StrCat("more than ", Bound(range.low))
                                               : absl::StrCat(Bound(range.low), " or more");
  const std::string to = !above               ? ""
                         : range.without_high ? absl::StrCat("less than ", Bound(range.high))
                                              : absl::StrCat("at most ", Bound(range.high));
  return absl::StrCat(from, below && above ? ", " : "", to);
}

using Names = std::vector<absl::string_view>;

template <typename... Types>
bool IsOneOf(const Target& target) {
  return (std::holds_alternative<Types>(target) || ...);
}

bool IsTruth(const Target& target) { return IsOneOf<bool*, Access<bool>>(target); }
bool IsOptional(const Target& target) { return IsOneOf<std::optional<double>*, std::optional<Interval>*>(target); }
bool IsNumber(const Target& target) { return IsOneOf<double*, std::optional<double>*, Access<double>>(target); }

// "a", "a or b", "a, b or c", each in quotes.
std::string OneOf(const Names& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", Quoted(names[i]));
  }
  return text;
}

std::string ExpectedType(const Field& field) {
  const Names* names = std::get_if<Names>(&field.allowed);
  if (names != nullptr) return absl::StrCat(field.several ? "one or more of " : "", OneOf(*names));
  return field.IsText() && !IsOptional(field.target) ? "text in quotes" : field.TypeText();
}

absl::StatusOr<Value> AcceptInt(const Field& field, int64_t value) {
  const IntRange* range = std::get_if<IntRange>(&field.allowed);
  if (range != nullptr && !range->Contains(value)) return Mismatch(field, absl::StrCat(value), range->Text());
  return Value(value);
}

// "a whole number", followed by the whole-number spelling of a value that was written otherwise, such as 1e3.
std::string ExpectedWhole(const Field& field, double value) {
  constexpr double kLargest = 9007199254740992.0;  // 2^53: each whole number up to here is a double
  const bool is_whole = std::trunc(value) == value && std::abs(value) <= kLargest;
  return absl::StrCat(field.TypeText(), is_whole ? absl::StrCat(": write ", static_cast<int64_t>(value)) : "");
}

// What is written as text: a number in quotes, one that TOML writes otherwise (.5), or one beyond 64 bits.
std::string ExpectedNumber(const Field& field, const Value& value) {
  const std::string* const text = std::get_if<std::string>(&value);
  double number = 0;
  if (text == nullptr || !absl::SimpleAtod(*text, &number) || !std::isfinite(number)) return field.TypeText();
  if (!std::holds_alternative<int64_t*>(field.target)) return absl::StrCat("a number: write ", Literal(number));
  int64_t whole = 0;
  if (absl::SimpleAtoi(*text, &whole)) return absl::StrCat("a whole number: write ", whole);
  return absl::StrCat(field.TypeText(), ", ", field.AllowedText());
}

absl::StatusOr<Value> AcceptDouble(const Field& field, double value) {
  if (!std::isfinite(value)) return Mismatch(field, Literal(value), "a finite number");
  if (std::fpclassify(value) == FP_SUBNORMAL) {
    return Mismatch(field, Literal(value), "0 or a number of 2.3e-308 or more in magnitude");
  }
  const DoubleRange* range = std::get_if<DoubleRange>(&field.allowed);
  if (range != nullptr && !range->Contains(value)) return Mismatch(field, Literal(value), field.AllowedText());
  return Value(value == 0 ? 0.0 : value);
}

absl::StatusOr<Value> AcceptNumber(const Field& field, const Value& value) {
  if (const int64_t* whole = std::get_if<int64_t>(&value)) return AcceptDouble(field, static_cast<double>(*whole));
  if (const double* number = std::get_if<double>(&value)) return AcceptDouble(field, *number);
  return Mismatch(field, Literal(value), ExpectedNumber(field, value));
}

absl::StatusOr<Value> AcceptWhole(const Field& field, const Value& value) {
  if (const int64_t* whole = std::get_if<int64_t>(&value)) return AcceptInt(field, *whole);
  const double* const other = std::get_if<double>(&value);
  return Mismatch(field, Literal(value), other ? ExpectedWhole(field, *other) : ExpectedNumber(field, value));
}

// The numbers of "-5 5", or nullopt.
std::optional<Interval> ParseInterval(absl::string_view text) {
  const Names words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  Interval interval;
  const auto is_bound = [](absl::string_view word, double* bound) {
    if (!absl::SimpleAtod(word, bound) || !(std::abs(*bound) <= kMostFloat)) return false;
    if (*bound != 0 && std::abs(*bound) < kLeastFloat) return false;
    *bound = *bound == 0 ? 0.0 : *bound;  // -0 becomes 0
    return true;
  };
  const bool is_one = words.size() == 2 && is_bound(words[0], &interval.first) &&
                      is_bound(words[1], &interval.second) && interval.first <= interval.second;
  return is_one ? std::optional(interval) : std::nullopt;
}

std::string IntervalText(const Interval& interval) {
  return absl::StrCat(Bound(interval.first), " ", Bound(interval.second));
}

absl::StatusOr<Value> AcceptInterval(const Field& field, const std::string& text) {
  const std::optional<Interval> interval = ParseInterval(text);
  if (!interval.has_value()) return Mismatch(field, Quoted(text), "");
  return Value(IntervalText(*interval));
}

absl::StatusOr<Value> AcceptText(const Field& field, const std::string& text) {
  const Names* names = std::get_if<Names>(&field.allowed);
  const auto is_known = [names](absl::string_view word) {
    return std::find(names->begin(), names->end(), word) != names->end();
  };
  if (names != nullptr) {
    const Names words = field.several ? Names(absl::StrSplit(text, ' ')) : Names{text};
    if (!std::all_of(words.begin(), words.end(), is_known)) return Mismatch(field, Quoted(text), "");
  }
  return Value(text);
}

// Reads and writes what a target leads to.
struct Reader {
  const Field& field;

  Value operator()(const bool* from) const { return *from; }
  Value operator()(const int64_t* from) const { return *from; }
  Value operator()(const double* from) const { return *from; }
  Value operator()(const std::string* from) const { return *from; }
  Value operator()(const std::optional<double>* from) const { return *from ? Value(**from) : std::string(kNone); }
  Value operator()(const std::optional<Interval>* from) const {
    return *from ? IntervalText(**from) : std::string(kNone);
  }
  Value operator()(const Access<size_t>& from) const {
    return std::string(std::get<Names>(field.allowed)[from.get(from.owner)]);
  }
  template <typename T>
  Value operator()(const Access<T>& from) const {
    return from.get(from.owner);
  }
};

struct Writer {
  const Field& field;
  const Value& value;  // that Accept returned

  template <typename T>
  void operator()(T* to) const {
    *to = std::get<T>(value);
  }
  void operator()(std::optional<double>* to) const {
    const double* const number = std::get_if<double>(&value);
    *to = number != nullptr ? std::optional(*number) : std::nullopt;
  }
  void operator()(std::optional<Interval>* to) const { *to = ParseInterval(std::get<std::string>(value)); }
  void operator()(const Access<size_t>& to) const {
    const Names& names = std::get<Names>(field.allowed);
    const auto name = std::find(names.begin(), names.end(), std::get<std::string>(value));
    to.set(to.owner, static_cast<size_t>(name - names.begin()));
  }
  template <typename T>
  void operator()(const Access<T>& to) const {
    to.set(to.owner, std::get<T>(value));
  }
};

}  // namespace

bool IntRange::Contains(int64_t value) const {
  const bool power_of_two = value > 0 && (value & (value - 1)) == 0;
  return value >= low && value <= high && (power_of_two || !only_powers_of_two);
}

std::string IntRange::Text() const {
  constexpr int64_t kNoLow = std::numeric_limits<int64_t>::min(), kNoHigh = std::numeric_limits<int64_t>::max();
  const absl::string_view what = only_powers_of_two ? "a power of two from " : "";
  if (low == kNoLow && high == kNoHigh) return "any whole number";
  if (low == kNoLow) return absl::StrCat("at most ", high);
  if (high == kNoHigh) return absl::StrCat(low, " or more");
  return absl::StrCat(what, low, " to ", high);
}

bool DoubleRange::Contains(double value) const {
  if (!std::isfinite(value)) return false;
  if (or_exactly.has_value() && value == *or_exactly) return true;
  return (without_low ? value > low : value >= low) && (without_high ? value < high : value <= high);
}

std::string DoubleRange::Text() const {
  return absl::StrCat(DoubleInterval(*this), or_exactly ? absl::StrCat(", or ", Bound(*or_exactly)) : "");
}

absl::Status Mismatch(const Field& field, absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(field.Name(), " is ", found, "; expected ", expected.empty() ? ExpectedType(field) : expected));
}

std::string Field::Name() const { return absl::StrCat(section, ".", key); }

Value Field::Get() const { return std::visit(Reader{*this}, target); }

bool Field::IsText() const { return IsOneOf<std::string*, std::optional<Interval>*, Access<size_t>>(target); }

bool Field::IsInScope() const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [](const Condition& each) { return !each.is_scope || each.holds(); });
}

const Condition* Field::FirstUnmet() const {
  for (const Condition& each : conditions) {
    if (!each.holds()) return &each;
  }
  return nullptr;
}

absl::StatusOr<Value> Field::Accept(const Value& value) const {
  const std::string* const text = std::get_if<std::string>(&value);
  if (IsOptional(target) && text != nullptr && *text == kNone) return value;
  if (IsNumber(target)) return AcceptNumber(*this, value);
  if (std::holds_alternative<int64_t*>(target)) return AcceptWhole(*this, value);
  if (IsTruth(target) ? !std::holds_alternative<bool>(value) : text == nullptr) {
    return Mismatch(*this, Literal(value), "");
  }
  if (IsTruth(target)) return value;
  return IsOptional(target) ? AcceptInterval(*this, *text) : AcceptText(*this, *text);
}

void Field::Put(const Value& value) const { std::visit(Writer{*this, value}, target); }

absl::Status Field::Set(const Value& value) const {
  const absl::StatusOr<Value> accepted = Accept(value);
  if (accepted.ok()) Put(*accepted);
  return accepted.status();
}

std::string Field::TypeText() const {
  if (IsTruth(target)) return "true or false";
  if (std::holds_alternative<int64_t*>(target)) return "a whole number";
  const absl::string_view or_none = IsOptional(target) ? " or \"none\"" : "";
  if (IsNumber(target)) return absl::StrCat("a number", or_none);
  if (IsOptional(target)) return absl::StrCat("two numbers, the lower one first, as \"-5 5\",", or_none);
  return !std::holds_alternative<Names>(allowed) ? "text" : several ? "names" : "a name";
}

std::string Field::AllowedText() const {
  if (const IntRange* range = std::get_if<IntRange>(&allowed)) return range->Text();
  const DoubleRange* const range = std::get_if<DoubleRange>(&allowed);
  if (range != nullptr) return absl::StrCat(range->Text(), IsOptional(target) ? ", or \"none\"" : "");
  if (const Names* names = std::get_if<Names>(&allowed)) return OneOf(*names);
  return "";
}

}  // namespace reprise::config
