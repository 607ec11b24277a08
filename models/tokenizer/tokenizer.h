#ifndef MODELS_TOKENIZER_TOKENIZER_H_
#define MODELS_TOKENIZER_TOKENIZER_H_

// BPE, byte-level or not, that gives the same tokens as Hugging Face's tokenizers from the same tokenizer.json. The
// exceptions are characters that are newer than Unicode 14 (2021) where a pattern has \w, \d, \b, a POSIX bracket,
// (?i), or a property that newer_characters.cc does not list: what these match depends on the version of Oniguruma.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "models/tokenizer/added_tokens.h"
#include "models/tokenizer/byte_pair_encoder.h"
#include "models/tokenizer/decoder.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/pre_tokenizer.h"
#include "models/tokenizer/tokenizer_file.h"

namespace reprise::models {

// A tokenizer_config.json that names no tokens.
inline constexpr absl::string_view kPlainTokenizerConfig = "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}\n";

// Movable; thread-safe.
class Tokenizer {
 public:
  // Constructs a tokenizer from the bytes of tokenizer.json and tokenizer_config.json. Errors begin with the name of
  // the file at fault; see ParseTokenizerFile and ParseTokenizerConfig.
  static absl::StatusOr<Tokenizer> FromJson(std::string json, std::string config = std::string(kPlainTokenizerConfig));
  // Reads the directory's tokenizer.json and, if there is one, tokenizer_config.json. NotFound where there is none of
  // the former, with a remedy if the directory has a tokenizer in another format; errors of ReadOptionalFile. A token
  // that Transformers would add from tokenizer_config.json, or from special_tokens_map.json and added_tokens.json where
  // it reads these, is InvalidArgument unless it is among the added tokens of tokenizer.json; so is a setting there
  // that gives texts other tokens.
  static absl::StatusOr<Tokenizer> FromDirectory(const std::string& directory);

  // Returns the tokens of `text`, including added tokens found in it, but adds none around it
  // (add_special_tokens=False). Deterministic. InvalidArgument for text that is not UTF-8, has a byte without a token,
  // or on which the patterns take more than kStepsOfText steps in total.
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const;

  // Returns the text of the tokens; bytes that are not UTF-8 become U+FFFD, and unknown ids are skipped.
  enum class SpecialTokens { kKeep, kSkip };
  std::string Decode(absl::Span<const int32_t> ids, SpecialTokens special = SpecialTokens::kKeep) const;

  // Returns the largest id + 1: a model's vocabulary must be at least as large.
  int64_t vocab_size() const { return vocab_size_; }
  // Returns the id of a token as the files write it, e.g. "<eos>" or "Ġthe".
  std::optional<int32_t> TokenToId(absl::string_view token) const;
  // The special tokens that tokenizer_config.json names.
  std::optional<int32_t> bos_id() const { return bos_; }
  std::optional<int32_t> eos_id() const { return eos_; }
  std::optional<int32_t> pad_id() const { return pad_; }

  // The files' bytes, for export.
  const std::string& json() const { return json_; }
  const std::string& config_json() const { return config_json_; }

 private:
  Tokenizer(TokenizerFile file, std::string json, std::string config_json);

  // `directory` is used in messages.
  static absl::StatusOr<Tokenizer> Make(std::string json, std::string config, const std::string& directory);
  // A part of a text without added tokens; `is_first`: its beginning.
  struct Part {
    absl::string_view text;
    bool is_first = false;
  };
  absl::Status EncodeUnnormalized(Part part, int64_t* steps_left, std::vector<int32_t>& ids) const;
  absl::Status EncodeWords(Part part, int64_t* steps_left, std::vector<int32_t>& ids) const;

  std::string json_, config_json_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  BytePairEncoder encoder_;
  AddedTokenFinder before_normalization_, after_normalization_;
  absl::flat_hash_map<std::string, int32_t> ids_;         // by token as written in the files
  std::optional<TokenDecoder> decoder_;                   // without its first step if that is ByteLevel
  bool decodes_bytes_ = false;                            // the first step is ByteLevel
  absl::flat_hash_map<int32_t, std::string> text_of_id_;  // after that step
  absl::flat_hash_set<int32_t> special_;
  int64_t vocab_size_ = 0;
  std::optional<int32_t> bos_, eos_, pad_;
};

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_TOKENIZER_H_
