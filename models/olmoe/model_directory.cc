#include "models/olmoe/model_directory.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/olmoe/config_json.h"
#include "models/olmoe/weights.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{1} << 20, kMaxWeightBytes = int64_t{1} << 42;

// Writes all files but those on the model's shape, with which a directory is complete.
absl::Status ExportWeights(FileSystem& files, const std::string& directory, const DecoderLayout& layout,
                           absl::Span<const float> weights, const TokenizerFiles& tokenizer) {
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  RETURN_IF_ERROR(RequireNoModel(files, directory));
  RETURN_IF_ERROR(SaveWeights(files, directory, layout, weights.first(static_cast<size_t>(layout.total))));
  RETURN_IF_ERROR(WriteFileAtomically(files, JoinPath(directory, "tokenizer.json"), tokenizer.tokenizer_json));
  RETURN_IF_ERROR(
      WriteFileAtomically(files, JoinPath(directory, "tokenizer_config.json"), tokenizer.tokenizer_config_json));
  if (tokenizer.chat_template.empty()) return absl::OkStatus();
  return WriteFileAtomically(files, JoinPath(directory, "chat_template.jinja"), tokenizer.chat_template);
}

}  // namespace

absl::StatusOr<DecoderConfig> ReadModelConfig(const std::string& directory) {
  const std::string path = JoinPath(directory, "config.json");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMaxConfigBytes));
  absl::StatusOr<DecoderConfig> config = ParseOlmoeConfig(text);
  if (!config.ok()) return WithContext(config.status(), path);
  return config;
}

absl::StatusOr<std::vector<std::string>> ModelFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> files, WeightFiles(directory));
  files.push_back(JoinPath(directory, "config.json"));
  const bool single = files.front() == JoinPath(directory, "model.safetensors");
  if (!single) files.push_back(JoinPath(directory, "model.safetensors.index.json"));
  for (const absl::string_view name : {"tokenizer.json", "tokenizer_config.json"}) {
    ASSIGN_OR_RETURN(const bool exists, Exists(PosixFileSystem(), JoinPath(directory, name)));
    if (exists) files.push_back(JoinPath(directory, name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::string> ReadChatTemplate(const std::string& directory) {
  if (directory.empty()) return std::string();
  const std::string path = JoinPath(directory, "chat_template.jinja");
  ASSIGN_OR_RETURN(const bool exists, Exists(PosixFileSystem(), path));
  if (!exists) return std::string();
  return ReadFile(PosixFileSystem(), path, kMaxConfigBytes);
}

absl::Status RequireNoModel(FileSystem& files, const std::string& directory) {
  std::vector<absl::string_view> names(std::begin(kExportedFiles), std::end(kExportedFiles));
  names.push_back("model.safetensors.index.json");
  for (const absl::string_view name : names) {
    const std::string path = JoinPath(directory, name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    if (exists) return absl::AlreadyExistsError(absl::StrCat(path, " exists; export to an empty directory"));
  }
  return absl::OkStatus();
}

absl::Status ExportModel(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                         absl::Span<const float> weights, const TokenizerFiles& tokenizer) {
  RETURN_IF_ERROR(ExportWeights(files, directory, PolicyPart(MakeDecoderLayout(config)), weights, tokenizer));
  RETURN_IF_ERROR(
      WriteFileAtomically(files, JoinPath(directory, "generation_config.json"), OlmoeGenerationConfigJson(config)));
  return WriteFileAtomically(files, JoinPath(directory, "config.json"), OlmoeConfigJson(config));
}

absl::Status ExportEncoder(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                           const DecoderLayout& layout, absl::Span<const float> weights,
                           const TokenizerFiles& tokenizer) {
  RETURN_IF_ERROR(ExportWeights(files, directory, layout, weights, tokenizer));
  return WriteFileAtomically(files, JoinPath(directory, "config.json"), OlmoeConfigJson(config, "OlmoeModel"));
}

absl::StatusOr<Digest> DigestOfWeights(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(files, JoinPath(directory, "model.safetensors"), kMaxWeightBytes));
  return Sha256(bytes);
}

}  // namespace reprise::models
