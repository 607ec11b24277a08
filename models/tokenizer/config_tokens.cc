#include "models/tokenizer/config_tokens.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

constexpr char kFile[] = "tokenizer.json";

using TokensByContent = absl::flat_hash_map<absl::string_view, AddedToken*>;

TokensByContent ByContent(TokenizerFile& file) {
  TokensByContent result;
  for (AddedToken& token : file.added_tokens) result.emplace(token.content, &token);
  return result;
}

// Returns the id that Hugging Face's tokenizers give the next token that they add.
int64_t NextId(const TokenizerFile& file) {
  auto next = static_cast<int64_t>(file.vocabulary.size());
  for (const AddedToken& token : file.added_tokens) next = std::max(next, int64_t{token.id} + 1);
  return next;
}

std::string NameOf(const NamedToken& token) {
  const std::string name = absl::StrCat(token.place, ": the token \"", token.content, "\"");
  return token.id ? absl::StrCat(name, " (id ", *token.id, ")") : name;
}

absl::Status WrongId(const NamedToken& token, int32_t id) {
  return absl::InvalidArgumentError(absl::StrCat(token.place, ": the token \"", token.content, "\" has the id ",
                                                 *token.id, ", but in ", kFile, " it has ", id,
                                                 "; write in both files the id that the model was trained with"));
}

// About a token whose id is not the one that Transformers would give it: writing tokenizer.json anew would not help.
absl::Status NotNextId(const NamedToken& token, int64_t next) {
  return absl::InvalidArgumentError(absl::StrCat(
      NameOf(token), " is not in ", kFile, ", and Transformers would not give it that id, but ", next,
      ", the next that is free, or leave it out; remove it, or list a token for each id from ", next,
      " to that with which the model was trained in the added_tokens of ", kFile, ", and write that id here too"));
}

absl::Status NotFound(const NamedToken& token, bool is_word, const std::string& directory) {
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(token),
                   is_word ? absl::StrCat(" is a word of the vocabulary of ", kFile, ", and not among its added_tokens")
                           : absl::StrCat(" is not in ", kFile),
                   ", so it would not be found in texts, where Transformers ", token.is_newer ? "5 " : "",
                   "finds it; remove it, or ", "write ", kFile, " anew, with ",
                   token.is_newer ? "Transformers 5: " : "", WritingCommand(directory)));
}

bool SameSearch(const AddedToken& token, const TokenFlags& flags, bool has_normalizer) {
  return token.single_word == flags.single_word && token.lstrip == flags.lstrip && token.rstrip == flags.rstrip &&
         (!has_normalizer || token.normalized == flags.normalized);
}

// Transformers 4 takes the flags of such an object, Transformers 5 those of tokenizer.json.
absl::Status RequireSameFlags(const NamedToken& named, const AddedToken& token, bool has_normalizer) {
  if (!named.flags || SameSearch(token, *named.flags, has_normalizer)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(named), " has another single_word, lstrip, rstrip or normalized than in the added_tokens of ",
                   kFile, ", and versions of Transformers differ in which they take; write the same in both, or \"",
                   named.content, "\" alone here"));
}

// Tokens that have a use are special ones, in Transformers only if they are added anew: those of added_tokens_decoder,
// or where there is none, all.
absl::Status ApplyUses(const SpecialTokenNames& names, TokenizerFile& file) {
  const TokensByContent by_content = ByContent(file);
  absl::flat_hash_set<absl::string_view> added;
  for (const NamedToken& token : names.added) added.insert(token.content);
  absl::flat_hash_set<absl::string_view> seen;
  for (const NamedToken& named : names.special) {
    AddedToken& token = *by_content.at(named.content);
    const bool is_listed = !names.has_added_tokens || added.contains(named.content);
    const bool is_first = seen.insert(named.content).second;
    if (is_first && (named.is_list || !is_listed)) {
      RETURN_IF_ERROR(RequireSameFlags(named, token, !file.normalizer.empty()));
    }
    token.special |= is_listed;
  }
  return absl::OkStatus();
}

