#ifndef MODELS_DECODER_TESTING_TESTING_H_
#define MODELS_DECODER_TESTING_TESTING_H_

// Small random decoders and batches for tests.

#include <memory>
#include <vector>

#include "models/decoder/model.h"

namespace reprise::models::testing {

// Returns a config with two layers, odd sizes where they are allowed, and grouped keys; its weights are large enough
// that every term matters.
DecoderConfig SmallConfig();

// Returns random parameters of the model without adapters, flat in its layout (norm gains around 1).
std::vector<float> RandomBase(DecoderConfig config, uint64_t seed);

// Returns a training model with these weights, refreshed; with adapters, with random ones.
std::unique_ptr<Model> RandomModel(const DecoderConfig& config, uint64_t seed);

// Returns one sequence as a batch: a single segment from position 0.
PackedBatch SequenceBatch(const std::vector<int32_t>& tokens);

// Returns `count` tokens in [3, vocab_size).
std::vector<int32_t> RandomTokens(const DecoderConfig& config, uint64_t seed, int64_t count);

}  // namespace reprise::models::testing

#endif  // MODELS_DECODER_TESTING_TESTING_H_
