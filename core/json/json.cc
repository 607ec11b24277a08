#include "core/json/json.h"

#include <algorithm>
#include <bit>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "simdjson.h"

namespace reprise {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxDepth = 64;

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

}  // namespace

std::optional<size_t> FindJsonError(absl::string_view text) {
  FaultFinder finder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &finder) || !finder.bytes_read) return std::nullopt;
  return std::min(text.size(), *finder.bytes_read - std::min<size_t>(*finder.bytes_read, 1));
}

std::optional<JsonToken> FindMember(absl::string_view text, absl::string_view key) {
  namespace ondemand = simdjson::ondemand;
  const simdjson::padded_string padded(text.data(), text.size());
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  ondemand::value value;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS ||
      object.find_field_unordered(std::string_view(key.data(), key.size())).get(value) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  const absl::string_view token = absl::StripTrailingAsciiWhitespace(View(value.raw_json_token()));
  return JsonToken{static_cast<size_t>(token.data() - padded.data()), std::string(token)};
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
  if (Dom(element_).type() == dom::element_type::DOUBLE)
    return Error("expected an integer, found a number with a fraction or an exponent");
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
  const auto parser = std::make_shared<dom::parser>();
  dom::element root;
  simdjson::error_code error = parser->allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
  if (error == simdjson::SUCCESS) error = parser->parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat("not valid JSON", LineAndColumn(text), ": ", simdjson::error_message(error)));
  }
  RETURN_IF_ERROR(RefuseDuplicateKeys(root, ""));
  JsonDocument document;
  document.parser_ = parser;
  document.root_ = std::bit_cast<JsonValue::Element>(root);
  return document;
}

}  // namespace reprise
