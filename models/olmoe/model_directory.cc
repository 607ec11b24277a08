#include "models/olmoe/model_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/files/files.h"
#include "models/olmoe/config_json.h"
#include "models/olmoe/weights.h"

namespace reprise::models {
namespace {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;

std::string In(const std::string& directory, absl::string_view file) { return absl::StrCat(directory, "/", file); }

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

absl::StatusOr<DecoderConfig> ReadModelConfig(const std::string& directory) {
  const std::string path = In(directory, "config.json");
  ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxConfigBytes));
  absl::StatusOr<DecoderConfig> config = ParseOlmoeConfig(text);
  if (!config.ok()) return WithContext(config.status(), path);
  return config;
}

absl::StatusOr<std::vector<std::string>> ModelFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> files, WeightFiles(directory));
  files.push_back(In(directory, "config.json"));
  const bool single = files.front() == In(directory, "model.safetensors");
  if (!single) files.push_back(In(directory, "model.safetensors.index.json"));
  for (const absl::string_view name : {"tokenizer.json", "tokenizer_config.json"}) {
    if (Exists(In(directory, name))) files.push_back(In(directory, name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status ExportModel(const std::string& directory, const DecoderConfig& config, const ParameterLayout& layout,
                         absl::Span<const float> flat, const TokenizerFiles& tokenizer) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return FileError(error.value(), "create", directory);
  const std::string index = In(directory, "model.safetensors.index.json");
  if (Exists(index)) {
    return absl::AlreadyExistsError(absl::StrCat(index, " belongs to other weights; export to an empty directory"));
  }
  RETURN_IF_ERROR(SaveWeights(directory, layout, flat));
  RETURN_IF_ERROR(WriteFileAtomically(In(directory, "tokenizer.json"), {tokenizer.tokenizer_json}));
  RETURN_IF_ERROR(WriteFileAtomically(In(directory, "tokenizer_config.json"), {tokenizer.tokenizer_config_json}));
  RETURN_IF_ERROR(WriteFileAtomically(In(directory, "generation_config.json"), {OlmoeGenerationConfigJson(config)}));
  return WriteFileAtomically(In(directory, "config.json"), {OlmoeConfigJson(config)});
}

}  // namespace reprise::models
