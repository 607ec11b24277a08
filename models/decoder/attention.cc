#include "models/decoder/attention.h"

#include <optional>

#include "core/status/check.h"
#include "kernels/attention/attention.h"
#include "kernels/math/scalar_math.h"
#include "models/decoder/room.h"

namespace reprise::models {
namespace {

using kernels::HeadKeys;

// Column offsets in a row of qkv_TC.
struct Columns {
  explicit Columns(const DecoderConfig& c)
      : head(c.head_width()),
        key(c.hidden_size),
        value(c.hidden_size + c.key_value_width()),
        stride(c.hidden_size + 2 * c.key_value_width()) {}
  int64_t head, key, value, stride;
};

// The keys of every segment of a batch for one key head, packed into panels; for backward also the values.
class PackedKeys {
 public:
  // The panels are stored in `room` and are valid as long as this object lives.
  PackedKeys(const PackedBatch& batch, const LayerRows& layer, const Columns& columns, bool backward, Tensor* room)
      : batch_(batch), layer_(layer), columns_(columns), backward_(backward) {
    int64_t floats = 0;
    for (const Segment& segment : batch.segments) {
      offsets_.push_back(floats);
      floats += kernels::KeyPanelFloats(segment.rows, columns.head);
    }
    value_offset_ = floats;
    panels_ = Room(*room, backward ? 2 * floats : floats);
  }

  void Pack(int64_t key_head) {
    key_head_ = key_head;
    for (size_t i = 0; i < batch_.segments.size(); ++i) {
      const int64_t rows = batch_.segments[i].rows;
      kernels::PackKeys(0, rows, columns_.head, Row(i, columns_.key), columns_.stride, Panels(i, 0));
      if (backward_) {
        kernels::PackKeys(0, rows, columns_.head, Row(i, columns_.value), columns_.stride, Panels(i, value_offset_));
      }
    }
  }

  HeadKeys Keys(size_t segment) {
    HeadKeys keys;
    keys.count = batch_.segments[segment].rows;
    keys.k_panels = Panels(segment, 0);
    keys.v = Row(segment, columns_.value);
    keys.v_stride = columns_.stride;
    keys.k = Row(segment, columns_.key);
    keys.k_stride = columns_.stride;
    if (backward_) keys.v_panels = Panels(segment, value_offset_);
    return keys;
  }

 private:
  const float* Row(size_t segment, int64_t column) const {
    return layer_.qkv_TC + batch_.segments[segment].begin * columns_.stride + column + key_head_ * columns_.head;
  }
  float* Panels(size_t segment, int64_t offset) { return panels_ + offset + offsets_[segment]; }

