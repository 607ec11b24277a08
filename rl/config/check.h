#ifndef RL_CONFIG_CHECK_H_
#define RL_CONFIG_CHECK_H_

// Cross-field validation of the configuration.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "models/decoder/config.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Returns InvalidArgument with the first conflict, its keys and a remedy; `ranks` is the number of MPI ranks that will
// share the run. Assumes that every value is in its own range, which LoadConfig ensures. No check compares run.steps
// with another value, so that a run can be shortened to any length. Pure.
absl::Status CheckConfig(const Config& config, int64_t ranks);

// Returns a warning about a top_k that leaves out none of the model's tokens; empty: none. Pure.
std::string WarningOfTopK(const RolloutConfig& rollout, int64_t vocab_size);

// Returns whether model.weights_dtype is bf16, also for a checkpoint.
bool HasBf16Weights(const ModelConfig& model);

// Returns the adapters that [lora] describes.
models::LoraConfig AdaptersOf(const LoraSection& lora);

// Returns the decoder that [model] describes when path is empty. A router_aux_loss_coef of -1 becomes the decoder's
// default.
models::DecoderConfig FromScratchDecoder(const ModelConfig& model);

}  // namespace reprise::rl

#endif  // RL_CONFIG_CHECK_H_
