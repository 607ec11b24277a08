#ifndef MODELS_OLMOE_MODEL_DIRECTORY_H_
#define MODELS_OLMOE_MODEL_DIRECTORY_H_

// A Hugging Face model directory as a whole; LoadWeights (weights.h) reads its weights.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

// Reads DIRECTORY/config.json. Errors begin with its path.
absl::StatusOr<DecoderConfig> ReadModelConfig(const std::string& directory);

// The paths of the files on which a model's behaviour depends: config.json, the weights (and their index), and
// tokenizer.json and tokenizer_config.json where present; sorted. Digests of a model cover these.
absl::StatusOr<std::vector<std::string>> ModelFiles(const std::string& directory);

// DIRECTORY/chat_template.jinja; empty where there is none, or no directory is named.
absl::StatusOr<std::string> ReadChatTemplate(const std::string& directory);

struct TokenizerFiles {
  absl::string_view tokenizer_json;
  absl::string_view tokenizer_config_json;
  absl::string_view chat_template = {};  // empty: tokenizer_config.json has it, or nobody
};

// The names of the files that ExportModel writes.
inline constexpr absl::string_view kExportedFiles[] = {"chat_template.jinja",    "config.json",
                                                       "generation_config.json", "model.safetensors",
                                                       "tokenizer.json",         "tokenizer_config.json"};

// Writes config.json, generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json and, if there is
// one, chat_template.jinja to `directory`, which is made where absent; Transformers loads it. Each file is written
// atomically, config.json last, so that a directory with a config.json is complete. AlreadyExists, before anything is
// written, when one of these files or an index of sharded weights is there.
absl::Status ExportModel(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                         const ParameterLayout& layout, absl::Span<const float> flat, const TokenizerFiles& tokenizer);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_MODEL_DIRECTORY_H_
