// The source text of an object's members.

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "core/json/json.h"
#include "simdjson.h"

namespace reprise {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Returns nothing where a value ends early, which Parse has excluded.
std::optional<std::string> AsWritten(ondemand::value value) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return std::nullopt;
  std::string_view text = value.raw_json_token();
  ondemand::array array;
  ondemand::object object;
  if (type == ondemand::json_type::array) {
    if (value.get_array().get(array) != simdjson::SUCCESS) return std::nullopt;
    if (array.raw_json().get(text) != simdjson::SUCCESS) return std::nullopt;
  } else if (type == ondemand::json_type::object) {
    if (value.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
    if (object.raw_json().get(text) != simdjson::SUCCESS) return std::nullopt;
  }
  std::string minified(text.size(), '\0');
  size_t size = 0;
  if (simdjson::minify(text.data(), text.size(), minified.data(), size) != simdjson::SUCCESS) return std::nullopt;
  minified.resize(size);
  return minified;
}

}  // namespace

std::optional<JsonToken> FindMember(absl::string_view text, absl::string_view key) {
  const size_t skipped = absl::ConsumePrefix(&text, kByteOrderMark) ? kByteOrderMark.size() : 0;
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
  return JsonToken{skipped + static_cast<size_t>(token.data() - padded.data()), std::string(token)};
}

std::optional<std::vector<std::pair<std::string, std::string>>> MembersAsWritten(absl::string_view text) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  const simdjson::padded_string padded(text.data(), text.size());
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  std::vector<std::pair<std::string, std::string>> members;
  for (auto member : object) {
    ondemand::field field;
    std::string_view name;
    if (std::move(member).get(field) != simdjson::SUCCESS) return std::nullopt;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) return std::nullopt;
    std::string key(name);
    std::optional<std::string> value = AsWritten(field.value());
    if (!value) return std::nullopt;
    members.emplace_back(std::move(key), *std::move(value));
  }
  return members;
}

}  // namespace reprise
