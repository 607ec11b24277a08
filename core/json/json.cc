#include "core/json/json.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/io/foreign_format.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "simdjson.h"

namespace reprise {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxDepth = 64;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

dom::element Dom(const auto& element) { return std::bit_cast<dom::element>(element); }

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

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

std::string Child(absl::string_view place, absl::string_view key) {
  return absl::StrCat(place, "/", absl::StrReplaceAll(key, {{"~", "~0"}, {"/", "~1"}}));
}

absl::Status RefuseDuplicateKeys(dom::element element, const std::string& place) {
  if (dom::array array; element.get(array) == simdjson::SUCCESS) {
    size_t index = 0;
    for (dom::element child : array) {
      if (child.is_array() || child.is_object()) {
        RETURN_IF_ERROR(RefuseDuplicateKeys(child, absl::StrCat(place, "/", index)));
      }
      ++index;
    }
  }
  if (dom::object object; element.get(object) == simdjson::SUCCESS) {
    absl::flat_hash_set<absl::string_view> keys;
    for (const dom::key_value_pair member : object) {
      const absl::string_view key = View(member.key);
      if (!keys.insert(key).second) {
        return absl::InvalidArgumentError(absl::StrCat(Child(place, key), ": the key appears twice"));
      }
      if (member.value.is_array() || member.value.is_object()) {
        RETURN_IF_ERROR(RefuseDuplicateKeys(member.value, Child(place, key)));
      }
    }
  }
  return absl::OkStatus();
}

// Records the position of the first syntax error that the parser reports.
class FaultFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    bytes_read = position;
    return false;
  }

  std::optional<size_t> bytes_read;  // including the faulty byte
};

std::string LineAndColumn(absl::string_view text) {
  const std::optional<size_t> at = FindJsonError(text);
  if (!at || !absl::StrContains(text, '\n')) return "";
  const absl::string_view before = text.substr(0, *at);
  const size_t line_begin = before.rfind('\n') + 1;  // 0 on the first line
  return absl::StrCat(" at line ", 1 + std::count(before.begin(), before.end(), '\n'), ", column ",
                      *at - line_begin + 1);
}

// Returns the end of the string that begins with the quotation mark at `begin`.
size_t EndOfString(absl::string_view text, size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Returns whether the token is an integer that fits into neither int64 nor uint64.
bool IsLongInteger(absl::string_view token) {
  constexpr size_t kDigitsOfInt64 = 18;  // as many always fit
  const absl::string_view digits = token.substr(token.front() == '-' ? 1 : 0);
  int64_t with_sign = 0;
  uint64_t without_sign = 0;
  return digits.size() > kDigitsOfInt64 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         !absl::SimpleAtoi(token, &with_sign) && !absl::SimpleAtoi(token, &without_sign);
}

// Returns the text with a fraction of 0 at each integer that does not fit into 64 bits: simdjson refuses such an
// integer, but rounds a number with a fraction to the nearest double.
std::string WithLongIntegersAsDoubles(absl::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    bool is_long = false;
    if (text[at] == '"') {
      end = EndOfString(text, at);
    } else if ((text[at] >= '0' && text[at] <= '9') || text[at] == '-') {
      end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
      is_long = IsLongInteger(text.substr(at, end - at));
    }
    absl::StrAppend(&result, text.substr(at, end - at), is_long ? ".0" : "");
    at = end;
  }
  return result;
}

simdjson::error_code ParseInto(dom::parser* parser, absl::string_view text, dom::element* root) {
  const simdjson::error_code error = parser->allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
  return error != simdjson::SUCCESS ? error : parser->parse(text.data(), text.size()).get(*root);
}

absl::Status NoJson(absl::string_view text, simdjson::error_code error) {
  const std::string foreign = ForeignFormat(text);
  if (!foreign.empty()) return absl::InvalidArgumentError(absl::StrCat("not valid JSON: ", foreign));
  return absl::InvalidArgumentError(
      absl::StrCat("not valid JSON", LineAndColumn(text), ": ", simdjson::error_message(error),
                   error == simdjson::NUMBER_ERROR ? "; numbers are decimal and lie within +-1.8e308" : ""));
}

}  // namespace

std::optional<size_t> FindJsonError(absl::string_view text) {
  FaultFinder finder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &finder) || !finder.bytes_read) return std::nullopt;
  return std::min(text.size(), *finder.bytes_read - std::min<size_t>(*finder.bytes_read, 1));
}

bool JsonValue::is_null() const { return Dom(element_).is_null(); }
bool JsonValue::is_string() const { return Dom(element_).is_string(); }
bool JsonValue::is_number() const { return Dom(element_).is_number(); }
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
    elements.push_back({std::bit_cast<Element>(child), absl::StrCat(place_, "/", elements.size())});
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
                         JsonValue(std::bit_cast<Element>(member.value), Child(place_, View(member.key))));
  }
  return members;
}

std::optional<JsonValue> JsonValue::Find(absl::string_view key) const {
  dom::object object;
  dom::element value;
  if (Dom(element_).get(object) != simdjson::SUCCESS) return std::nullopt;
  if (object.at_key({key.data(), key.size()}).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return JsonValue(std::bit_cast<Element>(value), Child(place_, key));
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
  return Error(absl::StrCat("expected ", expected, ", found ", TypeName(Dom(element_))));
}

absl::StatusOr<JsonDocument> JsonDocument::Parse(absl::string_view text) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  const auto parser = std::make_shared<dom::parser>();
  dom::element root;
  const simdjson::error_code error = ParseInto(parser.get(), text, &root);
  // The error of a long integer is not the same in all versions of simdjson.
  if (error != simdjson::SUCCESS &&
      ParseInto(parser.get(), WithLongIntegersAsDoubles(text), &root) != simdjson::SUCCESS) {
    return NoJson(text, error);
  }
  RETURN_IF_ERROR(RefuseDuplicateKeys(root, ""));
  JsonDocument document;
  document.parser_ = parser;
  document.root_ = std::bit_cast<JsonValue::Element>(root);
  return document;
}

}  // namespace reprise
