#include "rl/run/prepare.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/weights.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/config/check.h"
#include "rl/learner/task_batch.h"

namespace reprise::rl {
namespace {

constexpr int64_t kMostModelFileBytes = int64_t{1} << 40;

absl::StatusOr<RunParts> FromScratch(const Config& config) {
  RunParts parts;
  parts.model = models::Model::Create(FromScratchDecoder(config.model), /*training=*/true);
  models::InitializeParameters(parts.model->config(), parts.model->layout(), static_cast<uint64_t>(config.run.seed),
                               parts.model->mutable_parameters());
  if (config.model.vocab_size > 256 || config.model.vocab_size < 128) {
    return absl::InvalidArgumentError(absl::StrCat("model.vocab_size is ", config.model.vocab_size,
                                                   "; a model from scratch has one token a byte: expected 128 to 256"));
  }
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer,
                   models::Tokenizer::FromJson(models::AsciiTokenizerJson(config.model.vocab_size),
                                               models::AsciiTokenizerConfigJson()));
  parts.tokenizer = std::make_unique<models::Tokenizer>(std::move(tokenizer));
  return parts;
}

absl::StatusOr<RunParts> FromCheckpoint(const Config& config) {
  const std::string& directory = config.model.path;
  ASSIGN_OR_RETURN(models::DecoderConfig decoder, models::ReadModelConfig(directory));
  if (config.model.router_aux_loss_coef != -1) decoder.router_aux_loss_coef = config.model.router_aux_loss_coef;
  RunParts parts;
  parts.model = models::Model::Create(decoder, /*training=*/true);
  RETURN_IF_ERROR(models::LoadWeights(directory, parts.model->layout(), parts.model->mutable_parameters()));
  ASSIGN_OR_RETURN(models::Tokenizer tokenizer, models::Tokenizer::FromDirectory(directory));
  parts.tokenizer = std::make_unique<models::Tokenizer>(std::move(tokenizer));
  ASSIGN_OR_RETURN(const std::vector<std::string> files, models::ModelFiles(directory));
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(PosixFileSystem(), path, kMostModelFileBytes));
    parts.external_files.push_back({path.substr(path.rfind('/') + 1), Sha256(bytes)});
  }
  return parts;
}

absl::Status CheckTokenizer(const models::Tokenizer& tokenizer, const models::DecoderConfig& decoder) {
  if (tokenizer.vocab_size() > decoder.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer has ", tokenizer.vocab_size(),
                                                   " tokens, but the model's vocab_size is ", decoder.vocab_size));
  }
  if (decoder.eos_token_id.empty()) {
    return absl::InvalidArgumentError("the model names no eos_token_id: completions could not end");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunParts> PrepareRun(const Config& config, ThreadPool& pool) {
  ASSIGN_OR_RETURN(RunParts parts, config.model.path.empty() ? FromScratch(config) : FromCheckpoint(config));
  RETURN_IF_ERROR(CheckTokenizer(*parts.tokenizer, parts.model->config()));
  // The first step's tasks show most of what could be wrong with any.
  RETURN_IF_ERROR(DrawTasks(config, *parts.tokenizer, parts.model->config().max_position_embeddings, Phase::kTraining,
                            1, 0, std::min<int64_t>(config.rollout.prompts_per_step, 64))
                      .status());
  parts.model->Refresh(pool);
  return parts;
}

int ThreadsOf(const ExecutionConfig& execution) {
  if (execution.threads > 0) return static_cast<int>(execution.threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Config WithoutPaths(Config config) {
  if (!config.model.path.empty()) config.model.path = "external";
  if (!config.data.path.empty()) config.data.path = "external";
  return config;
}

}  // namespace reprise::rl
