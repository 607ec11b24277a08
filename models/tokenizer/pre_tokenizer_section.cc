#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/tokenizer_file_sections.h"

namespace reprise::models {
namespace {

constexpr absl::string_view kSupported =
    "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, Split, Whitespace "
    "or "
    "WhitespaceSplit";

constexpr absl::string_view kSpace = "\\s";

// ASCII's punctuation and that of Unicode 8, whose tables Hugging Face's Punctuation has: without the marks that came
// later, and with the two that became others.
constexpr absl::string_view kPunctuation =
    R"([\p{P}$+<=>^`|~\x{166d}\x{111c9}&&[^\x{61d}\x{9fd}\x{a76}\x{c77}\x{c84}\x{1b4e}\x{1b4f}\x{1b7d}-\x{1b7f})"
    R"(\x{2e43}-\x{2e4f}\x{2e52}-\x{2e5d}\x{10d6e}\x{10ead}\x{10f55}-\x{10f59}\x{10f86}-\x{10f89}\x{113d4}\x{113d5})"
    R"(\x{113d7}\x{113d8}\x{1144b}-\x{1144f}\x{1145a}\x{1145b}\x{1145d}\x{11660}-\x{1166c}\x{116b9}\x{1183b})"
    R"(\x{11944}-\x{11946}\x{119e2}\x{11a3f}-\x{11a46}\x{11a9a}-\x{11a9c}\x{11a9e}-\x{11aa2}\x{11b00}-\x{11b09})"
    R"(\x{11be1}\x{11c41}-\x{11c45}\x{11c70}\x{11c71}\x{11ef7}\x{11ef8}\x{11f43}-\x{11f4f}\x{11fff}\x{12ff1}\x{12ff2})"
    R"(\x{16d6d}-\x{16d6f}\x{16e97}-\x{16e9a}\x{16fe2}\x{1e5ff}\x{1e95e}\x{1e95f}]])";

absl::StatusOr<SplitBehavior> ReadBehavior(const JsonValue& value) {
  constexpr std::pair<absl::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  };
  ASSIGN_OR_RETURN(const absl::string_view name, value.String());
  for (const auto& [known, behavior] : kBehaviors) {
    if (name == known) return behavior;
  }
  return Unsupported(value, name, "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

absl::StatusOr<SplitStep> ReadSplit(const JsonValue& value) {
  ASSIGN_OR_RETURN(const JsonValue pattern_value, value.Get("pattern"));
  ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(pattern_value));
  ASSIGN_OR_RETURN(const JsonValue behavior_value, value.Get("behavior"));
  ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(behavior_value));
  ASSIGN_OR_RETURN(const bool invert, FlagOr(value, "invert", false));
  return SplitStep{std::move(pattern), behavior, invert};
}

absl::StatusOr<SplitStep> MakeSplit(absl::string_view pattern, SplitBehavior behavior) {
  ASSIGN_OR_RETURN(Pattern compiled, Pattern::Compile(pattern));
  return SplitStep{std::move(compiled), behavior};
}

absl::StatusOr<SplitStep> ReadDigits(const JsonValue& value) {
  ASSIGN_OR_RETURN(const bool individual, FlagOr(value, "individual_digits", false));
  return MakeSplit("\\p{N}", individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

absl::StatusOr<SplitStep> ReadPunctuation(const JsonValue& value) {
  const std::optional<JsonValue> behavior_value = value.Find("behavior");
  if (!behavior_value) return MakeSplit(kPunctuation, SplitBehavior::kIsolated);
  ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(*behavior_value));
  return MakeSplit(kPunctuation, behavior);
}

absl::StatusOr<SplitStep> ReadCharDelimiterSplit(const JsonValue& value) {
  ASSIGN_OR_RETURN(const JsonValue delimiter, value.Get("delimiter"));
  ASSIGN_OR_RETURN(const absl::string_view text, delimiter.String());
  if (text.empty()) return delimiter.Error("expected a character");
  ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile(text, PatternSyntax::kLiteral));
  return SplitStep{std::move(pattern), SplitBehavior::kRemoved};
}

absl::StatusOr<ByteLevelStep> ReadByteLevel(const JsonValue& value) {
  ByteLevelStep step;
  ASSIGN_OR_RETURN(const JsonValue prefix, value.Get("add_prefix_space"));
  ASSIGN_OR_RETURN(step.add_prefix_space, prefix.Bool());
  ASSIGN_OR_RETURN(const bool use_regex, FlagOr(value, "use_regex", true));
  if (!use_regex) return step;
  ASSIGN_OR_RETURN(step.words, MakeSplit(kGpt2Pattern, SplitBehavior::kIsolated));
  return step;
}

absl::StatusOr<MetaspaceStep> ReadMetaspace(const JsonValue& value) {
  MetaspaceStep step;
  ASSIGN_OR_RETURN(step.replacement, ReadCharacter(value, "replacement"));
  ASSIGN_OR_RETURN(step.prepend, ReadPrependScheme(value));
  ASSIGN_OR_RETURN(const bool split, FlagOr(value, "split", true));
  if (!split) return step;
  ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile(step.replacement, PatternSyntax::kLiteral));
  step.words = SplitStep{std::move(pattern), SplitBehavior::kMergedWithNext};
  return step;
}

