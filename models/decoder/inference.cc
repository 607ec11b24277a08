#include "models/decoder/inference.h"

#include <algorithm>

#include "core/machine/memory.h"
#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/math/scalar_math.h"
#include "kernels/router/router.h"
#include "kernels/rows/elementwise.h"
#include "kernels/rows/rms_norm.h"
#include "models/decoder/room.h"
#include "models/decoder/team_layer.h"

namespace reprise::models {

int64_t KeyValueCache::Floats(const DecoderConfig& config, int64_t capacity) {
  const int64_t heads = config.num_hidden_layers * config.num_key_value_heads;
  return heads * (kernels::KeyPanelFloats(capacity, config.head_width()) + capacity * config.head_width());
}

KeyValueCache::KeyValueCache(const DecoderConfig& config, int64_t capacity)
    : config_(config), head_width_(config.head_width()), key_heads_(config.num_key_value_heads) {
  Prepare(capacity);
}

// Older rows are not cleared: their values are finite, as the padding of keys must be.
void KeyValueCache::Prepare(int64_t capacity) {
  capacity_ = capacity;
  panel_floats_ = kernels::KeyPanelFloats(capacity, head_width_);
  count_ = 0;
  Room(storage_, Floats(config_, capacity));
}

float* KeyValueCache::KeyPanels(int64_t layer, int64_t key_head) {
  const int64_t per_head = panel_floats_ + capacity_ * head_width_;
  return storage_.mutable_data<float>().data() + (layer * key_heads_ + key_head) * per_head;
}

float* KeyValueCache::Values(int64_t layer, int64_t key_head) { return KeyPanels(layer, key_head) + panel_floats_; }

kernels::HeadKeys KeyValueCache::Keys(int64_t layer, int64_t key_head, int64_t count) const {
  const int64_t per_head = panel_floats_ + capacity_ * head_width_;
  const float* const panels = storage_.data<float>().data() + (layer * key_heads_ + key_head) * per_head;
  return {{panels + panel_floats_, count, head_width_}, panels};
}

// Attention of one layer over the runs of a batch.
class CachedAttention {
 public:
  CachedAttention(const Decoder& decoder, const CachedBatch& batch, const Team& team)
      : config_(decoder.config),
        batch_(batch),
        team_(team),
        head_(config_.head_width()),
        scale_(static_cast<float>(1.0 / kernels::Sqrt(static_cast<double>(head_)))) {
    int64_t bytes = decoder.weights.ForwardBytes();
    for (const CachedRun& run : batch.runs) {
      const int64_t own = run.own->count() + run.rows;
      bytes += KeyValueCache::Floats(config_, own) * static_cast<int64_t>(sizeof(float));
      scratch_floats_ = std::max(scratch_floats_, kernels::AttentionScratch(run.rows, PrefixCount(run), own, head_));
    }
    keys_are_far_ = bytes > LastLevelCacheBytes() / 4;
  }

  // Divides the heads of all runs into ranges. Each head prefetches the next one's keys if these are not expected in a
  // near cache: prefetching takes time (5% of a token of nano with 64 sequences) and gains 20% with 512.
  void Run(int64_t index, const LayerRows& layer) {
    const int64_t heads = config_.num_key_value_heads, all = static_cast<int64_t>(batch_.runs.size()) * heads;
    const int64_t ranges = std::min<int64_t>(all, team_.threads());
    team_.ForEach(ranges, [&](int64_t range, int) {
      float* const scratch = Room(ScratchOfThread(), scratch_floats_);
      const int64_t end = all * (range + 1) / ranges;
      for (int64_t at = all * range / ranges; at < end; ++at) {
        if (keys_are_far_ && at + 1 < end) {
          Prefetch(index, (at + 1) % heads, batch_.runs[(at + 1) / heads]);
        }
        const CachedRun& run = batch_.runs[at / heads];
        Append(index, at % heads, run, layer);
        Attend(index, at % heads, run, layer, scratch);
      }
    });
  }

 private:
  static Tensor& ScratchOfThread() {
    thread_local Tensor scratch;
    return scratch;
  }

