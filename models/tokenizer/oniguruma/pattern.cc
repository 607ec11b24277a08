#include "models/tokenizer/oniguruma/pattern.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "models/tokenizer/oniguruma/newer_characters.h"
#include "models/tokenizer/oniguruma/pattern_size.h"
#include "oniguruma.h"

namespace reprise::models {
namespace {

// A run of one kind of character takes an entry for each: 4 million are about 130 MiB.
constexpr unsigned kMaxStackEntries = 4 << 20;
// Steps back that a search may take at each place of a text without being counted; most take about ten.
constexpr int64_t kFreeSteps = 256;
// Steps over characters that the searches in a text may take for each of its bytes without being counted; the patterns
// of well-known models take up to eight. Of the others as many count as one step back.
constexpr int64_t kFreeCharactersPerByte = 64, kCharactersPerStep = 16;
// A search goes over the places of so many bytes at the end of a text at once; their steps are counted after it.
constexpr size_t kSearchedAtOnce = 2048;
// Calls of groups (\g<1>) in one search, and in a pattern: Oniguruma follows each while it compiles, and calls of
// groups that call others twice are 2^n.
constexpr unsigned long kMaxCallsOfSearch = 1'000'000;
constexpr int kMaxCalls = 8;
// Nested groups in a pattern: each takes a few hundred bytes of the machine's stack while the pattern is compiled.
constexpr unsigned kMaxDepth = 256;

const OnigUChar* Begin(absl::string_view text) { return reinterpret_cast<const OnigUChar*>(text.data()); }
const OnigUChar* End(absl::string_view text) { return Begin(text) + text.size(); }

// Patterns are compiled by one thread at a time: Oniguruma prepares itself for the first one, and takes no lock.
std::mutex& CompilerMutex() {
  static std::mutex mutex;
  return mutex;
}

// The steps that searches of this thread took over characters. Oniguruma asks the encoding for the length of each
// character that it compares with a class, and limits nothing but steps back: without this a search that looks at the
// rest of the text from each place would take a time that is quadratic. Literal characters are not counted: their
// number at a place is limited by the pattern's size, except where literals alone are repeated and what follows them
// decides without a step back. Such a pattern ("a+b|a") takes a quadratic time in a long run of them.
thread_local int64_t character_steps = 0;

int CountingLength(const OnigUChar* character) {
  ++character_steps;
  return OnigEncodingUTF8.mbc_enc_len(character);
}

// UTF-8 that counts.
OnigEncoding CountingUtf8() {
  static OnigEncodingType encoding = [] {
    OnigEncodingType result = OnigEncodingUTF8;
    result.mbc_enc_len = CountingLength;
    return result;
  }();
  return &encoding;
}

// Precondition: the thread holds CompilerMutex.
void PrepareOnce() {
  static const bool is_prepared = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8, CountingUtf8()};
    CHECK_EQ(onig_initialize(encodings, 2), 0);
    onig_set_parse_depth_limit(kMaxDepth);
    onig_set_subexp_call_limit_in_search(kMaxCallsOfSearch);
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

// Searches in one text. Oniguruma limits the steps back of a search, and does not report how many it took.
class Searcher {
 public:
  Searcher(OnigRegexType* code, absl::string_view text)
      : code_(code),
        text_(text),
        free_characters_(kFreeCharactersPerByte * static_cast<int64_t>(text.size())),
        region_(onig_region_new()),
        parameters_(onig_new_match_param()) {
    CHECK(region_ != nullptr && parameters_ != nullptr);
    CHECK_EQ(onig_initialize_match_param(parameters_.get()), 0);
    onig_set_match_stack_limit_size_of_match_param(parameters_.get(), kMaxStackEntries);
  }

  // Returns the first match at `at` or later: its place, or Oniguruma's error, a negative number. In a long text each
  // place is tried by itself, so that a search that looks far from each of them ends when no steps are left.
  int Search(size_t at, int64_t* steps_left) {
    OnigOptionType options = ONIG_OPTION_NONE;
    while (text_.size() - at > kSearchedAtOnce) {
      const int result = Try([&](int64_t steps) { return MatchAt(at, options, steps); }, steps_left);
      if (result != ONIG_MISMATCH) return result;
      at = CharacterBoundary(text_, at + 1);
      options = ONIG_OPTION_NOT_BEGIN_POSITION;  // \G stands at the first place alone
    }
    return Try([&](int64_t steps) { return SearchFrom(at, options, steps); }, steps_left);
  }

  static bool IsOverLimit(int result) {
    return result == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER || result == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
  }

  ByteRange found() const { return {static_cast<size_t>(region_->beg[0]), static_cast<size_t>(region_->end[0])}; }

 private:
  // A search that takes more than the free steps at a place is repeated with more and more until they suffice, or none
  // are left.
  template <typename Search>
  int Try(Search search, int64_t* steps_left) {
    int result = search(0);
    ChargeCharacters(steps_left);
    for (int64_t steps = 4 * kFreeSteps; IsOverLimit(result) && *steps_left > 0; steps *= 4) {
      steps = std::min(steps, *steps_left);
      *steps_left -= steps;
      result = search(steps);
      ChargeCharacters(steps_left);
    }
    const bool is_error = result < 0 && result != ONIG_MISMATCH;
    return *steps_left > 0 || is_error ? result : ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
  }

  void ChargeCharacters(int64_t* steps_left) {
    free_characters_ -= std::exchange(character_steps, 0);
    if (free_characters_ >= 0) return;
    const int64_t steps = -free_characters_ / kCharactersPerStep;
    free_characters_ += steps * kCharactersPerStep;
    *steps_left = std::max<int64_t>(0, *steps_left - steps);
  }

