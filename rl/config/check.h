#ifndef RL_CONFIG_CHECK_H_
#define RL_CONFIG_CHECK_H_

// What one key cannot tell: whether the values fit together.

#include <cstdint>

#include "absl/status/status.h"
#include "models/decoder/config.h"
#include "rl/config/config.h"

namespace reprise::rl {

// InvalidArgument with the first thing that does not fit, by its keys and with a remedy; `ranks` is the number of MPI
// ranks that shall share the run. Assumes that every value is in its own range, as LoadConfig sees to. No check
// compares run.steps with anything, so that a run can be shortened to any length. Pure.
absl::Status CheckConfig(const Config& config, int64_t ranks);

// Whether model.weights_dtype asks for it, also for a checkpoint.
bool HasBf16Weights(const ModelConfig& model);

// The decoder that [model] describes when path is empty. A router_aux_loss_coef of -1 becomes the decoder's default.
models::DecoderConfig FromScratchDecoder(const ModelConfig& model);

}  // namespace reprise::rl

#endif  // RL_CONFIG_CHECK_H_
