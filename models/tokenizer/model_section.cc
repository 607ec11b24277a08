#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/tokenizer_file_sections.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxTokenId = (int64_t{1} << 24) - 1;

using Vocabulary = absl::flat_hash_map<std::string, int32_t>;

absl::Status ReadVocabulary(const JsonValue& value, Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const auto members, value.Members());
  if (members.empty()) {
    return value.Error(
        "the vocabulary has no tokens, so no text can be encoded; take the tokenizer.json that belongs to the model, "
        "or "
        "export it again");
  }
  absl::flat_hash_map<int32_t, absl::string_view> token_of;
  vocabulary.reserve(members.size());
  token_of.reserve(members.size());
  for (const auto& [token, id_value] : members) {
    ASSIGN_OR_RETURN(const int64_t id, id_value.Integer(0, kMaxTokenId));
    const auto [other, is_new] = token_of.emplace(id, token);
    if (!is_new) return id_value.Error(absl::StrCat("the id ", id, " belongs to \"", other->second, "\""));
    vocabulary.emplace(token, id);
  }
  return absl::OkStatus();
}

// A merge is written "a b" or ["a", "b"].
absl::StatusOr<std::pair<absl::string_view, absl::string_view>> ReadPair(const JsonValue& value) {
  if (value.is_array()) {
    ASSIGN_OR_RETURN(const std::vector<JsonValue> parts, value.Elements());
    if (parts.size() != 2) return value.Error(absl::StrCat("expected 2 tokens, found ", parts.size()));
    ASSIGN_OR_RETURN(const absl::string_view left, parts[0].String());
    ASSIGN_OR_RETURN(const absl::string_view right, parts[1].String());
    return std::pair(left, right);
  }
  ASSIGN_OR_RETURN(const absl::string_view text, value.String());
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ' ');
  if (parts.size() != 2) return value.Error("expected two tokens with one space between them");
  return std::pair(parts[0], parts[1]);
}

// The merged token lacks the subword prefix of the right one.
absl::StatusOr<Merge> ReadMerge(const JsonValue& value, const TokenizerFile& file) {
  ASSIGN_OR_RETURN(const auto pair, ReadPair(value));
  if (pair.second.size() < file.subword_prefix.size()) {
    return value.Error(absl::StrCat("\"", pair.second, "\" does not begin with the continuing_subword_prefix \"",
                                    file.subword_prefix, "\"; correct the pair or the prefix"));
  }
  Merge merge;
  const std::string merged = absl::StrCat(pair.first, pair.second.substr(file.subword_prefix.size()));
  const std::pair<absl::string_view, int32_t*> parts[] = {
      {pair.first, &merge.left}, {pair.second, &merge.right}, {merged, &merge.merged}};
  for (const auto& [token, id] : parts) {
    const auto found = file.vocabulary.find(token);
    if (found == file.vocabulary.end()) return value.Error(absl::StrCat("\"", token, "\" is not in the vocabulary"));
    *id = found->second;
  }
  return merge;
}

// Returns whether the value is the first line of a merges.txt, which some files carry in their list.
bool IsVersionLine(const JsonValue& value) {
  return value.is_string() && absl::StartsWith(*value.String(), "#version");
}

// A pair that appears twice has the rank of its last place, as in Hugging Face's tokenizers.
absl::Status ReadMerges(const JsonValue& value, TokenizerFile& file) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
  std::vector<Merge> all;
  all.reserve(elements.size());
  for (const JsonValue& element : elements) {
    if (IsVersionLine(element)) continue;
    ASSIGN_OR_RETURN(const Merge merge, ReadMerge(element, file));
    all.push_back(merge);
  }
  absl::flat_hash_set<std::pair<int32_t, int32_t>> pairs;
  pairs.reserve(all.size());
  for (auto merge = all.rbegin(); merge != all.rend(); ++merge) {
    if (pairs.emplace(merge->left, merge->right).second) file.merges.push_back(*merge);
  }
  std::reverse(file.merges.begin(), file.merges.end());
  return absl::OkStatus();
}

