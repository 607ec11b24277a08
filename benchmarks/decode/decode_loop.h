#ifndef BENCHMARKS_DECODE_DECODE_LOOP_H_
#define BENCHMARKS_DECODE_DECODE_LOOP_H_

// Samples as in production, one token of each of several sequences at a time: decoder, lm-head, draw.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/sampling/sampling.h"
#include "models/decoder/inference.h"

namespace reprise::benchmarks {

class DecodeLoop {
 public:
  // `sequences` sequences share a prompt of `prompt` random tokens and start again after `length` tokens.
  DecodeLoop(const models::Decoder& decoder, int64_t sequences, int64_t prompt, int64_t length);

  void Step();

 private:
  void Prefill(int64_t prompt);

  const models::Decoder& decoder_;
  const int64_t length_;
  models::Activations workspace_;
  models::KeyValueCache prompt_;
  std::vector<std::unique_ptr<models::KeyValueCache>> caches_;
  models::CachedBatch batch_;
  std::vector<float> logits_;
  kernels::SamplingWorkspace sampling_;
  uint64_t step_ = 0;
};

// The work of one step: floating-point operations of its products, and bytes of the weights that it reads (of the
// average number of experts that random choices of a layer's K among E use).
struct DecodeWork {
  double operations = 0, bytes = 0;
};
DecodeWork EstimateWork(const models::DecoderConfig& config, int64_t sequences);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_DECODE_DECODE_LOOP_H_
