#include "pipelines/sweeps/trials/trial_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace reprise {
namespace {

constexpr size_t kLongest = 80;

std::string KeyOnly(const std::string& key) { return key.substr(key.find('.') + 1); }

std::string Initials(const std::string& key) {
  const std::vector<std::string> words = absl::StrSplit(KeyOnly(key), '_', absl::SkipEmpty());
  if (words.size() == 1) return words[0];
  std::string initials;
  for (const std::string& word : words) initials += word[0];
  return initials;
}

std::string WithoutDot(const std::string& key) { return absl::StrReplaceAll(key, {{".", "_"}}); }

// Characters that a folder's name should not have become '_'.
std::string Plain(absl::string_view text) {
  std::string plain;
  for (const char c : text) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    plain += is_plain ? c : '_';
  }
  return plain.empty() ? "none" : plain;
}

}  // namespace

std::vector<std::string> ShortNames(absl::Span<const std::string> keys) {
  std::vector<std::string> names;
  for (const std::string& key : keys) names.push_back(Initials(key));
  for (const auto& longer : {KeyOnly, WithoutDot}) {
    const std::vector<std::string> before = names;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (std::count(before.begin(), before.end(), before[i]) > 1) names[i] = longer(keys[i]);
    }
  }
  return names;
}

std::string ShortSetting(const std::string& short_name, const config::Value& value) {
  if (const std::string* const text = std::get_if<std::string>(&value)) {
    const bool is_word = !text->empty() && absl::ascii_isalpha(static_cast<unsigned char>((*text)[0]));
    return is_word ? Plain(*text) : absl::StrCat(short_name, Plain(*text));
  }
  std::string literal = config::Literal(value);
  std::erase(literal, '+');
  if (std::holds_alternative<bool>(value)) return absl::StrCat(short_name, "_", literal);
  return absl::StrCat(short_name, absl::StripSuffix(literal, ".0"));
}

Labels JoinLabels(absl::Span<const std::string> words, absl::Span<const LabelPart> parts) {
  std::vector<std::string> trial, arm;
  for (const std::string& word : words) {
    if (!word.empty()) trial.push_back(word);
  }
  arm = trial;
  for (const LabelPart& part : parts) {
    trial.push_back(ShortSetting(part.short_name, part.value));
    if (part.key != "run.seed") arm.push_back(trial.back());
  }
  return {absl::StrJoin(trial, "-").substr(0, kLongest), absl::StrJoin(arm, "-").substr(0, kLongest)};
}

std::string TrialName(int64_t index, int64_t trials, const std::string& label) {
  const size_t digits = std::max<size_t>(2, absl::StrCat(trials - 1).size());
  const std::string number = absl::StrFormat("%0*d", static_cast<int>(digits), index);
  return label.empty() ? number : absl::StrCat(number, "-", label);
}

}  // namespace reprise
