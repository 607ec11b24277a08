// The source text of an object's members.

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/io/byte_order_mark.h"
#include "core/json/json.h"
#include "core/json/place.h"
#include "nlohmann/json.hpp"
#include "simdjson.h"

namespace reprise {
namespace {

using internal::View;
namespace ondemand = simdjson::ondemand;

// Returns the name, whose first character after the quotation mark is at `begin`, with its escapes.
std::string EscapedName(const char* begin) {
  const char* end = begin;
  while (*end != '"') end += *end == '\\' ? 2 : 1;  // Parse has found the closing mark
  return std::string(begin, end);
}

// Returns nothing where a value ends early, which Parse has excluded.
std::optional<std::string> AsWritten(ondemand::value value) {
  std::string_view text = value.raw_json_token();
  ondemand::array array;
  ondemand::object object;
  if (text.starts_with('[')) {
    if (value.get_array().get(array) != simdjson::SUCCESS) return std::nullopt;
    if (array.raw_json().get(text) != simdjson::SUCCESS) return std::nullopt;
  } else if (text.starts_with('{')) {
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
  const absl::string_view document_text = WithoutByteOrderMark(text);
  const size_t skipped = text.size() - document_text.size();
  const simdjson::padded_string padded(document_text.data(), document_text.size());
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

std::optional<std::vector<WrittenMember>> MembersAsWritten(absl::string_view text) {
  text = WithoutByteOrderMark(text);
  const simdjson::padded_string padded(text.data(), text.size());
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  std::vector<WrittenMember> members;
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return std::nullopt;
    WrittenMember& added = members.emplace_back();
    added.name = EscapedName(field.key().raw());
    added.name_token = absl::StrCat("\"", added.name, "\"");
    if (std::string_view name; field.unescaped_key().get(name) == simdjson::SUCCESS) {
      added.name = name;
      added.name_token = nlohmann::json(name).dump();
    }
    std::optional<std::string> value = AsWritten(field.value());
    if (!value) return std::nullopt;
    added.value = *std::move(value);
  }
  return members;
}

}  // namespace reprise
