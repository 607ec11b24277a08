#include "core/json/json.h"

#include <bit>
#include <cmath>

#include "absl/status/status.h"
#include "core/json/place.h"
#include "core/json/tolerated.h"
#include "core/status/status_macros.h"
#include "simdjson.h"

namespace reprise {
namespace {

using internal::Child;
using internal::View;
namespace dom = simdjson::dom;

dom::element Dom(const auto& element) { return std::bit_cast<dom::element>(element); }

absl::string_view TypeName(dom::element element) {
  switch (element.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
      return "a number";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "a boolean";
    case dom::element_type::NULL_VALUE:
      return "null";
  }
  return "nothing";
}

}  // namespace

const internal::UnreadableValue* JsonValue::FindUnreadable() const {
  if (unreadable_ == nullptr) return nullptr;
  const auto found = unreadable_->find(element_.index);
  return found == unreadable_->end() ? nullptr : &found->second;
}

absl::Status JsonValue::Readable() const {
  const internal::UnreadableValue* const value = FindUnreadable();
  return value == nullptr ? absl::OkStatus() : Error(value->reason);
}

bool JsonValue::is_null() const { return Dom(element_).is_null() && FindUnreadable() == nullptr; }
bool JsonValue::is_string() const {
  const internal::UnreadableValue* const value = FindUnreadable();
  return Dom(element_).is_string() || (value != nullptr && value->is_string);
}
bool JsonValue::is_number() const {
  const internal::UnreadableValue* const value = FindUnreadable();
  return Dom(element_).is_number() || (value != nullptr && value->is_number);
}
bool JsonValue::is_array() const { return Dom(element_).is_array(); }
bool JsonValue::is_object() const { return Dom(element_).is_object(); }

absl::StatusOr<absl::string_view> JsonValue::String() const {
  std::string_view value;
  if (Dom(element_).get(value) != simdjson::SUCCESS) return WrongType("a string");
  return View(value);
}

absl::StatusOr<bool> JsonValue::Bool() const {
  bool value;
  if (Dom(element_).get(value) != simdjson::SUCCESS) return WrongType("a boolean");
  return value;
}

absl::StatusOr<double> JsonValue::Number() const {
  double value;
  if (Dom(element_).get(value) != simdjson::SUCCESS) return WrongType("a number");
  return value;
}

absl::StatusOr<int64_t> JsonValue::Integer(int64_t low, int64_t high) const {
  int64_t value;
  if (Dom(element_).type() == dom::element_type::DOUBLE) {
    constexpr double kBeyondInt64 = 0x1p63;
    double number = 0;
    const bool is_large = Dom(element_).get(number) == simdjson::SUCCESS && std::abs(number) >= kBeyondInt64;
    if (is_large) return Error(absl::StrCat("expected an integer from ", low, " to ", high, ", found ", number));
    return Error("expected an integer, found a number with a fraction or an exponent");
  }
  if (Dom(element_).is_number() && (Dom(element_).get(value) != simdjson::SUCCESS || value < low || value > high)) {
    return Error(
        absl::StrCat("expected an integer from ", low, " to ", high, ", found ", simdjson::minify(Dom(element_))));
  }
  if (Dom(element_).get(value) != simdjson::SUCCESS) return WrongType("an integer");
  return value;
}

absl::StatusOr<std::vector<JsonValue>> JsonValue::Elements() const {
  dom::array array;
  if (Dom(element_).get(array) != simdjson::SUCCESS) return WrongType("an array");
  std::vector<JsonValue> elements;
  elements.reserve(array.size());
  for (dom::element child : array) {
    elements.push_back({std::bit_cast<Element>(child), absl::StrCat(place_, "/", elements.size()), unreadable_});
  }
  return elements;
}

absl::StatusOr<std::vector<std::pair<absl::string_view, JsonValue>>> JsonValue::Members() const {
  dom::object object;
  if (Dom(element_).get(object) != simdjson::SUCCESS) return WrongType("an object");
  std::vector<std::pair<absl::string_view, JsonValue>> members;
  members.reserve(object.size());
  for (const dom::key_value_pair member : object) {
    members.emplace_back(View(member.key),
                         JsonValue(std::bit_cast<Element>(member.value), Child(place_, View(member.key)), unreadable_));
  }
  return members;
}

std::optional<JsonValue> JsonValue::Find(absl::string_view key) const {
  dom::object object;
  dom::element value;
  if (Dom(element_).get(object) != simdjson::SUCCESS) return std::nullopt;
  if (object.at_key({key.data(), key.size()}).get(value) != simdjson::SUCCESS) return std::nullopt;
  JsonValue member(std::bit_cast<Element>(value), Child(place_, key), unreadable_);
  if (member.is_null()) return std::nullopt;
  return member;
}

absl::StatusOr<JsonValue> JsonValue::Get(absl::string_view key) const {
  if (!is_object()) return WrongType("an object");
  std::optional<JsonValue> value = Find(key);
  if (!value) return absl::InvalidArgumentError(absl::StrCat(Child(place_, key), " is missing"));
  return *std::move(value);
}

absl::Status JsonValue::Error(absl::string_view sentence) const {
  return absl::InvalidArgumentError(absl::StrCat(place_.empty() ? "(root)" : place_, ": ", sentence));
}

absl::Status JsonValue::WrongType(absl::string_view expected) const {
  RETURN_IF_ERROR(Readable());
  return Error(absl::StrCat("expected ", expected, ", found ", TypeName(Dom(element_))));
}

}  // namespace reprise
