#ifndef RL_WORKLOADS_COMPLETIONS_MODEL_FILES_H_
#define RL_WORKLOADS_COMPLETIONS_MODEL_FILES_H_

// What is known of a run's model without its weights. Cheap, except the digests.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/config/resolve.h"
#include "models/decoder/config.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/workload/external_file.h"

namespace reprise::rl {

// What a model's directory says of the runs that trained the model, where one of this program wrote it
// (pipelines/stored/model_task.h): the file, and its name among a run's external files.
inline constexpr absl::string_view kModelTaskFile = "reprise.json", kModelTaskName = "model/reprise.json";
inline constexpr int64_t kMostModelTaskBytes = int64_t{1} << 24;

// Returns the configuration of the decoder that the run trains: config.json of model.path, or the shape in [model]
// where that is empty; with router_aux_loss_coef from the configuration unless it is -1. Errors are those of the file.
absl::StatusOr<models::DecoderConfig> ReadDecoderConfig(const ModelConfig& model);

// Returns the same with the adapters and the value function that the run trains; the run's layout is made from it.
// Errors of ReadDecoderConfig; InvalidArgument where the model cannot have these adapters.
absl::StatusOr<models::DecoderConfig> ReadTrainedDecoderConfig(const Config& config);

// InvalidArgument for the first key of the shape in [model] that the user has set to another value than config.json of
// model.path has: nothing reads it. Errors of ReadDecoderConfig. Ok where model.path is empty.
absl::Status CheckShapeKeys(const ModelConfig& model, const config::Origins& origins);

// Returns the tokenizer in the model's directory, or that of models from scratch. InvalidArgument for a vocabulary size
// that the latter cannot have; else errors of the files.
absl::StatusOr<models::Tokenizer> LoadTokenizer(const ModelConfig& model);

// Returns the files on which the model depends, and what says on what it was trained (kModelTaskFile), with their
// digests, sorted by name; none where model.path is empty. Reads all of them, piece by piece.
absl::StatusOr<std::vector<ExternalFile>> DigestModelFiles(const ModelConfig& model);

// FailedPrecondition, naming the file, if a file of the model is not the one that `begun` has: a frozen model is read
// again when it is exported with its adapters. begun: files of a run's preparation, perhaps with others. Reads all.
absl::Status RequireUnchangedModel(const ModelConfig& model, absl::Span<const ExternalFile> begun);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_MODEL_FILES_H_
