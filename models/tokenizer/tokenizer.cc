#include "models/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/io/file_system.h"
#include "core/io/optional_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/tokenizer/byte_alphabet.h"
#include "models/tokenizer/characters.h"
#include "models/tokenizer/config_tokens.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{256} << 20;
constexpr char kFile[] = "tokenizer.json", kConfigFile[] = "tokenizer_config.json";
constexpr char kSpecialTokensFile[] = "special_tokens_map.json", kAddedTokensFile[] = "added_tokens.json";

// Returns the tokens that are one character between `prefix` and `suffix`.
CharacterTokens::Map SingleCharacters(const TokenizerFile& file, absl::string_view prefix, absl::string_view suffix) {
  CharacterTokens::Map result;
  for (const auto& [token, id] : file.vocabulary) {
    absl::string_view rest = token;
    if (!absl::ConsumePrefix(&rest, prefix) || !absl::ConsumeSuffix(&rest, suffix) || rest.empty()) continue;
    const Character character = FirstCharacter(rest);
    if (character.size == rest.size()) result.emplace(character.code, id);
  }
  return result;
}

BytePairEncoder MakeEncoder(const TokenizerFile& file) {
  CharacterTokens characters;
  characters.are_bytes = file.is_byte_level;
  characters.place_matters = !file.subword_prefix.empty() || !file.word_suffix.empty();
  if (characters.place_matters) {
    characters.first = SingleCharacters(file, "", "");
    characters.inner = SingleCharacters(file, file.subword_prefix, "");
    characters.last = SingleCharacters(file, file.subword_prefix, file.word_suffix);
    characters.alone = SingleCharacters(file, "", file.word_suffix);
  } else {
    characters.any = SingleCharacters(file, "", "");
  }
  BytePairEncoder encoder(std::move(characters), file.merges);
  if (file.unknown) encoder.SetUnknown(*file.unknown);
  if (file.byte_fallback) encoder.SetByteFallback(*file.byte_fallback);
  if (file.ignore_merges) encoder.SetWholeWords(file.vocabulary);
  return encoder;
}

// Returns a finder for the tokens of `file` that are searched before or after normalization, in the spelling that they
// have then.
AddedTokenFinder MakeFinder(const TokenizerFile& file, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : file.added_tokens) {
    if (token.normalized != normalized) continue;
    if (normalized) token.content = token.spelling;
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return AddedTokenFinder(std::move(tokens));
}

// Returns "; ..." about a tokenizer in a format that is not read and how to convert it; "" if there is none.
std::string OtherTokenizer(FileSystem& files, const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  if (!names.ok()) return "";
  for (const absl::string_view name : {"vocab.json", "merges.txt", "tokenizer.model", "spiece.model",
                                       "sentencepiece.bpe.model", "tekken.json", "qwen.tiktoken", "vocab.txt"}) {
    if (!std::binary_search(names->begin(), names->end(), name)) continue;
    return absl::StrCat("; the directory has its tokenizer as ", name, ", which is not read: write ", kFile,
                        " beside it, with ", WritingCommand(directory));
  }
  return "";
}

// Applies the files that Transformers reads where tokenizer_config.json has no added_tokens_decoder.
absl::Status ApplyOlderFiles(const std::string& directory, TokenizerFile& file) {
  const std::string map_path = JoinPath(directory, kSpecialTokensFile),
                    added_path = JoinPath(directory, kAddedTokensFile);
  ASSIGN_OR_RETURN(const std::optional<std::string> map, ReadOptionalFile(map_path, kMaxFileBytes));
  if (map) {
    const absl::StatusOr<SpecialTokenNames> names = ParseTokenizerConfig(*map);
    if (!names.ok()) return WithContext(names.status(), map_path);
    RETURN_IF_ERROR(WithContext(ApplySpecialTokensMap(*names, directory, file), map_path));
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> added, ReadOptionalFile(added_path, kMaxFileBytes));
  if (!added) return absl::OkStatus();
  absl::StatusOr<std::vector<NamedToken>> tokens = ParseAddedTokens(*added);
  return WithContext(tokens.ok() ? RequireTokens(*std::move(tokens), directory, file) : tokens.status(), added_path);
}

}  // namespace

Tokenizer::Tokenizer(TokenizerFile file, std::string json, std::string config_json)
    : json_(std::move(json)),
      config_json_(std::move(config_json)),
      normalizer_(std::move(file.normalizer)),
      pre_tokenizer_(std::move(file.pre_tokenizer)),
      encoder_(MakeEncoder(file)),
      before_normalization_(MakeFinder(file, false)),
      after_normalization_(MakeFinder(file, true)),
      ids_(std::move(file.vocabulary)),
      decoder_(std::move(file.decoder)) {
  decodes_bytes_ = decoder_ && !decoder_->empty() && std::holds_alternative<DecodeByteLevel>(decoder_->front());
  if (decodes_bytes_) decoder_->erase(decoder_->begin());
  // An added token that has no byte-level spelling decodes to itself; one that happens to have one is decoded by it, as
  // Hugging Face's ByteLevel decoder does.
  const auto text_of = [this](const std::string& token) {
    return decodes_bytes_ ? TextToBytes(token).value_or(token) : token;
  };
  for (const AddedToken& token : file.added_tokens) {
    ids_.emplace(token.content, token.id);
    if (token.special) special_.insert(token.id);
    text_of_id_.emplace(token.id, text_of(token.normalized ? token.spelling : token.content));
  }
  for (const auto& [token, id] : ids_) {
    text_of_id_.emplace(id, text_of(token));  // unless it is also an added token
    vocab_size_ = std::max<int64_t>(vocab_size_, int64_t{id} + 1);
  }
}

