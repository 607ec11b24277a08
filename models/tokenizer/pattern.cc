#define PCRE2_CODE_UNIT_WIDTH 8
#include "models/tokenizer/pattern.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "pcre2.h"

namespace reprise::models {
namespace {

constexpr uint32_t kMaxSteps = 10'000'000, kMaxHeapKib = 64 * 1024;

// PCRE2's \s also matches U+180E, which left White_Space in Unicode 6.3.
std::string WithUnicodeSpaces(absl::string_view pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool escape = pattern[i] == '\\' && i + 1 < pattern.size();
    if (!escape) {
      result.push_back(pattern[i]);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's' || escaped == 'S') {
      absl::StrAppend(&result, escaped == 's' ? "\\p" : "\\P", "{White_Space}");
    } else {
      result.append({'\\', escaped});
    }
  }
  return result;
}

std::string ErrorText(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

struct FreeMatch {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

}  // namespace

absl::StatusOr<Pattern> Pattern::Compile(absl::string_view pattern, PatternSyntax syntax) {
  const bool literal = syntax == PatternSyntax::kLiteral;
  const std::string source = literal ? std::string(pattern) : WithUnicodeSpaces(pattern);
  const uint32_t options = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* const code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options, &error, &offset, nullptr);
  if (code == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the pattern ", pattern, " is malformed: ", ErrorText(error)));
  }
  Pattern result(std::shared_ptr<const pcre2_code>(
      code, [](const pcre2_code* p) { pcre2_code_free(const_cast<pcre2_code*>(p)); }));
  uint32_t matches_empty = 0;
  CHECK_EQ(pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &matches_empty), 0);
  if (matches_empty) return absl::UnimplementedError(absl::StrCat("the pattern ", pattern, " matches the empty text"));
  return result;
}

absl::StatusOr<std::vector<ByteRange>> Pattern::FindAll(absl::string_view text) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create(1, nullptr));
  const std::unique_ptr<pcre2_match_context, FreeMatch> context(pcre2_match_context_create(nullptr));
  CHECK(match != nullptr && context != nullptr);
  pcre2_set_match_limit(context.get(), kMaxSteps);
  pcre2_set_heap_limit(context.get(), kMaxHeapKib);
  std::vector<ByteRange> matches;
  size_t at = 0;
  while (at < text.size()) {
    const int result = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                   PCRE2_NO_UTF_CHECK, match.get(), context.get());
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      return absl::InvalidArgumentError(absl::StrCat("cannot split the text at byte ", at, ": ", ErrorText(result)));
    }
    const PCRE2_SIZE* const range = pcre2_get_ovector_pointer(match.get());
    if (range[0] < at || range[1] <= range[0]) {  // \K within look-around can move a match's ends
      return absl::InvalidArgumentError(absl::StrCat("the pattern's match after byte ", at, " does not advance"));
    }
    matches.push_back({range[0], range[1]});
    at = range[1];
  }
  return matches;
}

}  // namespace reprise::models
