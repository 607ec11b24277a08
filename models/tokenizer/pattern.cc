#include "models/tokenizer/pattern.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "models/tokenizer/newer_characters.h"
#include "oniguruma.h"

namespace reprise::models {
namespace {

// A run of one kind of character takes an entry for each: 4 million are about 130 MiB.
constexpr unsigned kMaxStackEntries = 4 << 20;
// Steps back that a search may take at each place of a text without being counted; most take about ten. Steps forward
// are not counted at all: a place may look at the rest of the text, and a search for what is not there be quadratic.
constexpr int64_t kFreeSteps = 256;
// Nested groups in a pattern: each takes a few hundred bytes of the machine's stack while the pattern is compiled.
constexpr unsigned kMaxDepth = 256;

const OnigUChar* Begin(absl::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }
const OnigUChar* End(absl::string_view text) { return Begin(text) + text.size(); }

// Patterns are compiled by one thread at a time: Oniguruma prepares itself for the first one, and takes no lock.
std::mutex& CompilerMutex() {
  static std::mutex mutex;
  return mutex;
}

// Precondition: the thread holds CompilerMutex.
void PrepareOnce() {
  static const bool is_prepared = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    CHECK_EQ(onig_initialize(encodings, 1), 0);
    onig_set_parse_depth_limit(kMaxDepth);
    AddNewerCharacters();
    return true;
  }();
  CHECK(is_prepared);
}

std::string ErrorText(int error, OnigErrorInfo* info) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int size = onig_error_code_to_str(text, error, info);
  return std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
}

struct FreeRegion {
  void operator()(OnigRegion* region) const { onig_region_free(region, /*free_self=*/1); }
};
struct FreeParameters {
  void operator()(OnigMatchParam* parameters) const { onig_free_match_param(parameters); }
};

// Returns the first place at `at` or later where a character begins or the text ends.
size_t CharacterBoundary(absl::string_view text, size_t at) {
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

// Searches in one text. Oniguruma limits the steps of a search, and does not report how many it took.
class Searcher {
 public:
  Searcher(OnigRegexType* code, absl::string_view text)
      : code_(code), text_(text), region_(onig_region_new()), parameters_(onig_new_match_param()) {
    CHECK(region_ != nullptr && parameters_ != nullptr);
    CHECK_EQ(onig_initialize_match_param(parameters_.get()), 0);
    onig_set_match_stack_limit_size_of_match_param(parameters_.get(), kMaxStackEntries);
  }

  // Returns the first match at `at` or later: its place, or Oniguruma's error, a negative number. A search that takes
  // more than the free steps at a place is repeated with more and more until they suffice, or none are left.
  int Search(size_t at, int64_t* steps_left) const {
    int result = SearchWithin(at, kFreeSteps, /*steps=*/0);
    for (int64_t steps = 4 * kFreeSteps; IsOverLimit(result) && *steps_left > 0; steps *= 4) {
      steps = std::min(steps, *steps_left);
      *steps_left -= steps;
      result = SearchWithin(at, steps, steps);
    }
    return result;
  }

  static bool IsOverLimit(int result) {
    return result == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || result == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
  }

  ByteRange found() const { return {static_cast<size_t>(region_->beg[0]), static_cast<size_t>(region_->end[0])}; }

 private:
  // `steps` is the limit of the whole search; 0: none.
  int SearchWithin(size_t at, int64_t steps_at_a_place, int64_t steps) const {
    onig_set_retry_limit_in_match_of_match_param(parameters_.get(), static_cast<unsigned long>(steps_at_a_place));
    onig_set_retry_limit_in_search_of_match_param(parameters_.get(), static_cast<unsigned long>(steps));
    return onig_search_with_param(code_, Begin(text_), End(text_), Begin(text_) + at, End(text_), region_.get(),
                                  ONIG_OPTION_NONE, parameters_.get());
  }

  OnigRegexType* const code_;
  const absl::string_view text_;
  const std::unique_ptr<OnigRegion, FreeRegion> region_;
  const std::unique_ptr<OnigMatchParam, FreeParameters> parameters_;
};

absl::Status SearchError(int error, size_t at, absl::string_view text) {
  const std::string where = absl::StrCat("cannot split the text at byte ", at, " of its ", text.size(), ": ");
  if (Searcher::IsOverLimit(error)) {
    return absl::InvalidArgumentError(absl::StrCat(where, "the tokenizer's pattern takes more than ", kStepsOfText,
                                                   " steps; use a shorter text, or a pattern that backtracks less"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(where, ErrorText(error, nullptr), "; use a shorter text, or a pattern that backtracks less"));
}

}  // namespace

absl::StatusOr<Pattern> Pattern::Compile(absl::string_view pattern, PatternSyntax syntax) {
  const bool literal = syntax == PatternSyntax::kLiteral;
  if (!literal && (absl::StrContains(pattern, "[:punct:]") || absl::StrContains(pattern, "[:^punct:]"))) {
    return absl::UnimplementedError(absl::StrCat(
        "the pattern ", pattern,
        " has [:punct:], which versions of Oniguruma read differently; write \\p{P}, or \\p{P}\\p{S}, instead"));
  }
  const std::lock_guard<std::mutex> lock(CompilerMutex());
  PrepareOnce();
  OnigRegexType* code = nullptr;
  OnigErrorInfo info{};
  const int error = onig_new(&code, Begin(pattern), End(pattern), ONIG_OPTION_NONE, ONIG_ENCODING_UTF8,
                             literal ? ONIG_SYNTAX_ASIS : ONIG_SYNTAX_ONIGURUMA, &info);
  if (error != ONIG_NORMAL) {
    return absl::InvalidArgumentError(
        absl::StrCat("the pattern ", pattern, " is malformed: ", ErrorText(error, &info)));
  }
  return Pattern(std::shared_ptr<OnigRegexType>(code, onig_free));
}

absl::StatusOr<std::vector<ByteRange>> Pattern::FindAll(absl::string_view text, int64_t* steps_left) const {
  std::vector<ByteRange> matches;
  if (text.empty()) return matches;
  const Searcher searcher(code_.get(), text);
  for (size_t at = 0; at <= text.size();) {
    const int result = searcher.Search(at, steps_left);
    if (result == ONIG_MISMATCH) break;
    if (result < 0) return SearchError(result, at, text);
    const ByteRange found = searcher.found();
    const size_t end_of_last = matches.empty() ? 0 : matches.back().end;
    if (found.begin < end_of_last || found.end < found.begin) {  // \K within look-around can move a match's ends
      return absl::InvalidArgumentError(absl::StrCat("the pattern's match after byte ", at, " does not advance"));
    }
    const bool is_empty = found.begin == found.end;
    at = is_empty ? CharacterBoundary(text, found.end + 1) : found.end;
    if (is_empty && !matches.empty() && found.end == end_of_last) continue;
    matches.push_back(found);
  }
  return matches;
}

}  // namespace reprise::models
