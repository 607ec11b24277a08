#include "rl/workloads/completions/model_files.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/config/text_list.h"
#include "core/digest/file_digest.h"
#include "core/digest/sha256.h"
#include "core/io/file_system.h"
#include "core/io/optional_file.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/config/algorithm_check.h"
#include "rl/config/check.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {
namespace {

constexpr int64_t kFewestAsciiTokens = 128, kMostAsciiTokens = 256;

absl::StatusOr<std::vector<std::string>> ReadWords(const ModelConfig& model) {
  ASSIGN_OR_RETURN(std::vector<std::string> words, config::TextListOf("model.words", model.words));
  std::set<absl::string_view> known;
  for (const std::string& word : words) {
    if (word.size() > 1 && known.insert(word).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("model.words has \"", word, word.size() > 1 ? "\" twice" : "\", which is a token already"));
  }
  return words;
}

// What is missing is to be sought in this key.
absl::Status OfPath(const absl::Status& found) {
  return absl::IsNotFound(found) ? absl::NotFoundError(absl::StrCat(found.message(), " (model.path)")) : found;
}

// A key of the shape in [model], and what a decoder has of it.
struct ShapeKey {
  absl::string_view name;
  double (*of)(const models::DecoderConfig& decoder);
};

template <auto member>
double Of(const models::DecoderConfig& decoder) {
  return static_cast<double>(decoder.*member);
}

using Decoder = models::DecoderConfig;
constexpr ShapeKey kShapeKeys[] = {
    {"vocab_size", Of<&Decoder::vocab_size>},
    {"hidden_size", Of<&Decoder::hidden_size>},
    {"intermediate_size", Of<&Decoder::intermediate_size>},
    {"num_hidden_layers", Of<&Decoder::num_hidden_layers>},
    {"num_attention_heads", Of<&Decoder::num_attention_heads>},
    {"num_key_value_heads", Of<&Decoder::num_key_value_heads>},
    {"num_experts", Of<&Decoder::num_experts>},
    {"num_experts_per_tok", Of<&Decoder::num_experts_per_tok>},
    {"max_position_embeddings", Of<&Decoder::max_position_embeddings>},
    {"rope_theta", Of<&Decoder::rope_theta>},
    {"rms_norm_eps", Of<&Decoder::rms_norm_eps>},
    {"clip_qkv", [](const Decoder& decoder) { return decoder.clip_qkv.value_or(0); }},
    {"norm_topk_prob", Of<&Decoder::norm_topk_prob>},
    {"tie_word_embeddings", Of<&Decoder::tie_word_embeddings>},
};

}  // namespace

absl::Status CheckShapeKeys(const ModelConfig& model, const config::Origins& origins) {
  if (model.path.empty()) return absl::OkStatus();
  const models::DecoderConfig given = FromScratchDecoder(model);
  ASSIGN_OR_RETURN(const models::DecoderConfig stored, ReadDecoderConfig(model));
  for (const ShapeKey& key : kShapeKeys) {
    const std::string name = absl::StrCat("model.", key.name);
    if (!origins.contains(name) || key.of(given) == key.of(stored)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", key.of(given), ", but config.json of model.path has ", key.of(stored),
                     ", which the model keeps: remove the key, which shapes a model from scratch"));
  }
  return absl::OkStatus();
}

absl::StatusOr<models::DecoderConfig> ReadDecoderConfig(const ModelConfig& model) {
  if (model.path.empty()) return FromScratchDecoder(model);
  RETURN_IF_ERROR(OfPath(
      RequirePath(PosixFileSystem().Stat(model.path).status(), model.path, HubKind::kModel, "a model's directory")));
  absl::StatusOr<models::DecoderConfig> read = models::ReadModelConfig(model.path);
  RETURN_IF_ERROR(OfPath(read.status()));
  models::DecoderConfig decoder = *std::move(read);
  if (model.router_aux_loss_coef) decoder.router_aux_loss_coef = *model.router_aux_loss_coef;
  decoder.bf16_weights = HasBf16Weights(model);
  return decoder;
}

absl::StatusOr<models::DecoderConfig> ReadTrainedDecoderConfig(const Config& config) {
  ASSIGN_OR_RETURN(models::DecoderConfig decoder, ReadDecoderConfig(config.model));
  decoder.value_model = ChooseValueModel(config.algorithm);
  if (config.lora.r == 0) return decoder;
  decoder.lora = AdaptersOf(config.lora);
  RETURN_IF_ERROR(models::ValidateDecoderConfig(decoder));
  return decoder;
}

absl::StatusOr<models::Tokenizer> LoadTokenizer(const ModelConfig& model) {
  if (!model.path.empty()) return models::Tokenizer::FromDirectory(model.path);
  ASSIGN_OR_RETURN(const std::vector<std::string> words, ReadWords(model));
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
    ASSIGN_OR_RETURN(const Digest sha256, DigestOfFile(PosixFileSystem(), path));
    files.push_back({absl::StrCat("model/", path.substr(path.rfind('/') + 1)), sha256});
  }
  const std::string task = JoinPath(model.path, kModelTaskFile);
  ASSIGN_OR_RETURN(const bool has_task, IsPresent(task));
  if (!has_task) return files;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), task, kMostModelTaskBytes));
  files.push_back({std::string(kModelTaskName), Sha256(text)});
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
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
