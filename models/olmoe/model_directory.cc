#include "models/olmoe/model_directory.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/file_digest.h"
#include "core/io/atomic_file.h"
#include "core/io/file_group.h"
#include "core/io/foreign_format.h"
#include "core/io/optional_file.h"
#include "core/io/read_file.h"
#include "core/json/json.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/olmoe/config_json.h"
#include "models/olmoe/special_tokens_map.h"
#include "models/olmoe/weights.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{1} << 20;

absl::StatusOr<std::string> ReadIfPresent(const std::string& directory, absl::string_view name) {
  if (directory.empty()) return std::string();
  const std::string path = JoinPath(directory, name);
  ASSIGN_OR_RETURN(std::optional<std::string> text, ReadOptionalFile(path, kMaxConfigBytes));
  if (!text) return std::string();
  const std::string foreign = ForeignFormat(*text);
  if (!foreign.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", foreign));
  return *std::move(text);
}

// Says what stands where a model's directory was expected, such as a single file of weights.
absl::Status RequireDirectory(const std::string& path) {
  const absl::StatusOr<FileInfo> found = PosixFileSystem().Stat(path);
  if (!found.ok() || found->is_directory) return absl::OkStatus();  // what is missing is reported when it is read
  std::string foreign;
  if (const auto file = PosixFileSystem().Open(path, OpenMode::kRead); file.ok()) {
    constexpr int64_t kBeginning = 512;
    foreign = ForeignFormat((*file)->ReadAt(0, kBeginning).value_or(""));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   " is a file; expected a model's directory, with config.json, model.safetensors and "
                   "tokenizer.json",
                   foreign.empty() ? "" : "; ", foreign));
}

// Writes files of one directory, which stay only if all are written.
class Export {
 public:
  Export(FileSystem& files, const std::string& directory) : files_(files), directory_(directory), group_(files) {}

  absl::Status Begin() {
    RETURN_IF_ERROR(CreateDirectories(files_, directory_));
    return RequireNoModel(files_, directory_);
  }
  absl::Status Write(absl::string_view name, absl::string_view bytes) {
    const std::string path = JoinPath(directory_, name);
    return group_.Add(path, WriteFileAtomically(files_, path, bytes));
  }
  absl::Status WriteWeights(const FlatLayout& layout, absl::Span<const float> weights) {
    return group_.Add(JoinPath(directory_, "model.safetensors"),
                      SaveWeights(files_, directory_, layout, weights.first(static_cast<size_t>(layout.total))));
  }
  absl::Status WriteCopied(const CopiedFiles& copied) {
    RETURN_IF_ERROR(Write("tokenizer.json", copied.tokenizer_json));
    RETURN_IF_ERROR(Write("tokenizer_config.json", copied.tokenizer_config_json));
    if (!copied.special_tokens_map_json.empty()) {
      RETURN_IF_ERROR(Write(kSpecialTokensMapFile, copied.special_tokens_map_json));
    }
    return copied.chat_template.empty() ? absl::OkStatus() : Write("chat_template.jinja", copied.chat_template);
  }
  // Writes the file with which the directory is complete.
  absl::Status Finish(absl::string_view config_json) {
    RETURN_IF_ERROR(Write("config.json", config_json));
    group_.Keep();
    return absl::OkStatus();
  }

 private:
  FileSystem& files_;
  const std::string& directory_;
  FileGroup group_;
};

}  // namespace

absl::StatusOr<DecoderConfig> ReadModelConfig(const std::string& directory) {
  RETURN_IF_ERROR(RequireDirectory(directory));
  const std::string path = JoinPath(directory, "config.json");
  const absl::StatusOr<std::string> text = ReadFile(PosixFileSystem(), path, kMaxConfigBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(text.status().message(), OtherWeights(directory)));
  }
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<DecoderConfig> config = ParseOlmoeConfig(*text);
  if (!config.ok()) return WithContext(config.status(), path);
  return config;
}

absl::StatusOr<bool> ConfigSays(const std::string& directory, absl::string_view key) {
  const std::string path = JoinPath(directory, "config.json");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMaxConfigBytes));
  const absl::StatusOr<JsonDocument> document = JsonDocument::Parse(text);
  if (!document.ok()) return WithContext(document.status(), path);
  return document->root().Find(key).has_value();
}

absl::StatusOr<std::vector<std::string>> ModelFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> files, WeightFiles(directory));
  files.push_back(JoinPath(directory, "config.json"));
  const bool single = files.front() == JoinPath(directory, "model.safetensors");
  if (!single) files.push_back(JoinPath(directory, "model.safetensors.index.json"));
  for (const absl::string_view name : {"generation_config.json", "tokenizer.json", "tokenizer_config.json"}) {
    ASSIGN_OR_RETURN(const bool is_present, IsPresent(JoinPath(directory, name)));
    if (is_present) files.push_back(JoinPath(directory, name));
  }
  ASSIGN_OR_RETURN(const std::string special_tokens, ReadSpecialTokensMap(directory));
  if (!special_tokens.empty()) files.push_back(JoinPath(directory, kSpecialTokensMapFile));
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::string> ReadChatTemplate(const std::string& directory) {
  return ReadIfPresent(directory, "chat_template.jinja");
}

absl::StatusOr<std::string> ReadGenerationConfig(const std::string& directory) {
  return ReadIfPresent(directory, "generation_config.json");
}

absl::Status RequireNoModel(FileSystem& files, const std::string& directory) {
  std::vector<absl::string_view> names(std::begin(kExportedFiles), std::end(kExportedFiles));
  names.push_back("model.safetensors.index.json");
  ASSIGN_OR_RETURN(const bool is_whole, Exists(files, JoinPath(directory, "config.json")));
  for (const absl::string_view name : names) {
    const std::string path = JoinPath(directory, name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    if (!exists) continue;
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists; export to an empty directory",
                     is_whole ? "" : " (without a config.json, it may be left of an export that was killed)"));
  }
  return absl::OkStatus();
}

absl::Status ExportModel(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                         absl::Span<const float> weights, const CopiedFiles& copied) {
  Export out(files, directory);
  RETURN_IF_ERROR(out.Begin());
  RETURN_IF_ERROR(out.WriteWeights(PolicyPart(MakeDecoderLayout(config)), weights));
  RETURN_IF_ERROR(out.WriteCopied(copied));
  RETURN_IF_ERROR(out.Write("generation_config.json", copied.generation_config_json.empty()
                                                          ? OlmoeGenerationConfigJson(config)
                                                          : std::string(copied.generation_config_json)));
  return out.Finish(OlmoeConfigJson(config));
}

absl::Status ExportEncoder(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                           const DecoderLayout& layout, absl::Span<const float> weights, const CopiedFiles& copied) {
  Export out(files, directory);
  RETURN_IF_ERROR(out.Begin());
  RETURN_IF_ERROR(out.WriteWeights(layout, weights));
  RETURN_IF_ERROR(out.WriteCopied(copied));
  return out.Finish(OlmoeConfigJson(config, "OlmoeModel"));
}

absl::Status ExportNetwork(FileSystem& files, const std::string& directory, const FlatLayout& layout,
                           absl::Span<const float> weights, absl::string_view config_json) {
  Export out(files, directory);
  RETURN_IF_ERROR(out.Begin());
  RETURN_IF_ERROR(out.WriteWeights(layout, weights));
  return out.Finish(config_json);
}

absl::StatusOr<Digest> DigestOfWeights(FileSystem& files, const std::string& directory) {
  return DigestOfFile(files, JoinPath(directory, "model.safetensors"));
}

}  // namespace reprise::models
