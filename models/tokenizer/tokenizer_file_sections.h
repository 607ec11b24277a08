#ifndef MODELS_TOKENIZER_TOKENIZER_FILE_SECTIONS_H_
#define MODELS_TOKENIZER_TOKENIZER_FILE_SECTIONS_H_

// Parsers of the sections of tokenizer.json; ParseTokenizerFile combines them. Errors are those of ParseTokenizerFile.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/json/json.h"
#include "models/tokenizer/tokenizer_file.h"

namespace reprise::models {

// Reads "model": fills what comes from it.
absl::Status ReadModelSection(const JsonValue& model, TokenizerFile& file);

// Reads "pre_tokenizer": null (none), one step, or a Sequence.
absl::StatusOr<PreTokenizer> ReadPreTokenizerSection(const std::optional<JsonValue>& pre_tokenizer);

// Reads "decoder": null (none), one step, or a Sequence.
absl::StatusOr<std::optional<TokenDecoder>> ReadDecoderSection(const std::optional<JsonValue>& decoder);

// Reads "normalizer": null (none), one step, or a Sequence.
absl::StatusOr<Normalizer> ReadNormalizerSection(const std::optional<JsonValue>& normalizer);

// Reads "added_tokens", which must be consistent with the vocabulary.
absl::StatusOr<std::vector<AddedToken>> ReadAddedTokensSection(
    const std::optional<JsonValue>& tokens, const absl::flat_hash_map<std::string, int32_t>& vocabulary);

// Checks "post_processor": without the tokens that it adds around a text, which Encode leaves out, the text must be
// itself.
absl::Status RequirePlainPostProcessor(const std::optional<JsonValue>& post_processor);

// Unimplemented "<place>: <what> is not supported; only <supported> is".
absl::Status Unsupported(const JsonValue& value, absl::string_view what, absl::string_view supported);

// Reads a pattern: {"Regex": ...} or {"String": ...}.
absl::StatusOr<Pattern> ReadPattern(const JsonValue& value);

// Returns the value itself, or the parts of a Sequence, which are in its member `list_key`, and of Sequences in it.
absl::StatusOr<std::vector<JsonValue>> Parts(const JsonValue& value, absl::string_view list_key);

// Returns the member "type" of an object.
absl::StatusOr<absl::string_view> TypeOf(const JsonValue& object);

// Returns a member that is a text of one character.
absl::StatusOr<std::string> ReadCharacter(const JsonValue& object, absl::string_view key);

// Reads "prepend_scheme" of Metaspace. A file from before it existed has "add_prefix_space" alone.
absl::StatusOr<MetaspaceStep::Prepend> ReadPrependScheme(const JsonValue& metaspace);

// Returns a boolean member, or `absent` if the member does not exist.
absl::StatusOr<bool> FlagOr(const JsonValue& object, absl::string_view key, bool absent);

}  // namespace reprise::models

#endif  // MODELS_TOKENIZER_TOKENIZER_FILE_SECTIONS_H_
