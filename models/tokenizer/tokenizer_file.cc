#include "models/tokenizer/tokenizer_file.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/json/json.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/tokenizer_file_sections.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxByteLevels = 4;

// Returns the number of steps that spell bytes.
int64_t ByteLevels(const TokenizerFile& file) {
  return std::count_if(file.pre_tokenizer.steps.begin(), file.pre_tokenizer.steps.end(),
                       [](const auto& step) { return std::holds_alternative<ByteLevelStep>(step); }) +
         std::count_if(file.normalizer.begin(), file.normalizer.end(),
                       [](const auto& step) { return std::holds_alternative<SpellBytes>(step); });
}

// Hugging Face's tokenizers compare places in the text before normalization with its beginning, and steps that remove
// characters there move them.
absl::Status RequireKnownBeginning(const TokenizerFile& file, const std::optional<JsonValue>& pre_tokenizer) {
  if (file.pre_tokenizer.steps.empty()) return absl::OkStatus();
  const auto* const metaspace = std::get_if<MetaspaceStep>(&file.pre_tokenizer.steps.front());
  if (metaspace == nullptr || metaspace->prepend != MetaspaceStep::Prepend::kFirst) return absl::OkStatus();
  const bool moves = std::any_of(file.normalizer.begin(), file.normalizer.end(), [](const auto& step) {
    return std::holds_alternative<Strip>(step) || std::holds_alternative<Replacement>(step) ||
           std::holds_alternative<CharacterStep>(step);
  });
  if (!moves) return absl::OkStatus();
  return Unsupported(*pre_tokenizer, "prepend_scheme first after a normalizer that removes characters",
                     "always or never");
}

// Fills what Transformers reads of the file itself.
absl::Status ReadSettings(const JsonValue& root, TokenizerFile& file) {
  const std::optional<JsonValue> pre_tokenizer = root.Find("pre_tokenizer"), padding = root.Find("padding");
  if (pre_tokenizer) {
    ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(*pre_tokenizer));
    if (type == "ByteLevel") {
      ASSIGN_OR_RETURN(file.add_prefix_space, FlagOr(*pre_tokenizer, "add_prefix_space", false));
    }
  }
  const std::optional<JsonValue> padding_token = padding ? padding->Find("pad_token") : std::nullopt;
  if (!padding_token) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view text, padding_token->String());
  file.padding_token = std::string(text);
  return absl::OkStatus();
}

absl::Status RequireVersion(const JsonValue& root) {
  const std::optional<JsonValue> version = root.Find("version");
  if (!version) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view text, version->String());
  return text == "1.0" ? absl::OkStatus() : Unsupported(*version, absl::StrCat("version ", text), "1.0");
}

}  // namespace

absl::Status Unsupported(const JsonValue& value, absl::string_view what, absl::string_view supported) {
  return absl::UnimplementedError(
      absl::StrCat(value.place(), ": ", what, " is not supported; only ", supported, " is"));
}

absl::StatusOr<absl::string_view> TypeOf(const JsonValue& object) {
  ASSIGN_OR_RETURN(const JsonValue type, object.Get("type"));
  return type.String();
}

absl::StatusOr<bool> FlagOr(const JsonValue& object, absl::string_view key, bool absent) {
  const std::optional<JsonValue> value = object.Find(key);
  if (!value) return absent;
  return value->Bool();
}

absl::StatusOr<std::vector<JsonValue>> Parts(const JsonValue& value, absl::string_view list_key) {
  ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(value));
  if (type != "Sequence") return std::vector<JsonValue>{value};
  ASSIGN_OR_RETURN(const JsonValue list, value.Get(list_key));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, list.Elements());
  std::vector<JsonValue> result;
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, Parts(element, list_key));
    result.insert(result.end(), parts.begin(), parts.end());
  }
  return result;
}

absl::StatusOr<Pattern> ReadPattern(const JsonValue& value) {
  const auto regex = value.Find("Regex"), literal = value.Find("String");
  if (regex.has_value() == literal.has_value()) return value.Error("expected an object with one of Regex and String");
  ASSIGN_OR_RETURN(const absl::string_view text, (regex ? *regex : *literal).String());
  absl::StatusOr<Pattern> pattern = Pattern::Compile(text, regex ? PatternSyntax::kRegex : PatternSyntax::kLiteral);
  if (!pattern.ok()) return WithContext(pattern.status(), value.place());
  return pattern;
}

absl::Status RequirePlainPostProcessor(const std::optional<JsonValue>& post_processor) {
  if (!post_processor) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, Parts(*post_processor, "processors"));
  for (const JsonValue& part : parts) {
    ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(part));
    // These only trim offsets and put tokens around the text.
    if (type == "ByteLevel" || type == "BertProcessing" || type == "RobertaProcessing") continue;
    if (type != "TemplateProcessing") {
      return Unsupported(part, absl::StrCat("a post-processor of type ", type),
                         "BertProcessing, ByteLevel, RobertaProcessing or TemplateProcessing");
    }
    ASSIGN_OR_RETURN(const JsonValue single, part.Get("single"));
    ASSIGN_OR_RETURN(const std::vector<JsonValue> pieces, single.Elements());
    const auto texts = std::count_if(pieces.begin(), pieces.end(),
                                     [](const JsonValue& piece) { return piece.Find("Sequence").has_value(); });
    if (texts != 1) return Unsupported(single, absl::StrCat("the text ", texts, " times"), "once");
  }
  return absl::OkStatus();
}

absl::Status SpellAddedTokens(TokenizerFile& file) {
  for (AddedToken& token : file.added_tokens) {
    int64_t steps_left = kStepsOfText;
    if (!token.normalized) continue;
    absl::StatusOr<std::string> spelling = Normalize(file.normalizer, token.content, &steps_left);
    if (!spelling.ok()) return WithContext(spelling.status(), absl::StrCat("the token ", token.content));
    token.spelling = *std::move(spelling);
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenizerFile> ParseTokenizerFile(absl::string_view json) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(json));
  const JsonValue root = document.root();
  TokenizerFile file;
  RETURN_IF_ERROR(RequireVersion(root));
  ASSIGN_OR_RETURN(const JsonValue model, root.Get("model"));
  RETURN_IF_ERROR(ReadModelSection(model, file));
  ASSIGN_OR_RETURN(file.normalizer, ReadNormalizerSection(root.Find("normalizer")));
  const std::optional<JsonValue> pre_tokenizer = root.Find("pre_tokenizer");
  ASSIGN_OR_RETURN(file.pre_tokenizer, ReadPreTokenizerSection(pre_tokenizer));
  RETURN_IF_ERROR(RequireKnownBeginning(file, pre_tokenizer));
  const int64_t byte_levels = ByteLevels(file);
  file.is_byte_level = byte_levels > 0;
  if (byte_levels > kMaxByteLevels) {
    return root.Error(absl::StrCat("normalizer and pre_tokenizer have ", byte_levels,
                                   " ByteLevels, each of which may double a text; keep one"));
  }
  ASSIGN_OR_RETURN(file.added_tokens, ReadAddedTokensSection(root.Find("added_tokens"), file.vocabulary));
  RETURN_IF_ERROR(SpellAddedTokens(file));
  RETURN_IF_ERROR(ReadSettings(root, file));
  RETURN_IF_ERROR(RequirePlainPostProcessor(root.Find("post_processor")));
  ASSIGN_OR_RETURN(file.decoder, ReadDecoderSection(root.Find("decoder")));
  return file;
}

}  // namespace reprise::models
