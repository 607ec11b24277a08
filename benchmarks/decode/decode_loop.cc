#include "benchmarks/decode/decode_loop.h"

#include <cmath>

#include "core/random/draw.h"
#include "kernels/products/products.h"
#include "kernels/testing/kernel_testing.h"

namespace reprise::benchmarks {

DecodeLoop::DecodeLoop(const models::Decoder& decoder, int64_t sequences, int64_t prompt, int64_t length)
    : decoder_(decoder),
      length_(length),
      workspace_(decoder.config, /*training=*/false),
      prompt_(decoder.config, prompt),
      logits_(static_cast<size_t>(sequences * decoder.config.vocab_size)) {
  Prefill(prompt);
  for (int64_t i = 0; i < sequences; ++i) {
    caches_.push_back(std::make_unique<models::KeyValueCache>(decoder.config, length));
    batch_.runs.push_back({i, 1, caches_.back().get(), &prompt_});
    batch_.rows.token_T.push_back(static_cast<int32_t>(i % decoder.config.vocab_size));
    batch_.rows.position_T.push_back(0);
  }
}

void DecodeLoop::Prefill(int64_t prompt) {
  models::CachedBatch batch;
  for (int64_t i = 0; i < prompt; ++i) {
    const int64_t token = testing::RandomBelow(decoder_.config.vocab_size, 11, static_cast<uint64_t>(i));
    batch.rows.token_T.push_back(static_cast<int32_t>(token));
    batch.rows.position_T.push_back(static_cast<int32_t>(i));
  }
  batch.runs.push_back({0, prompt, &prompt_, nullptr});
  models::ForwardCached(decoder_, batch, &workspace_, nullptr);
}

void DecodeLoop::Step() {
  const int64_t vocabulary = decoder_.config.vocab_size;
  const int64_t sequences = static_cast<int64_t>(caches_.size());
  if (caches_[0]->count() == length_) {
    for (const auto& cache : caches_) cache->Prepare(length_);
  }
  const int64_t position = prompt_.count() + caches_[0]->count();
  for (int32_t& p : batch_.rows.position_T) p = static_cast<int32_t>(position);
  models::ForwardCached(decoder_, batch_, &workspace_, nullptr);
  kernels::Product(workspace_.hidden_TD(), decoder_.weights.lm_head(), {logits_.data(), sequences, vocabulary});
  ++step_;
  for (int64_t i = 0; i < sequences; ++i) {
    const double uniform = DrawUniform(1, Purpose::kSampling, {.step = step_, .sample = static_cast<uint64_t>(i)});
    batch_.rows.token_T[i] =
        kernels::SampleToken(vocabulary, logits_.data() + i * vocabulary, {}, uniform, &sampling_).token;
  }
}

DecodeWork EstimateWork(const models::DecoderConfig& c, int64_t sequences) {
  const double width = static_cast<double>(c.hidden_size), rows = static_cast<double>(sequences);
  const double layers = static_cast<double>(c.num_hidden_layers), experts = static_cast<double>(c.num_experts);
  const double chosen = static_cast<double>(c.num_experts_per_tok);
  const double attention = width * (2 * width + 2 * static_cast<double>(c.key_value_width()));
  const double router = width * experts, expert = 3 * width * static_cast<double>(c.intermediate_size);
  const double head = width * static_cast<double>(c.vocab_size);
  const double touched = experts * (1 - std::pow(1 - chosen / experts, rows));
  const double weight_bytes = c.bf16_weights ? 2 : 4;
  DecodeWork work;
  work.operations = 2 * rows * (layers * (attention + router + chosen * expert) + head);
  work.bytes = weight_bytes * (layers * (attention + touched * expert) + head) + 4 * layers * router;
  return work;
}

}  // namespace reprise::benchmarks
