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
  return field.IsText() ? "text in quotes" : field.TypeText();
}

absl::Status SetInt(const Field& field, int64_t value, int64_t& target) {
  const IntRange* range = std::get_if<IntRange>(&field.allowed);
  if (range != nullptr && !range->Contains(value)) return Mismatch(field, absl::StrCat(value), range->Text());
  target = value;
  return absl::OkStatus();
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
  if (std::holds_alternative<double*>(field.target)) return absl::StrCat("a number: write ", Literal(number));
  int64_t whole = 0;
  if (absl::SimpleAtoi(*text, &whole)) return absl::StrCat("a whole number: write ", whole);
  return absl::StrCat(field.TypeText(), ", ", field.AllowedText());
}

absl::Status SetDouble(const Field& field, double value, double& target) {
  if (!std::isfinite(value)) return Mismatch(field, Literal(value), "a finite number");
  if (std::fpclassify(value) == FP_SUBNORMAL) {
    return Mismatch(field, Literal(value), "0 or a number of 2.3e-308 or more in magnitude");
  }
  const DoubleRange* range = std::get_if<DoubleRange>(&field.allowed);
  if (range != nullptr && !range->Contains(value)) return Mismatch(field, Literal(value), range->Text());
  target = value == 0 ? 0 : value;
  return absl::OkStatus();
}

absl::Status SetEnum(const Field& field, const std::string& value, const EnumTarget& target) {
  const Names& names = std::get<Names>(field.allowed);
  const auto name = std::find(names.begin(), names.end(), value);
  if (name == names.end()) return Mismatch(field, Quoted(value), "");
  target.set(target.value, static_cast<size_t>(name - names.begin()));
  return absl::OkStatus();
}

absl::Status SetString(const Field& field, const std::string& value, std::string& target) {
  const Names* names = std::get_if<Names>(&field.allowed);
  const auto is_known = [names](absl::string_view word) {
    return std::find(names->begin(), names->end(), word) != names->end();
  };
  if (names != nullptr) {
    const Names words = field.several ? Names(absl::StrSplit(value, ' ')) : Names{value};
    if (!std::all_of(words.begin(), words.end(), is_known)) return Mismatch(field, Quoted(value), "");
  }
  target = value;
  return absl::OkStatus();
}

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

Value Field::Get() const {
  if (const EnumTarget* choice = std::get_if<EnumTarget>(&target)) {
    return std::string(std::get<Names>(allowed)[choice->get(choice->value)]);
  }
  if (bool* const* truth = std::get_if<bool*>(&target)) return **truth;
  if (int64_t* const* whole = std::get_if<int64_t*>(&target)) return **whole;
  if (double* const* number = std::get_if<double*>(&target)) return **number;
  return *std::get<std::string*>(target);
}

bool Field::IsText() const {
  return std::holds_alternative<std::string*>(target) || std::holds_alternative<EnumTarget>(target);
}

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

absl::Status Field::Set(const Value& value) const {
  if (bool* const* truth = std::get_if<bool*>(&target)) {
    if (!std::holds_alternative<bool>(value)) return Mismatch(*this, Literal(value), "");
    **truth = std::get<bool>(value);
    return absl::OkStatus();
  }
  const int64_t* const whole_value = std::get_if<int64_t>(&value);
  if (int64_t* const* whole = std::get_if<int64_t*>(&target)) {
    if (whole_value != nullptr) return SetInt(*this, *whole_value, **whole);
    const double* const other = std::get_if<double>(&value);
    return Mismatch(*this, Literal(value), other ? ExpectedWhole(*this, *other) : ExpectedNumber(*this, value));
  }
  if (double* const* number = std::get_if<double*>(&target)) {
    if (whole_value != nullptr) return SetDouble(*this, static_cast<double>(*whole_value), **number);
    const double* const number_value = std::get_if<double>(&value);
    return number_value ? SetDouble(*this, *number_value, **number)
                        : Mismatch(*this, Literal(value), ExpectedNumber(*this, value));
  }
  const std::string* const text_value = std::get_if<std::string>(&value);
  if (text_value == nullptr) return Mismatch(*this, Literal(value), "");
  if (const EnumTarget* choice = std::get_if<EnumTarget>(&target)) return SetEnum(*this, *text_value, *choice);
  return SetString(*this, *text_value, *std::get<std::string*>(target));
}

std::string Field::TypeText() const {
  if (std::holds_alternative<bool*>(target)) return "true or false";
  if (std::holds_alternative<int64_t*>(target)) return "a whole number";
  if (std::holds_alternative<double*>(target)) return "a number";
  return !std::holds_alternative<Names>(allowed) ? "text" : several ? "names" : "a name";
}

std::string Field::AllowedText() const {
  if (const IntRange* range = std::get_if<IntRange>(&allowed)) return range->Text();
  if (const DoubleRange* range = std::get_if<DoubleRange>(&allowed)) return range->Text();
  if (const Names* names = std::get_if<Names>(&allowed)) return OneOf(*names);
  return "";
}

}  // namespace reprise::config
