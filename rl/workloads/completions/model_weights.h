#ifndef RL_WORKLOADS_COMPLETIONS_MODEL_WEIGHTS_H_
#define RL_WORKLOADS_COMPLETIONS_MODEL_WEIGHTS_H_

// The weights of a run's language model: where it begins, and how it is exported.

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/olmoe/model_directory.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Sets the weights with which a run begins: those of model.path, or initial ones; with adapters, these are initial and
// the frozen model is read. Errors of the model's files. The caller must then call Refresh.
absl::Status SetFirstWeights(const Config& config, ThreadPool& pool, models::Model& model);

// Writes weights, flat in the layout of `decoder`, as a Hugging Face model directory (models::ExportModel). With
// adapters it is the merged model, and DIRECTORY/adapter is their directory for the PEFT library
// (models/olmoe/peft_directory.h); the frozen model is read again, whole. Errors of the model's files, and of writing.
absl::Status ExportLanguageModel(const Config& config, const models::DecoderConfig& decoder,
                                 absl::Span<const float> weights, const models::CopiedFiles& copied, FileSystem& files,
                                 const std::string& directory);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_MODEL_WEIGHTS_H_
