#ifndef MODELS_OLMOE_MODEL_DIRECTORY_H_
#define MODELS_OLMOE_MODEL_DIRECTORY_H_

// Reads and writes whole Hugging Face model directories; LoadWeights (weights.h) reads a directory's weights.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

// Reads DIRECTORY/config.json. Errors name its path; InvalidArgument where `directory` is a file, naming its format.
absl::StatusOr<DecoderConfig> ReadModelConfig(const std::string& directory);

// Returns whether the directory's config.json says the key, and not null. Errors of ReadModelConfig.
absl::StatusOr<bool> ConfigSays(const std::string& directory, absl::string_view key);

// Returns the paths of the files that determine a model's behaviour: config.json, the weights (and their index),
// generation_config.json, tokenizer.json and tokenizer_config.json if present, and special_tokens_map.json if it names
// an end token that tokenizer_config.json does not; sorted. Digests of a model cover these files. FailedPrecondition
// for one of them that is a link to nowhere.
absl::StatusOr<std::vector<std::string>> ModelFiles(const std::string& directory);

// Returns DIRECTORY/chat_template.jinja; empty if the file does not exist or `directory` is empty. Errors of
// ReadOptionalFile: FailedPrecondition for a link to nowhere, InvalidArgument for an empty file.
absl::StatusOr<std::string> ReadChatTemplate(const std::string& directory);
// The same for DIRECTORY/generation_config.json.
absl::StatusOr<std::string> ReadGenerationConfig(const std::string& directory);

// The bytes of the files that an export copies from the model that was read.
struct CopiedFiles {
  absl::string_view tokenizer_json;
  absl::string_view tokenizer_config_json;
  absl::string_view chat_template = {};            // empty: in tokenizer_config.json, or there is none
  absl::string_view generation_config_json = {};   // empty: made from the model's configuration
  absl::string_view special_tokens_map_json = {};  // empty: it is not needed (special_tokens_map.h)
};

// The names of the files that ExportModel writes.
inline constexpr absl::string_view kExportedFiles[] = {
    "chat_template.jinja",     "config.json",    "generation_config.json", "model.safetensors",
    "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"};

// AlreadyExists if `directory` contains one of these files or an index of sharded weights.
absl::Status RequireNoModel(FileSystem& files, const std::string& directory);

// Writes config.json, generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json and, if there
// are such, chat_template.jinja and special_tokens_map.json to `directory`, which is created if absent. Transformers
// can load it. Each file is written atomically, config.json last, so that a directory with a config.json is complete;
// after an error, such as a full disk, what was written is removed. `weights`: flat, in the layout of `config`; a value
// function is left out. AlreadyExists, before anything is written, if one of these files or an index of sharded weights
// exists.
absl::Status ExportModel(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                         absl::Span<const float> weights, const CopiedFiles& copied);

// The same for an encoder and the heads behind it, whose tensors `layout` names: without generation_config.json.
// Transformers loads the encoder (AutoModel) and leaves the heads out.
absl::Status ExportEncoder(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                           const DecoderLayout& layout, absl::Span<const float> weights, const CopiedFiles& copied);

// The same for a network without tokens: model.safetensors, of the tensors that `layout` names, and config.json.
absl::Status ExportNetwork(FileSystem& files, const std::string& directory, const FlatLayout& layout,
                           absl::Span<const float> weights, absl::string_view config_json);

// Returns the SHA-256 of an exported model's model.safetensors.
absl::StatusOr<Digest> DigestOfWeights(FileSystem& files, const std::string& directory);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_MODEL_DIRECTORY_H_
