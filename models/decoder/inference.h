#ifndef MODELS_DECODER_INFERENCE_H_
#define MODELS_DECODER_INFERENCE_H_

// The forward pass of sampling: rows are appended to caches of keys and values, both in prefill (many rows of one
// sequence) and in decode (one row of each of many sequences). The bits of a row are those of Forward on the whole
// sequence.

#include <cstdint>
#include <vector>

#include "core/parallel/team.h"
#include "core/tensor/tensor.h"
#include "kernels/attention/attention.h"
#include "models/decoder/decoder.h"

namespace reprise::models {

// Keys and values of one sequence, or of a prompt that several sequences share, for all layers.
class KeyValueCache {
 public:
  explicit KeyValueCache(const DecoderConfig& config, int64_t capacity = 0);

  // Empties the cache and allocates memory for `capacity` rows. Memory only grows.
  void Prepare(int64_t capacity);

  int64_t capacity() const { return capacity_; }
  int64_t count() const { return count_; }

  static int64_t Floats(const DecoderConfig& config, int64_t capacity);

 private:
  friend void ForwardCached(const Decoder&, const struct CachedBatch&, Activations*, int64_t*, const Team&);
  friend class CachedAttention;

  float* KeyPanels(int64_t layer, int64_t key_head);
  float* Values(int64_t layer, int64_t key_head);  // [capacity, head width]
  kernels::HeadKeys Keys(int64_t layer, int64_t key_head, int64_t count) const;

  const DecoderConfig config_;
  const int64_t head_width_, key_heads_;
  int64_t capacity_ = 0, panel_floats_ = 0;
  int64_t count_ = 0;
  Tensor storage_;
};

// Rows [begin, begin + rows) continue one sequence: they are appended to `own`, and attend to `prefix` (may be null)
// before it.
struct CachedRun {
  int64_t begin = 0;
  int64_t rows = 0;
  KeyValueCache* own = nullptr;
  const KeyValueCache* prefix = nullptr;
  int64_t prefix_rows = kWholePrefix;  // the first rows of the prefix that they attend to
};

struct CachedBatch {
  PackedBatch rows;             // tokens and positions; its segments are ignored
  std::vector<CachedRun> runs;  // in row order, without gaps; no cache appears as `own` twice
};

// Runs the rows through the decoder and appends them to their caches. Afterwards workspace (constructed with training =
// false) holds hidden_TD. If expert_count_LE is not null, expert_count_LE[l, e] grows by the number of rows that chose
// expert e in layer l. The threads of `team` divide the work.
void ForwardCached(const Decoder& decoder, const CachedBatch& batch, Activations* workspace, int64_t* expert_count_LE,
                   const Team& team = Team());

}  // namespace reprise::models

#endif  // MODELS_DECODER_INFERENCE_H_
