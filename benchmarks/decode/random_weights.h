#ifndef BENCHMARKS_DECODE_RANDOM_WEIGHTS_H_
#define BENCHMARKS_DECODE_RANDOM_WEIGHTS_H_

// A decoder with random weights for benchmarks, of any size whose packed weights fit into memory: the float parameters
// from which they are packed repeat one block of memory, so they need almost none.

#include <cstddef>
#include <memory>
#include <vector>

#include "models/decoder/decoder.h"

namespace reprise::benchmarks {

// The factor by which embeddings are larger than the block's values.
inline constexpr float kEmbeddingScale = 64;

// Returns the block that the parameters, in the order of their layout, repeat: 2^24 normals of deviation 1 / 64, each
// exact in bf16, so that weights stored in either type are the same numbers. Exceptions: norm gains are 1, and
// embeddings are kEmbeddingScale times the block's values.
std::vector<float> BlockOfWeights();

class RandomWeights {
 public:
  // The decoder can only be used for sampling. CHECKs that there is enough memory.
  static std::unique_ptr<RandomWeights> Create(const models::DecoderConfig& config);
  ~RandomWeights();
  RandomWeights(const RandomWeights&) = delete;
  RandomWeights& operator=(const RandomWeights&) = delete;

  const models::Decoder& decoder() const { return *decoder_; }

 private:
  explicit RandomWeights(const models::DecoderConfig& config);

  const models::DecoderConfig config_;
  const models::DecoderLayout layout_;
  const kernels::RotaryTable rotary_;
  size_t bytes_ = 0;
  float* parameters_ = nullptr;
  std::unique_ptr<models::PackedWeights> weights_;
  std::unique_ptr<models::Decoder> decoder_;
};

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_DECODE_RANDOM_WEIGHTS_H_
