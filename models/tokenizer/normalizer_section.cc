#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/tokenizer_file_sections.h"

namespace reprise::models {
namespace {

absl::StatusOr<Replacement> ReadReplacement(const JsonValue& value) {
  ASSIGN_OR_RETURN(const JsonValue pattern_value, value.Get("pattern"));
  ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(pattern_value));
  ASSIGN_OR_RETURN(const JsonValue content_value, value.Get("content"));
  ASSIGN_OR_RETURN(const absl::string_view content, content_value.String());
  return Replacement{std::move(pattern), std::string(content)};
}

absl::StatusOr<Prefix> ReadPrefix(const JsonValue& value) {
  ASSIGN_OR_RETURN(const JsonValue prefix, value.Get("prepend"));
  ASSIGN_OR_RETURN(const absl::string_view text, prefix.String());
  return Prefix{std::string(text)};
}

absl::StatusOr<Strip> ReadStrip(const JsonValue& value) {
  Strip strip;
  ASSIGN_OR_RETURN(const JsonValue left, value.Get("strip_left"));
  ASSIGN_OR_RETURN(strip.left, left.Bool());
  ASSIGN_OR_RETURN(const JsonValue right, value.Get("strip_right"));
  ASSIGN_OR_RETURN(strip.right, right.Bool());
  return strip;
}

absl::StatusOr<bool> RequiredFlag(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Get(key));
  return value.Bool();
}

// Where "strip_accents" is null, accents go together with upper case.
absl::Status AppendBertSteps(const JsonValue& value, Normalizer& result) {
  ASSIGN_OR_RETURN(const bool clean_text, RequiredFlag(value, "clean_text"));
  ASSIGN_OR_RETURN(const bool space_ideographs, RequiredFlag(value, "handle_chinese_chars"));
  ASSIGN_OR_RETURN(const bool lowercase, RequiredFlag(value, "lowercase"));
  ASSIGN_OR_RETURN(const bool strip_accents, FlagOr(value, "strip_accents", lowercase));
  if (clean_text) result.emplace_back(CharacterStep::kCleanText);
  if (space_ideographs) result.emplace_back(CharacterStep::kSpaceIdeographs);
  if (strip_accents) {
    result.emplace_back(UnicodeForm::kNfd);
    result.emplace_back(CharacterStep::kStripNonspacing);
  }
  if (lowercase) result.emplace_back(Lowercase{});
  return absl::OkStatus();
}

absl::Status AppendStep(const JsonValue& value, Normalizer& result) {
  constexpr std::pair<absl::string_view, UnicodeForm> kForms[] = {{"NFC", UnicodeForm::kNfc},
                                                                  {"NFD", UnicodeForm::kNfd},
                                                                  {"NFKC", UnicodeForm::kNfkc},
                                                                  {"NFKD", UnicodeForm::kNfkd}};
  ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(value));
  for (const auto& [name, form] : kForms) {
    if (type != name) continue;
    result.emplace_back(form);
    return absl::OkStatus();
  }
  if (type == "Lowercase") {
    result.emplace_back(Lowercase{});
  } else if (type == "StripAccents") {
    result.emplace_back(CharacterStep::kStripAccents);
  } else if (type == "Nmt") {
    result.emplace_back(CharacterStep::kCleanForTranslation);
  } else if (type == "ByteLevel") {
    result.emplace_back(SpellBytes{});
  } else if (type == "BertNormalizer") {
    return AppendBertSteps(value, result);
  } else if (type == "Replace") {
    ASSIGN_OR_RETURN(Replacement replacement, ReadReplacement(value));
    result.emplace_back(std::move(replacement));
  } else if (type == "Prepend") {
    ASSIGN_OR_RETURN(Prefix prefix, ReadPrefix(value));
    result.emplace_back(std::move(prefix));
  } else if (type == "Strip") {
    ASSIGN_OR_RETURN(const Strip strip, ReadStrip(value));
    result.emplace_back(strip);
  } else {
    return Unsupported(
        value, absl::StrCat("a normalizer of type ", type),
        "NFC, NFD, NFKC, NFKD, BertNormalizer, ByteLevel, Lowercase, Nmt, Prepend, Replace, Strip or StripAccents");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Normalizer> ReadNormalizerSection(const std::optional<JsonValue>& normalizer) {
  Normalizer result;
  if (!normalizer) return result;
  ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, Parts(*normalizer, "normalizers"));
  for (const JsonValue& part : parts) RETURN_IF_ERROR(AppendStep(part, result));
  return result;
}

}  // namespace reprise::models