bool HasEveryByte(const Vocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    if (!vocabulary.contains(ByteToText(static_cast<uint8_t>(byte)))) return false;
  }
  return true;
}

// A file without a type, such as GPT-2's own, is BPE if it has merges.
absl::Status RequireBpe(const JsonValue& model) {
  if (!model.Find("type") && model.Find("merges")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view type, TypeOf(model));
  return type == "BPE" ? absl::OkStatus() : Unsupported(model, absl::StrCat("a model of type ", type), "BPE");
}

absl::Status RequireNoDropout(const JsonValue& model) {
  const std::optional<JsonValue> dropout = model.Find("dropout");
  if (!dropout) return absl::OkStatus();
  ASSIGN_OR_RETURN(const double probability, dropout->Number());
  return probability == 0 ? absl::OkStatus() : Unsupported(*dropout, "dropout of merges", "0 or null");
}

absl::StatusOr<std::string> ReadAffix(const JsonValue& model, absl::string_view key) {
  const std::optional<JsonValue> affix = model.Find(key);
  if (!affix) return std::string();
  ASSIGN_OR_RETURN(const absl::string_view text, affix->String());
  return std::string(text);
}

absl::Status ReadByteFallback(const JsonValue& model, TokenizerFile& file) {
  ASSIGN_OR_RETURN(const bool fallback, FlagOr(model, "byte_fallback", false));
  if (!fallback) return absl::OkStatus();
  if (!file.subword_prefix.empty() || !file.word_suffix.empty()) {
    return Unsupported(*model.Find("byte_fallback"),
                       "true together with a continuing_subword_prefix or an end_of_word_suffix", "false");
  }
  file.byte_fallback.emplace();
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = file.vocabulary.find(absl::StrFormat("<0x%02X>", byte));
    (*file.byte_fallback)[byte] = found == file.vocabulary.end() ? -1 : found->second;
  }
  return absl::OkStatus();
}

// Reads what becomes of characters without a token; it does not matter if every byte has one.
absl::Status ReadUnknown(const JsonValue& model, TokenizerFile& file) {
  const std::optional<JsonValue> unknown = model.Find("unk_token");
  if (!unknown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view token, unknown->String());
  const auto found = file.vocabulary.find(token);
  if (found == file.vocabulary.end()) {
    if (HasEveryByte(file.vocabulary)) return absl::OkStatus();
    return unknown->Error(
        absl::StrCat("\"", token, "\" is not in the vocabulary; add it there, or set unk_token to null"));
  }
  ASSIGN_OR_RETURN(const bool fuse, FlagOr(model, "fuse_unk", false));
  file.unknown = UnknownToken{found->second, fuse};
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadModelSection(const JsonValue& model, TokenizerFile& file) {
  RETURN_IF_ERROR(RequireBpe(model));
  ASSIGN_OR_RETURN(const JsonValue vocabulary, model.Get("vocab"));
  ASSIGN_OR_RETURN(const JsonValue merges, model.Get("merges"));
  RETURN_IF_ERROR(ReadVocabulary(vocabulary, file.vocabulary));
  RETURN_IF_ERROR(RequireNoDropout(model));
  ASSIGN_OR_RETURN(file.subword_prefix, ReadAffix(model, "continuing_subword_prefix"));
  ASSIGN_OR_RETURN(file.word_suffix, ReadAffix(model, "end_of_word_suffix"));
  RETURN_IF_ERROR(ReadByteFallback(model, file));
  RETURN_IF_ERROR(ReadUnknown(model, file));
  RETURN_IF_ERROR(ReadMerges(merges, file));
  ASSIGN_OR_RETURN(file.ignore_merges, FlagOr(model, "ignore_merges", false));
  return absl::OkStatus();
}

}  // namespace reprise::models