absl::StatusOr<FixedLengthStep> ReadFixedLength(const JsonValue& value) {
  const std::optional<JsonValue> length = value.Find("length");
  if (!length) return FixedLengthStep{5};  // the default of Hugging Face's tokenizers
  ASSIGN_OR_RETURN(const int64_t characters, length->Integer(1, std::numeric_limits<int32_t>::max()));
  return FixedLengthStep{static_cast<size_t>(characters)};
}

absl::StatusOr<SplitStep> ReadSplitStep(const JsonValue& value, absl::string_view type) {
  if (type == "Split") return ReadSplit(value);
  if (type == "Digits") return ReadDigits(value);
  if (type == "Punctuation") return ReadPunctuation(value);
  if (type == "WhitespaceSplit") return MakeSplit(kSpace, SplitBehavior::kRemoved);
  if (type == "CharDelimiterSplit") return ReadCharDelimiterSplit(value);
  return Unsupported(value, absl::StrCat("a pre-tokenizer of type ", type), kSupported);
}

absl::Status AppendStep(const JsonValue& value, PreTokenizer& result) {
  ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(value));
  if (type == "ByteLevel") {
    ASSIGN_OR_RETURN(ByteLevelStep step, ReadByteLevel(value));
    result.steps.emplace_back(std::move(step));
  } else if (type == "Whitespace") {
    result.steps.emplace_back(WordRunsStep{});
  } else if (type == "BertPreTokenizer") {
    ASSIGN_OR_RETURN(SplitStep spaces, MakeSplit(kSpace, SplitBehavior::kRemoved));
    ASSIGN_OR_RETURN(SplitStep punctuation, MakeSplit(kPunctuation, SplitBehavior::kIsolated));
    result.steps.emplace_back(std::move(spaces));
    result.steps.emplace_back(std::move(punctuation));
  } else if (type == "FixedLength") {
    ASSIGN_OR_RETURN(const FixedLengthStep step, ReadFixedLength(value));
    result.steps.emplace_back(step);
  } else if (type == "Metaspace") {
    ASSIGN_OR_RETURN(MetaspaceStep step, ReadMetaspace(value));
    // Elsewhere it depends on the places that the steps before it give the pieces in the original text.
    if (step.prepend == MetaspaceStep::Prepend::kFirst && !result.steps.empty()) {
      return Unsupported(value, "prepend_scheme first after other steps", "always or never");
    }
    result.steps.emplace_back(std::move(step));
  } else {
    ASSIGN_OR_RETURN(SplitStep step, ReadSplitStep(value, type));
    result.steps.emplace_back(std::move(step));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MetaspaceStep::Prepend> ReadPrependScheme(const JsonValue& value) {
  const std::optional<JsonValue> scheme = value.Find("prepend_scheme");
  ASSIGN_OR_RETURN(const bool add_prefix_space, FlagOr(value, "add_prefix_space", true));
  absl::string_view name = "always";
  if (scheme) {
    ASSIGN_OR_RETURN(name, scheme->String());
  }
  if (!add_prefix_space && name != "never") {
    return value.Error("add_prefix_space is false and prepend_scheme is not \"never\"; set it to \"never\"");
  }
  if (name == "always") return MetaspaceStep::Prepend::kAlways;
  if (name == "first") return MetaspaceStep::Prepend::kFirst;
  if (name == "never") return MetaspaceStep::Prepend::kNever;
  return Unsupported(*scheme, name, "always, first or never");
}

absl::StatusOr<PreTokenizer> ReadPreTokenizerSection(const std::optional<JsonValue>& value) {
  PreTokenizer result;
  if (!value) return result;
  ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, Parts(*value, "pretokenizers"));
  for (const JsonValue& part : parts) RETURN_IF_ERROR(AppendStep(part, result));
  return result;
}

}  // namespace reprise::models