  const PackedBatch& batch_;
  const LayerRows& layer_;
  const Columns columns_;
  const bool backward_;
  int64_t key_head_ = 0, value_offset_ = 0;
  std::vector<int64_t> offsets_;
  float* panels_ = nullptr;
};

// Scratch memory of a thread, used by all layers and batches.
struct AttentionRoom {
  Tensor inside, outside, scratch;
};

AttentionRoom& RoomOfThread() {
  thread_local AttentionRoom room;
  return room;
}

float ScoreScale(const DecoderConfig& config) {
  return static_cast<float>(1.0 / kernels::Sqrt(static_cast<double>(config.head_width())));
}

HeadKeys PrefixOf(const Segment& segment, PackedKeys& inside, PackedKeys* outside) {
  if (segment.prefix == kNoPrefix) return {};
  if (segment.prefix != kOutsidePrefix) return inside.Keys(static_cast<size_t>(segment.prefix));
  CHECK(outside != nullptr);
  return outside->Keys(0);
}

// Computes key heads [first_head, last_head) of AttendForward.
void AttendForwardOfHeads(const DecoderConfig& config, const PackedBatch& batch, const LayerRows& layer,
                          const PackedBatch* outside_batch, const LayerRows* outside, int64_t first_head,
                          int64_t last_head) {
  AttentionRoom& room = RoomOfThread();
  const Columns columns(config);
  const int64_t group = config.num_attention_heads / config.num_key_value_heads;
  PackedKeys inside_keys(batch, layer, columns, /*backward=*/false, &room.inside);
  std::optional<PackedKeys> outside_keys;
  if (outside != nullptr) outside_keys.emplace(*outside_batch, *outside, columns, /*backward=*/false, &room.outside);
  for (int64_t key_head = first_head; key_head < last_head; ++key_head) {
    inside_keys.Pack(key_head);
    if (outside_keys) outside_keys->Pack(key_head);
    for (size_t i = 0; i < batch.segments.size(); ++i) {
      const Segment& segment = batch.segments[i];
      const HeadKeys prefix = PrefixOf(segment, inside_keys, outside_keys ? &*outside_keys : nullptr);
      const HeadKeys own = inside_keys.Keys(i);
      float* const scratch =
          Room(room.scratch, kernels::AttentionScratch(segment.rows, prefix.count, own.count, columns.head));
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        kernels::AttentionForward(
            segment.rows, 0, columns.head, ScoreScale(config),
            layer.qkv_TC + segment.begin * columns.stride + head * columns.head, columns.stride, prefix, own,
            layer.attended_TD + segment.begin * config.hidden_size + head * columns.head, config.hidden_size,
            layer.statistics_HT2 + (head * batch.rows() + segment.begin) * 2, scratch);
      }
    }
  }
}

void AttendBackwardOfHeads(const DecoderConfig& config, const PackedBatch& batch, const LayerRows& layer,
                           const PackedBatch* outside_batch, const LayerRows* outside, const AttentionGradients& g,
                           int64_t first_head, int64_t last_head) {
  AttentionRoom& room = RoomOfThread();
  const Columns columns(config);
  const int64_t width = config.key_value_width(), group = config.num_attention_heads / config.num_key_value_heads;
  PackedKeys inside_keys(batch, layer, columns, /*backward=*/true, &room.inside);
  std::optional<PackedKeys> outside_keys;
  if (outside != nullptr) outside_keys.emplace(*outside_batch, *outside, columns, /*backward=*/true, &room.outside);
  for (int64_t key_head = first_head; key_head < last_head; ++key_head) {
    inside_keys.Pack(key_head);
    if (outside_keys) outside_keys->Pack(key_head);
    const int64_t key_column = key_head * columns.head;
    for (size_t i = 0; i < batch.segments.size(); ++i) {
      const Segment& segment = batch.segments[i];
      const HeadKeys prefix = PrefixOf(segment, inside_keys, outside_keys ? &*outside_keys : nullptr);
      float *dk_prefix = g.outside_dkey, *dv_prefix = g.outside_dvalue;
      if (segment.prefix >= 0) {
        const int64_t begin = batch.segments[static_cast<size_t>(segment.prefix)].begin;
        dk_prefix = g.dkey_TW + begin * width, dv_prefix = g.dvalue_TW + begin * width;
      }
      if (segment.prefix != kNoPrefix) dk_prefix += key_column, dv_prefix += key_column;
      float* const scratch =
          Room(room.scratch, kernels::AttentionBackwardScratch(segment.rows, prefix.count, columns.head));
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        const int64_t q = segment.begin * columns.stride + head * columns.head;
        kernels::AttentionBackward(
            segment.rows, columns.head, ScoreScale(config), layer.qkv_TC + q, columns.stride, prefix,
            inside_keys.Keys(i), layer.statistics_HT2 + (head * batch.rows() + segment.begin) * 2,
            g.dattended_TD + segment.begin * config.hidden_size + head * columns.head, config.hidden_size,
            g.dqkv_TC + q, columns.stride, g.dkey_TW + segment.begin * width + key_column,
            g.dvalue_TW + segment.begin * width + key_column, dk_prefix, dv_prefix, width, scratch);
      }
    }
  }
}

}  // namespace

void AttendForward(const DecoderConfig& config, const PackedBatch& batch, const LayerRows& layer,
                   const PackedBatch* outside_batch, const LayerRows* outside, const Team& team) {
  team.ForRanges(config.num_key_value_heads, 1, [&](int64_t begin, int64_t end) {
    AttendForwardOfHeads(config, batch, layer, outside_batch, outside, begin, end);
  });
}

void AttendBackward(const DecoderConfig& config, const PackedBatch& batch, const LayerRows& layer,
                    const PackedBatch* outside_batch, const LayerRows* outside, const AttentionGradients& gradients,
                    const Team& team) {
  team.ForRanges(config.num_key_value_heads, 1, [&](int64_t begin, int64_t end) {
    AttendBackwardOfHeads(config, batch, layer, outside_batch, outside, gradients, begin, end);
  });
}

}  // namespace reprise::models
