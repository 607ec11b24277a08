#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

absl::StatusOr<Merge> ReadMerge(const JsonValue& value, const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const auto pair, ReadPair(value));
  Merge merge;
  const std::string merged = absl::StrCat(pair.first, pair.second);
  const std::pair<absl::string_view, int32_t*> parts[] = {
      {pair.first, &merge.left}, {pair.second, &merge.right}, {merged, &merge.merged}};
  for (const auto& [token, id] : parts) {
    const auto found = vocabulary.find(token);
    if (found == vocabulary.end()) return value.Error(absl::StrCat("\"", token, "\" is not in the vocabulary"));
    *id = found->second;
  }
  return merge;
}

// Returns whether the value is the first line of a merges.txt, which some files carry in their list.
bool IsVersionLine(const JsonValue& value) {
  return value.is_string() && absl::StartsWith(*value.String(), "#version");
}

// A pair that appears twice has the rank of its last place, as in Hugging Face's tokenizers.
absl::Status ReadMerges(const JsonValue& value, const Vocabulary& vocabulary, std::vector<Merge>& merges) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
  std::vector<Merge> all;
  all.reserve(elements.size());
  for (const JsonValue& element : elements) {
    if (IsVersionLine(element)) continue;
    ASSIGN_OR_RETURN(const Merge merge, ReadMerge(element, vocabulary));
    all.push_back(merge);
  }
  absl::flat_hash_set<std::pair<int32_t, int32_t>> pairs;
  pairs.reserve(all.size());
  for (auto merge = all.rbegin(); merge != all.rend(); ++merge) {
    if (pairs.emplace(merge->left, merge->right).second) merges.push_back(*merge);
  }
  std::reverse(merges.begin(), merges.end());
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

absl::Status RequirePlainBpe(const JsonValue& model) {
  if (const auto dropout = model.Find("dropout")) {
    ASSIGN_OR_RETURN(const double probability, dropout->Number());
    if (probability != 0) return Unsupported(*dropout, "dropout of merges", "0 or null");
  }
  for (const absl::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto affix = model.Find(key);
    if (!affix) continue;
    ASSIGN_OR_RETURN(const absl::string_view text, affix->String());
    if (!text.empty()) return Unsupported(*affix, absl::StrCat("\"", text, "\""), "null");
  }
  return absl::OkStatus();
}

// Reads what becomes of bytes without a token; it does not matter if every byte has one.
absl::Status ReadUnknown(const JsonValue& model, TokenizerFile& file) {
  if (HasEveryByte(file.vocabulary)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool fallback, FlagOr(model, "byte_fallback", false));
  if (fallback) return Unsupported(*model.Find("byte_fallback"), "true with bytes that have no token", "false");
  const auto unknown = model.Find("unk_token");
  if (!unknown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view token, unknown->String());
  const auto found = file.vocabulary.find(token);
  if (found == file.vocabulary.end()) return unknown->Error(absl::StrCat("\"", token, "\" is not in the vocabulary"));
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
  RETURN_IF_ERROR(RequirePlainBpe(model));
  RETURN_IF_ERROR(ReadUnknown(model, file));
  RETURN_IF_ERROR(ReadMerges(merges, file.vocabulary, file.merges));
  ASSIGN_OR_RETURN(file.ignore_merges, FlagOr(model, "ignore_merges", false));
  return absl::OkStatus();
}

}  // namespace reprise::models