absl::Status ApplyFlags(const std::vector<NamedToken>& added, TokenizerFile& file) {
  const TokensByContent by_content = ByContent(file);
  for (const NamedToken& named : added) {
    if (!named.flags) continue;
    AddedToken& token = *by_content.at(named.content);
    token.single_word = named.flags->single_word;
    token.lstrip = named.flags->lstrip;
    token.rstrip = named.flags->rstrip;
    token.normalized = named.flags->normalized;
    token.special |= named.flags->special;  // a token that was special once remains so
  }
  return SpellAddedTokens(file);
}

absl::Status RequireKnownSettings(const SpecialTokenNames& names, bool is_in_directory, const TokenizerFile& file) {
  if (names.split_special_tokens) {
    return absl::InvalidArgumentError(
        "/split_special_tokens is true: Transformers would not find special tokens in texts, and Reprise always does; "
        "remove it");
  }
  if (!file.add_prefix_space || names.keeps_prefix_space) return absl::OkStatus();
  const bool absent = is_in_directory ? false : *file.add_prefix_space;
  if (names.add_prefix_space.value_or(absent) == *file.add_prefix_space) return absl::OkStatus();
  const absl::string_view value = *file.add_prefix_space ? "true" : "false";
  return absl::InvalidArgumentError(absl::StrCat(
      "/add_prefix_space is ",
      names.add_prefix_space ? (*names.add_prefix_space ? "true" : "false")
                             : "missing, which Transformers 4 reads as "
                               "false",
      ", but ", value, " at /pre_tokenizer of ", kFile,
      ": Transformers 4 takes the former, Transformers 5 the latter; write in both what the model was trained with"));
}

}  // namespace

std::string WritingCommand(const std::string& directory) {
  const std::string path = directory.empty() ? "DIRECTORY" : directory;
  return absl::StrCat("python3 -c 'from transformers import AutoTokenizer; AutoTokenizer.from_pretrained(\"", path,
                      "\").save_pretrained(\"", path, "\")'");
}

absl::Status RequireTokens(std::vector<NamedToken> tokens, const std::string& directory, const TokenizerFile& file) {
  absl::flat_hash_map<absl::string_view, int32_t> added;
  for (const AddedToken& token : file.added_tokens) added.emplace(token.content, token.id);
  const auto order = [](const NamedToken& token) { return token.id.value_or(std::numeric_limits<int64_t>::max()); };
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](const NamedToken& a, const NamedToken& b) { return order(a) < order(b); });
  const int64_t next = NextId(file);
  for (const NamedToken& token : tokens) {
    const auto listed = added.find(token.content);
    const auto word = file.vocabulary.find(token.content);
    const bool is_listed = listed != added.end(), is_word = word != file.vocabulary.end();
    if (is_listed || is_word) {
      const int32_t id = is_listed ? listed->second : word->second;
      if (token.id && *token.id != id) return WrongId(token, id);
    }
    if (is_listed) continue;
    if (!is_word && token.id && *token.id != next) return NotNextId(token, next);
    return NotFound(token, is_word, directory);
  }
  return absl::OkStatus();
}

absl::Status ApplyTokenizerConfig(const SpecialTokenNames& names, const std::string& directory, TokenizerFile& file) {
  RETURN_IF_ERROR(RequireTokens(names.special, directory, file));
  RETURN_IF_ERROR(RequireTokens(names.added, directory, file));
  RETURN_IF_ERROR(RequireKnownSettings(names, !directory.empty(), file));
  RETURN_IF_ERROR(ApplyFlags(names.added, file));
  return ApplyUses(names, file);
}

absl::Status ApplySpecialTokensMap(const SpecialTokenNames& names, const std::string& directory, TokenizerFile& file) {
  RETURN_IF_ERROR(RequireTokens(names.special, directory, file));
  return ApplyUses(names, file);
}

}  // namespace reprise::models
