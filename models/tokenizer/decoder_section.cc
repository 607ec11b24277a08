#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/characters.h"
#include "models/tokenizer/tokenizer_file_sections.h"

namespace reprise::models {
namespace {

absl::StatusOr<std::string> RequiredText(const JsonValue& value, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue member, value.Get(key));
  ASSIGN_OR_RETURN(const absl::string_view text, member.String());
  if (text.empty()) return member.Error("expected a text that is not empty");
  return std::string(text);
}

absl::StatusOr<ReplaceText> ReadReplacement(const JsonValue& value) {
  ASSIGN_OR_RETURN(const JsonValue pattern, value.Get("pattern"));
  if (pattern.Find("Regex")) return Unsupported(pattern, "a regular expression in a decoder", "a String");
  ReplaceText step;
  ASSIGN_OR_RETURN(step.from, RequiredText(pattern, "String"));
  ASSIGN_OR_RETURN(const JsonValue content, value.Get("content"));
  ASSIGN_OR_RETURN(const absl::string_view text, content.String());
  step.to = std::string(text);
  return step;
}

absl::StatusOr<size_t> ReadCount(const JsonValue& value, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue member, value.Get(key));
  ASSIGN_OR_RETURN(const int64_t count, member.Integer(0, std::numeric_limits<int32_t>::max()));
  return static_cast<size_t>(count);
}

absl::StatusOr<StripCharacters> ReadStrip(const JsonValue& value) {
  StripCharacters step;
  ASSIGN_OR_RETURN(step.content, ReadCharacter(value, "content"));
  ASSIGN_OR_RETURN(step.start, ReadCount(value, "start"));
  ASSIGN_OR_RETURN(step.stop, ReadCount(value, "stop"));
  return step;
}

absl::StatusOr<DecodeMetaspace> ReadMetaspace(const JsonValue& value) {
  DecodeMetaspace step;
  ASSIGN_OR_RETURN(step.replacement, ReadCharacter(value, "replacement"));
  ASSIGN_OR_RETURN(const MetaspaceStep::Prepend prepend, ReadPrependScheme(value));
  step.drops_first = prepend != MetaspaceStep::Prepend::kNever;
  return step;
}

absl::StatusOr<DecodeWordPiece> ReadWordPiece(const JsonValue& value) {
  DecodeWordPiece step;
  ASSIGN_OR_RETURN(step.prefix, RequiredText(value, "prefix"));
  ASSIGN_OR_RETURN(const JsonValue cleanup, value.Get("cleanup"));
  ASSIGN_OR_RETURN(step.cleanup, cleanup.Bool());
  return step;
}

absl::Status AppendStep(const JsonValue& value, TokenDecoder& result) {
  ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(value));
  if (type == "ByteLevel") {
    result.emplace_back(DecodeByteLevel{});
  } else if (type == "Fuse") {
    result.emplace_back(Fuse{});
  } else if (type == "ByteFallback") {
    result.emplace_back(DecodeByteFallback{});
  } else if (type == "Replace") {
    ASSIGN_OR_RETURN(ReplaceText step, ReadReplacement(value));
    result.emplace_back(std::move(step));
  } else if (type == "Strip") {
    ASSIGN_OR_RETURN(StripCharacters step, ReadStrip(value));
    result.emplace_back(std::move(step));
  } else if (type == "Metaspace") {
    ASSIGN_OR_RETURN(DecodeMetaspace step, ReadMetaspace(value));
    result.emplace_back(std::move(step));
  } else if (type == "WordPiece") {
    ASSIGN_OR_RETURN(DecodeWordPiece step, ReadWordPiece(value));
    result.emplace_back(std::move(step));
  } else if (type == "BPEDecoder") {
    ASSIGN_OR_RETURN(std::string suffix, RequiredText(value, "suffix"));
    result.emplace_back(DecodeSuffix{std::move(suffix)});
  } else {
    return Unsupported(value, absl::StrCat("a decoder of type ", type),
                       "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip or WordPiece");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadCharacter(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue member, object.Get(key));
  ASSIGN_OR_RETURN(const absl::string_view text, member.String());
  if (text.empty() || FirstCharacter(text).size != text.size()) return member.Error("expected one character");
  return std::string(text);
}

absl::StatusOr<std::optional<TokenDecoder>> ReadDecoderSection(const std::optional<JsonValue>& value) {
  if (!value) return std::nullopt;
  ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, Parts(*value, "decoders"));
  TokenDecoder result;
  for (const JsonValue& part : parts) RETURN_IF_ERROR(AppendStep(part, result));
  return result;
}

}  // namespace reprise::models
