#ifndef RL_RUN_MODEL_FILES_H_
#define RL_RUN_MODEL_FILES_H_

// What can be known of a run's model without its weights. Cheap, but for the digests.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/decoder/config.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/run/external_file.h"

namespace reprise::rl {

// The decoder that the run trains: config.json of model.path, or the shape in [model] where that is empty; with
// router_aux_loss_coef from the configuration unless it is -1. Errors are those of the file.
absl::StatusOr<models::DecoderConfig> DecoderOf(const ModelConfig& model);

// The same with the value function that the run's algorithm needs: what the run's layout is made from. Errors of
// DecoderOf and of AlgorithmOf.
absl::StatusOr<models::DecoderConfig> TrainedDecoderOf(const Config& config);

// The tokenizer beside the model, or that of models from scratch. InvalidArgument for a vocabulary that the latter
// cannot have; else errors of the files.
absl::StatusOr<models::Tokenizer> TokenizerOf(const ModelConfig& model);

// The files on which the model depends, sorted by name; none where model.path is empty. Reads all of them.
absl::StatusOr<std::vector<ExternalFile>> DigestModelFiles(const ModelConfig& model);

}  // namespace reprise::rl

#endif  // RL_RUN_MODEL_FILES_H_