absl::StatusOr<Tokenizer> Tokenizer::Make(std::string json, std::string config, const std::string& directory) {
  const std::string file_name = JoinPath(directory, kFile), config_name = JoinPath(directory, kConfigFile);
  absl::StatusOr<TokenizerFile> file = ParseTokenizerFile(json);
  if (!file.ok()) return WithContext(file.status(), file_name);
  const absl::StatusOr<SpecialTokenNames> names = ParseTokenizerConfig(config);
  if (!names.ok()) return WithContext(names.status(), config_name);
  RETURN_IF_ERROR(WithContext(ApplyTokenizerConfig(*names, directory, *file), config_name));
  if (!names->names_padding && !file->padding_token.empty()) {
    const NamedToken padding = {.content = file->padding_token, .place = "/padding/pad_token"};
    RETURN_IF_ERROR(WithContext(RequireTokens({padding}, directory, *file), file_name));
  }
  if (!directory.empty() && !names->has_added_tokens) RETURN_IF_ERROR(ApplyOlderFiles(directory, *file));
  Tokenizer tokenizer(*std::move(file), std::move(json), std::move(config));
  if (names->bos) tokenizer.bos_ = tokenizer.TokenToId(*names->bos);
  if (names->eos) tokenizer.eos_ = tokenizer.TokenToId(*names->eos);
  if (names->pad) tokenizer.pad_ = tokenizer.TokenToId(*names->pad);
  return tokenizer;
}

absl::StatusOr<Tokenizer> Tokenizer::FromJson(std::string json, std::string config) {
  return Make(std::move(json), std::move(config), /*directory=*/"");
}

absl::StatusOr<Tokenizer> Tokenizer::FromDirectory(const std::string& directory) {
  FileSystem& files = PosixFileSystem();
  absl::StatusOr<std::string> json = ReadFile(files, JoinPath(directory, kFile), kMaxFileBytes);
  if (absl::IsNotFound(json.status())) {
    return absl::NotFoundError(absl::StrCat(json.status().message(), OtherTokenizer(files, directory)));
  }
  RETURN_IF_ERROR(json.status());
  ASSIGN_OR_RETURN(std::optional<std::string> config,
                   ReadOptionalFile(JoinPath(directory, kConfigFile), kMaxFileBytes));
  return Make(*std::move(json), std::move(config).value_or(std::string(kPlainTokenizerConfig)), directory);
}

absl::Status Tokenizer::EncodeWords(Part part, int64_t* steps_left, std::vector<int32_t>& ids) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> words,
                   PreTokenize(pre_tokenizer_, part.text, part.is_first, steps_left));
  for (const std::string& word : words) RETURN_IF_ERROR(encoder_.Encode(word, ids));
  return absl::OkStatus();
}

absl::Status Tokenizer::EncodeUnnormalized(Part part, int64_t* steps_left, std::vector<int32_t>& ids) const {
  ASSIGN_OR_RETURN(const std::string normalized, Normalize(normalizer_, part.text, steps_left));
  for (const TextSegment& segment : after_normalization_.Split(normalized)) {
    if (segment.token) {
      ids.push_back(*segment.token);
      continue;
    }
    const auto [begin, end] = segment.range;
    const absl::string_view text = absl::string_view(normalized).substr(begin, end - begin);
    RETURN_IF_ERROR(EncodeWords({text, part.is_first && begin == 0}, steps_left, ids));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> Tokenizer::Encode(absl::string_view text) const {
  const size_t valid = ValidUtf8Prefix(text);
  if (valid < text.size()) return absl::InvalidArgumentError(absl::StrCat("the text is not UTF-8 at byte ", valid));
  std::vector<int32_t> ids;
  int64_t steps_left = kStepsOfText;
  for (const TextSegment& segment : before_normalization_.Split(text)) {
    if (segment.token) {
      ids.push_back(*segment.token);
      continue;
    }
    const auto [begin, end] = segment.range;
    RETURN_IF_ERROR(EncodeUnnormalized({text.substr(begin, end - begin), begin == 0}, &steps_left, ids));
  }
  return ids;
}

std::string Tokenizer::Decode(absl::Span<const int32_t> ids, SpecialTokens special) const {
  std::vector<std::string> tokens;
  std::string bytes;
  for (const int32_t id : ids) {
    if (special == SpecialTokens::kSkip && special_.contains(id)) continue;
    const auto found = text_of_id_.find(id);
    if (found == text_of_id_.end()) continue;
    if (decodes_bytes_) {
      bytes += found->second;
    } else {
      tokens.push_back(found->second);
    }
  }
  if (decodes_bytes_) tokens.push_back(ToValidUtf8(bytes));
  return decoder_ ? DecodeTokens(*decoder_, std::move(tokens)) : absl::StrJoin(tokens, " ");
}

std::optional<int32_t> Tokenizer::TokenToId(absl::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional<int32_t>(found->second);
}

}  // namespace reprise::models
