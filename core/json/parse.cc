// Parses a document, and says what is wrong with one that cannot be parsed.

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/io/byte_order_mark.h"
#include "core/io/foreign_format.h"
#include "core/json/json.h"
#include "core/json/place.h"
#include "core/json/tolerated.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"
#include "simdjson.h"

namespace reprise {
namespace {

using internal::Child;
using internal::Tolerated;
using internal::View;
namespace dom = simdjson::dom;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxBytesOfCharacter = 4;

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

// Appends the nulls in the order of the document.
void AppendNulls(dom::element element, std::vector<dom::element>* nulls) {
  if (element.is_null()) nulls->push_back(element);
  if (dom::array array; element.get(array) == simdjson::SUCCESS) {
    for (dom::element child : array) AppendNulls(child, nulls);
  }
  if (dom::object object; element.get(object) == simdjson::SUCCESS) {
    for (const dom::key_value_pair member : object) AppendNulls(member.value, nulls);
  }
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

// Returns the offset of the first byte that begins no character in UTF-8; text.size() if there is none.
size_t FindNoUtf8(absl::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return text.size();
  size_t at = 0;
  while (at < text.size()) {
    size_t size = 1;
    while (size <= kMaxBytesOfCharacter && at + size <= text.size() &&
           !simdjson::validate_utf8(text.data() + at, size)) {
      ++size;
    }
    if (size > kMaxBytesOfCharacter || at + size > text.size()) break;
    at += size;
  }
  return at;
}

std::string LineAndColumn(absl::string_view text, size_t at) {
  const absl::string_view before = text.substr(0, at);
  const size_t line_begin = before.rfind('\n') + 1;  // 0 on the first line
  return absl::StrCat(" at line ", 1 + std::count(before.begin(), before.end(), '\n'), ", column ",
                      at - line_begin + 1);
}

// Says what is wrong with bytes at the end or everywhere that an interrupted write or another encoding leaves; or "".
std::string WrongBytes(absl::string_view text) {
  const size_t last = text.find_last_not_of('\0');
  const size_t zeros = text.size() - (last == absl::string_view::npos ? 0 : last + 1);
  if (zeros > 0 && zeros == text.size()) {
    return absl::StrCat("it is nothing but ", zeros, " zero bytes, as a crash or a full disk leaves: fetch it again");
  }
  if (zeros > 0) {
    return absl::StrCat(
        "it ends with ", zeros,
        " zero bytes, as a crash or a reserved file leaves: remove them, for example with tr -d '\\000' "
        "< FILE > CONVERTED");
  }
  const size_t at = FindNoUtf8(text);
  if (at == text.size()) return "";
  return absl::StrFormat(
      "byte %d is 0x%02x, which is not UTF-8; if the text is Latin-1 (Windows-1252), convert it with iconv -f "
      "WINDOWS-1252 -t UTF-8 FILE > CONVERTED",
      at + 1, static_cast<unsigned char>(text[at]));
}

std::string Sentence(absl::string_view text, simdjson::error_code error) {
  const std::string foreign = ForeignFormat(text);
  if (!foreign.empty()) return foreign;
  if (absl::StripAsciiWhitespace(text).empty()) return "the text is empty";
  const std::string wrong = WrongBytes(text);
  if (!wrong.empty()) return wrong;
  if (error == simdjson::DEPTH_ERROR) {
    return absl::StrCat("arrays and objects nest deeper than the limit of ", kMaxDepth);
  }
  return absl::StrCat(simdjson::error_message(error),
                      error == simdjson::NUMBER_ERROR ? "; numbers are decimal, without + and leading zeros" : "");
}

absl::Status NoJson(absl::string_view text, simdjson::error_code error, JsonErrorPlace place) {
  std::string where;
  const bool is_of_place = place == JsonErrorPlace::kLineAndColumn && ForeignFormat(text).empty();
  if (const std::optional<size_t> at = FindJsonError(text); is_of_place && at) where = LineAndColumn(text, *at);
  return absl::InvalidArgumentError(absl::StrCat("not valid JSON", where, ": ", Sentence(text, error)));
}

simdjson::error_code ParseInto(dom::parser* parser, absl::string_view text, dom::element* root) {
  const simdjson::error_code error = parser->allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
  return error != simdjson::SUCCESS ? error : parser->parse(text.data(), text.size()).get(*root);
}

}  // namespace

std::optional<size_t> FindJsonError(absl::string_view text) {
  if (const size_t at = FindNoUtf8(text); at < text.size()) return at;
  const Tolerated tolerated = internal::Tolerate(text);
  FaultFinder finder;
  if (nlohmann::json::sax_parse(tolerated.text.begin(), tolerated.text.end(), &finder) || !finder.bytes_read) {
    const size_t zero = text.find('\0');  // at which that parser believes the text to end
    return zero == absl::string_view::npos ? std::nullopt : std::optional<size_t>(zero);
  }
  const size_t at = *finder.bytes_read - std::min<size_t>(*finder.bytes_read, 1);
  return std::min(text.size(), tolerated.SourceOffset(at));
}

absl::StatusOr<JsonDocument> JsonDocument::Parse(absl::string_view text, JsonErrorPlace place) {
  text = WithoutByteOrderMark(text);
  const auto parser = std::make_shared<dom::parser>();
  dom::element root;
  JsonDocument document;
  const simdjson::error_code error = ParseInto(parser.get(), text, &root);
  if (error != simdjson::SUCCESS) {
    Tolerated tolerated = internal::Tolerate(text);
    const simdjson::error_code second = ParseInto(parser.get(), tolerated.text, &root);
    if (second != simdjson::SUCCESS) return NoJson(text, second, place);
    std::vector<dom::element> nulls;
    AppendNulls(root, &nulls);
    const auto unreadable = std::make_shared<JsonValue::Unreadable>();
    for (auto& [index, value] : tolerated.values) {
      const auto element = std::bit_cast<JsonValue::Element>(nulls[index]);
      unreadable->emplace(element.index, std::move(value));
    }
    document.unreadable_ = unreadable;
  }
  RETURN_IF_ERROR(RefuseDuplicateKeys(root, ""));
  document.parser_ = parser;
  document.root_ = std::bit_cast<JsonValue::Element>(root);
  return document;
}

}  // namespace reprise
