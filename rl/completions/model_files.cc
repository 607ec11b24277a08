#include "rl/completions/model_files.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/config/algorithm_choice.h"
#include "rl/config/check.h"
#include "rl/config/text_list.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {
namespace {

constexpr int64_t kMostModelFileBytes = int64_t{1} << 40;
constexpr int64_t kFewestAsciiTokens = 128, kMostAsciiTokens = 256;

absl::StatusOr<std::vector<std::string>> WordsOf(const ModelConfig& model) {
  ASSIGN_OR_RETURN(std::vector<std::string> words, TextListOf("model.words", model.words));
  std::set<absl::string_view> known;
  for (const std::string& word : words) {
    if (word.size() > 1 && known.insert(word).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("model.words has \"", word, word.size() > 1 ? "\" twice" : "\", which is a token already"));
  }
  return words;
}

}  // namespace

absl::StatusOr<models::DecoderConfig> DecoderOf(const ModelConfig& model) {
  if (model.path.empty()) return FromScratchDecoder(model);
  RETURN_IF_ERROR(
      RequirePath(PosixFileSystem().Stat(model.path).status(), model.path, "a model", "a model's directory"));
  ASSIGN_OR_RETURN(models::DecoderConfig decoder, models::ReadModelConfig(model.path));
  if (model.router_aux_loss_coef != -1) decoder.router_aux_loss_coef = model.router_aux_loss_coef;
  decoder.bf16_weights = HasBf16Weights(model);
  return decoder;
}

absl::StatusOr<models::DecoderConfig> TrainedDecoderOf(const Config& config) {
  ASSIGN_OR_RETURN(models::DecoderConfig decoder, DecoderOf(config.model));
  ASSIGN_OR_RETURN(decoder.value_model, ValueModelOf(config.algorithm));
  if (config.lora.r == 0) return decoder;
  decoder.lora = AdaptersOf(config.lora);
  RETURN_IF_ERROR(models::ValidateDecoderConfig(decoder));
  return decoder;
}

absl::StatusOr<models::Tokenizer> TokenizerOf(const ModelConfig& model) {
  if (!model.path.empty()) return models::Tokenizer::FromDirectory(model.path);
  ASSIGN_OR_RETURN(const std::vector<std::string> words, WordsOf(model));
  const int64_t num_words = static_cast<int64_t>(words.size()), num_bytes = model.vocab_size - num_words;
  if (num_bytes < kFewestAsciiTokens || num_bytes > kMostAsciiTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.vocab_size is ", model.vocab_size, "; a model from scratch has one token per byte",
                     words.empty() ? "" : absl::StrCat(" and ", num_words, " of model.words"), ": expected ",
                     kFewestAsciiTokens + num_words, " to ", kMostAsciiTokens + num_words));
  }
  return models::Tokenizer::FromJson(models::AsciiTokenizerJson(num_bytes, words), models::AsciiTokenizerConfigJson());
}

absl::StatusOr<std::vector<ExternalFile>> DigestModelFiles(const ModelConfig& model) {
  std::vector<ExternalFile> files;
  if (model.path.empty()) return files;
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, models::ModelFiles(model.path));
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(PosixFileSystem(), path, kMostModelFileBytes));
    files.push_back({absl::StrCat("model/", path.substr(path.rfind('/') + 1)), Sha256(bytes)});
  }
  return files;
}

absl::Status RequireUnchangedModel(const ModelConfig& model, absl::Span<const ExternalFile> begun) {
  ASSIGN_OR_RETURN(const std::vector<ExternalFile> files, DigestModelFiles(model));
  for (const ExternalFile& file : files) {
    const auto first = std::find_if(begun.begin(), begun.end(),
                                    [&file](const ExternalFile& other) { return other.name == file.name; });
    if (first != begun.end() && first->sha256 == file.sha256) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(model.path, ": ", file.name,
                     " is another file than when the run began, and adapters belong to the model that "
                     "they were trained on: restore it, then continue with --resume"));
  }
  return absl::OkStatus();
}

}  // namespace reprise::rl