  static int64_t PrefixCount(const CachedRun& run) {
    if (run.prefix == nullptr) return 0;
    return run.prefix_rows == kWholePrefix ? run.prefix->count() : run.prefix_rows;
  }

  kernels::HeadKeys Own(int64_t index, int64_t key_head, const CachedRun& run) const {
    return run.own->Keys(index, key_head, run.own->count() + run.rows);
  }

  // Prefetches only the run's own keys: those of the prefix are used by several runs and stay in the caches.
  void Prefetch(int64_t index, int64_t key_head, const CachedRun& run) const {
    kernels::PrefetchKeys(Own(index, key_head, run));
  }

  void Attend(int64_t index, int64_t key_head, const CachedRun& run, const LayerRows& layer, float* scratch) {
    const int64_t group = config_.num_attention_heads / config_.num_key_value_heads;
    const kernels::HeadKeys own = Own(index, key_head, run);
    const kernels::HeadKeys prefix =
        run.prefix == nullptr ? kernels::HeadKeys{} : run.prefix->Keys(index, key_head, PrefixCount(run));
    const kernels::HeadContext context = {prefix, own, scale_};
    const kernels::Range rows = {run.begin, run.begin + run.rows};
    for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
      kernels::AttentionForward(layer.qkv_TC.Slice(rows).Columns(head * head_, head_), run.own->count(), context,
                                layer.attended_TD.Slice(rows).Columns(head * head_, head_), nullptr, scratch);
    }
  }

  void Append(int64_t index, int64_t key_head, const CachedRun& run, const LayerRows& layer) {
    const int64_t first = run.own->count();
    const Projections qkv(config_, layer.qkv_TC.Slice({run.begin, run.begin + run.rows}));
    kernels::PackKeys(first, qkv.k.Columns(key_head * head_, head_), run.own->KeyPanels(index, key_head));
    CopyRows(qkv.v.Columns(key_head * head_, head_),
             {run.own->Values(index, key_head) + first * head_, run.rows, head_});
  }

  const DecoderConfig& config_;
  const CachedBatch& batch_;
  const Team& team_;
  const int64_t head_;
  const float scale_;
  int64_t scratch_floats_ = 0;
  bool keys_are_far_ = false;  // a pass reads too much for the near caches; measured
};

void ForwardCached(const Decoder& decoder, const CachedBatch& batch, Activations* workspace, int64_t* expert_count_LE,
                   const Team& team) {
  const DecoderConfig& config = decoder.config;
  for (const CachedRun& run : batch.runs) {
    CHECK_LE(run.own->count() + run.rows, run.own->capacity());
    CHECK(run.prefix_rows == kWholePrefix || (run.prefix != nullptr && run.prefix_rows <= run.prefix->count()));
  }
  for (const int32_t position : batch.rows.position_T) {
    CHECK(position >= 0 && position < config.max_position_embeddings);
  }
  workspace->Prepare(batch.rows);
  const int64_t rows = batch.rows.rows();
  decoder.weights.Embed(batch.rows.token_T.data(), workspace->layer(0).x_TD);
  CachedAttention attention(decoder, batch, team);
  const TeamLayer shared(config, decoder.rotary, rows, batch.rows.position_T.data(), team);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const LayerRows& layer = workspace->layer(i);
    const LayerWeights& weights = decoder.weights.layers()[i];
    shared.Project(weights, layer);
    attention.Run(i, layer);
    shared.Mix(weights, layer);
    shared.Experts(weights, layer, workspace->x_after(i));
    if (expert_count_LE != nullptr) {
      kernels::CountExperts(rows, config.num_experts_per_tok, layer.expert_TK,
                            expert_count_LE + i * config.num_experts);
    }
  }
  for (const CachedRun& run : batch.runs) run.own->count_ += run.rows;
  kernels::RmsNorm(workspace->x_after(config.num_hidden_layers - 1), decoder.weights.final_norm(),
                   static_cast<float>(config.rms_norm_eps), workspace->hidden_TD(), nullptr);
}

}  // namespace reprise::models
