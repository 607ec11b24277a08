#ifndef BENCHMARKS_DECODE_DECODE_LOOP_H_
#define BENCHMARKS_DECODE_DECODE_LOOP_H_

// Sampling as the product does it, one token of each of some sequences at a time: decoder, lm-head, draw.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/sampling/sampling.h"
#include "models/decoder/inference.h"

namespace reprise::benchmarks {

class DecodeLoop {
 public:
  // `sequences` share a prompt of `prompt` random tokens and begin anew after `length` tokens.
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

// Of one step of so many sequences: floating-point operations of its products, and bytes of the weights that it reads
// (of as many experts as random choices of a layer's K among E would touch on average).
struct DecodeWork {
  double operations = 0, bytes = 0;
};
DecodeWork WorkOf(const models::DecoderConfig& config, int64_t sequences);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_DECODE_DECODE_LOOP_H_
