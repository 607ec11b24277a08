#include "models/tokenizer/decoder.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/characters.h"

namespace reprise::models {
namespace {

using Tokens = std::vector<std::string>;

// Returns the byte of "<0xE2>".
std::optional<char> FallbackByte(absl::string_view token) {
  if (token.size() != 6 || !absl::StartsWith(token, "<0x") || token[5] != '>') return std::nullopt;
  const bool has_sign = token[3] == '+';  // which Rust's numbers may have
  const absl::string_view digits = token.substr(has_sign ? 4 : 3, has_sign ? 1 : 2);
  uint32_t byte = 0;
  const bool are_digits = std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isxdigit(c); });
  if (!are_digits || !absl::SimpleHexAtoi(digits, &byte)) return std::nullopt;
  return static_cast<char>(byte);
}

void AppendBytes(const std::string& bytes, Tokens& result) {
  if (bytes.empty()) return;
  if (ValidUtf8Prefix(bytes) == bytes.size()) {
    result.push_back(bytes);
  } else {
    result.insert(result.end(), bytes.size(), "\xef\xbf\xbd");
  }
}

// Each is replaced everywhere before the next.
std::string WithoutSpacesOfEnglish(std::string text) {
  constexpr std::pair<absl::string_view, absl::string_view> kReplacements[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& replacement : kReplacements) absl::StrReplaceAll({replacement}, &text);
  return text;
}

// One operator for each kind of step.
struct Apply {
  Tokens tokens;

  Tokens operator()(DecodeByteLevel) {
    std::string bytes;
    for (const std::string& token : tokens) absl::StrAppend(&bytes, TextToBytes(token).value_or(token));
    return {ToValidUtf8(bytes)};
  }

  Tokens operator()(Fuse) { return {absl::StrJoin(tokens, "")}; }

  Tokens operator()(DecodeByteFallback) {
    Tokens result;
    std::string bytes;
    for (std::string& token : tokens) {
      if (const std::optional<char> byte = FallbackByte(token)) {
        bytes += *byte;
        continue;
      }
      AppendBytes(std::exchange(bytes, ""), result);
      result.push_back(std::move(token));
    }
    AppendBytes(bytes, result);
    return result;
  }

  Tokens operator()(const ReplaceText& step) {
    for (std::string& token : tokens) absl::StrReplaceAll({{step.from, step.to}}, &token);
    return std::move(tokens);
  }

  Tokens operator()(const StripCharacters& step) {
    for (std::string& token : tokens) {
      absl::string_view rest = token;
      for (size_t i = 0; i < step.start && absl::StartsWith(rest, step.content); ++i) {
        rest.remove_prefix(step.content.size());
      }
      for (size_t i = 0; i < step.stop && absl::EndsWith(rest, step.content); ++i) {
        rest.remove_suffix(step.content.size());
      }
      token = std::string(rest);
    }
    return std::move(tokens);
  }

  Tokens operator()(const DecodeMetaspace& step) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      absl::StrReplaceAll({{step.replacement, i == 0 && step.drops_first ? "" : " "}}, &tokens[i]);
    }
    return std::move(tokens);
  }

  Tokens operator()(const DecodeWordPiece& step) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool continues = absl::StartsWith(tokens[i], step.prefix);
      if (i > 0) tokens[i] = continues ? tokens[i].substr(step.prefix.size()) : absl::StrCat(" ", tokens[i]);
      if (step.cleanup) tokens[i] = WithoutSpacesOfEnglish(std::move(tokens[i]));
    }
    return std::move(tokens);
  }

  Tokens operator()(const DecodeSuffix& step) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      absl::StrReplaceAll({{step.suffix, i + 1 == tokens.size() ? "" : " "}}, &tokens[i]);
    }
    return std::move(tokens);
  }
};

}  // namespace

std::string DecodeTokens(const TokenDecoder& decoder, std::vector<std::string> tokens) {
  for (const auto& step : decoder) tokens = std::visit(Apply{std::move(tokens)}, step);
  return absl::StrJoin(tokens, "");
}

}  // namespace reprise::models