  // `steps` is the limit of the whole search; 0: the free steps at each place.
  void Limit(int64_t steps) const {
    const int64_t at_a_place = steps == 0 ? kFreeSteps : steps;
    onig_set_retry_limit_in_match_of_match_param(parameters_.get(), static_cast<unsigned long>(at_a_place));
    onig_set_retry_limit_in_search_of_match_param(parameters_.get(), static_cast<unsigned long>(steps));
    character_steps = 0;
  }

  int MatchAt(size_t at, OnigOptionType options, int64_t steps) const {
    Limit(steps);
    return onig_match_with_param(code_, Begin(text_), End(text_), Begin(text_) + at, region_.get(), options,
                                 parameters_.get());
  }

  int SearchFrom(size_t at, OnigOptionType options, int64_t steps) const {
    Limit(steps);
    return onig_search_with_param(code_, Begin(text_), End(text_), Begin(text_) + at, End(text_), region_.get(),
                                  options, parameters_.get());
  }

  OnigRegexType* const code_;
  const absl::string_view text_;
  int64_t free_characters_;
  const std::unique_ptr<OnigRegion, FreeRegion> region_;
  const std::unique_ptr<OnigMatchParam, FreeParameters> parameters_;
};

// Returns the pattern as messages give it.
std::string Shown(absl::string_view pattern) {
  constexpr size_t kShown = 400;
  if (pattern.size() <= kShown) return std::string(pattern);
  size_t end = kShown;
  while ((static_cast<unsigned char>(pattern[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(pattern.substr(0, end), "...");
}

int Calls(absl::string_view pattern) {
  int calls = 0;
  for (size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '\\') continue;
    ++at;  // an escaped backslash begins no call
    if (pattern[at] == 'g') ++calls;
  }
  return calls;
}

absl::Status SearchError(int error, size_t at, absl::string_view text, absl::string_view pattern) {
  const std::string where = absl::StrCat("cannot split the text at byte ", at, " of its ", text.size(),
                                         ": the tokenizer's pattern ", Shown(pattern));
  constexpr absl::string_view kRemedy = "; use a shorter text, or a pattern that backtracks less";
  if (Searcher::IsOverLimit(error)) {
    return absl::InvalidArgumentError(absl::StrCat(where, " takes more than ", kStepsOfText, " steps", kRemedy));
  }
  return absl::InvalidArgumentError(absl::StrCat(where, " ends with ", ErrorText(error, nullptr), kRemedy));
}

}  // namespace

Pattern::Pattern(std::shared_ptr<re_pattern_buffer> code, absl::string_view text)
    : code_(std::move(code)), text_(std::make_shared<const std::string>(text)) {}

absl::StatusOr<Pattern> Pattern::Compile(absl::string_view pattern, PatternSyntax syntax) {
  const bool literal = syntax == PatternSyntax::kLiteral;
  if (!literal && (absl::StrContains(pattern, "[:punct:]") || absl::StrContains(pattern, "[:^punct:]"))) {
    return absl::UnimplementedError(absl::StrCat(
        "the pattern ", Shown(pattern),
        " has [:punct:], which versions of Oniguruma read differently; write \\p{P}, or \\p{P}\\p{S}, instead"));
  }
  if (!literal && Calls(pattern) > kMaxCalls) {
    return absl::UnimplementedError(absl::StrCat("the pattern ", Shown(pattern), " has more than ", kMaxCalls,
                                                 " calls of groups (\\g), which may take too long; write them out"));
  }
  if (!literal && WrittenOutSize(pattern) > kMaxPatternSize) {
    return absl::UnimplementedError(absl::StrCat(
        "the pattern ", Shown(pattern), " has more than ", kMaxPatternSize,
        " characters when its repeats are written out, which would take too long; repeat less, as in {1,1000}"));
  }
  const std::lock_guard<std::mutex> lock(CompilerMutex());
  PrepareOnce();
  OnigRegexType* code = nullptr;
  OnigErrorInfo info{};
  const int error = onig_new(&code, Begin(pattern), End(pattern), ONIG_OPTION_NONE, CountingUtf8(),
                             literal ? ONIG_SYNTAX_ASIS : ONIG_SYNTAX_ONIGURUMA, &info);
  if (error != ONIG_NORMAL) {
    return absl::InvalidArgumentError(
        absl::StrCat("the pattern ", Shown(pattern), " is malformed: ", ErrorText(error, &info)));
  }
  return Pattern(std::shared_ptr<OnigRegexType>(code, onig_free), pattern);
}

absl::StatusOr<std::vector<ByteRange>> Pattern::FindAll(absl::string_view text, int64_t* steps_left) const {
  std::vector<ByteRange> matches;
  if (text.empty()) return matches;
  Searcher searcher(code_.get(), text);
  for (size_t at = 0; at <= text.size();) {
    const int result = searcher.Search(at, steps_left);
    if (result == ONIG_MISMATCH) break;
    if (result < 0) return SearchError(result, at, text, *text_);
    const ByteRange found = searcher.found();
    const size_t end_of_last = matches.empty() ? 0 : matches.back().end;
    if (found.begin < end_of_last || found.end < found.begin) {  // \K within look-around can move a match's ends
      return absl::InvalidArgumentError(absl::StrCat("the match of the tokenizer's pattern ", Shown(*text_),
                                                     " after byte ", at, " does not advance"));
    }
    const bool is_empty = found.begin == found.end;
    at = is_empty ? CharacterBoundary(text, found.end + 1) : found.end;
    if (is_empty && !matches.empty() && found.end == end_of_last) continue;
    matches.push_back(found);
  }
  return matches;
}

}  // namespace reprise::models
