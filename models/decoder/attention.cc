#include "models/decoder/attention.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/status/check.h"
#include "core/tensor/room.h"
#include "kernels/attention/attention.h"
#include "kernels/math/scalar_math.h"

namespace reprise::models {
namespace {

using kernels::ConstRows;
using kernels::HeadContext;
using kernels::HeadKeys;
using kernels::KeyGradients;
using kernels::Range;
using kernels::Rows;

Range RangeOf(const Segment& segment) { return {segment.begin, segment.begin + segment.rows}; }

// The rows of `prefix` that the segment attends to.
Range PrefixRangeOf(const Segment& segment, const Segment& prefix) {
  const int64_t rows = segment.prefix_rows == kWholePrefix ? prefix.rows : segment.prefix_rows;
  return {prefix.begin, prefix.begin + rows};
}

// The columns of one head in some rows of an array of heads.
template <typename View>
View HeadOf(const View& rows, int64_t head, int64_t head_width, const Range& range) {
  return rows.Slice(range).Columns(head * head_width, head_width);
}

// The keys of every segment of a batch for one key head, packed into panels; for backward also the values.
class PackedKeys {
 public:
  // The panels are stored in `room` and are valid as long as this object lives.
  PackedKeys(const Activations& activations, int64_t index, bool backward, Tensor* room)
      : batch_(activations.batch()),
        columns_(activations.config(), activations.layer(index).qkv_TC),
        head_width_(activations.config().head_width()),
        backward_(backward) {
    int64_t floats = 0;
    for (const Segment& segment : batch_.segments) {
      offsets_.push_back(floats);
      floats += kernels::KeyPanelFloats(segment.rows, head_width_);
    }
    value_offset_ = floats;
    panels_ = Room(*room, backward ? 2 * floats : floats);
  }

  void Pack(int64_t key_head) {
    key_head_ = key_head;
    for (size_t i = 0; i < batch_.segments.size(); ++i) {
      kernels::PackKeys(0, RowsOf(i, columns_.k), Panels(i, 0));
      if (backward_) kernels::PackKeys(0, RowsOf(i, columns_.v), Panels(i, value_offset_));
    }
  }

  HeadKeys Keys(size_t segment) { return Keys(segment, RangeOf(batch_.segments[segment])); }

  // Those of the first rows of a segment, `range`. Keys behind them in the last panel are its padding.
  HeadKeys Keys(size_t segment, const Range& range) {
    return {HeadOf(columns_.v, key_head_, head_width_, range), Panels(segment, 0),
            HeadOf(columns_.k, key_head_, head_width_, range), backward_ ? Panels(segment, value_offset_) : nullptr};
  }

  HeadKeys PrefixKeys(const Segment& of, size_t prefix) {
    return Keys(prefix, PrefixRangeOf(of, batch_.segments[prefix]));
  }

 private:
  ConstRows RowsOf(size_t segment, const Rows& columns) const {
    return HeadOf(columns, key_head_, head_width_, RangeOf(batch_.segments[segment]));
  }
  float* Panels(size_t segment, int64_t offset) { return panels_ + offset + offsets_[segment]; }

  const PackedBatch& batch_;
  const Projections columns_;
  const int64_t head_width_;
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

HeadKeys PrefixOf(const Segment& segment, PackedKeys& inside, PackedKeys* outside) {
  if (segment.prefix == kNoPrefix) return {};
  if (segment.prefix != kOutsidePrefix) return inside.PrefixKeys(segment, static_cast<size_t>(segment.prefix));
  CHECK(outside != nullptr);
  return outside->PrefixKeys(segment, 0);
}

// Calls attend(segment, key head, context) for every segment and key head of `heads`.
template <typename Attend>
void ForSegments(const Activations& activations, const Activations* outside, int64_t index, bool backward,
                 const Range& heads, const Attend& attend) {
  AttentionRoom& room = RoomOfThread();
  const auto& segments = activations.batch().segments;
  const double head_width = static_cast<double>(activations.config().head_width());
  const float scale = static_cast<float>(1.0 / kernels::Sqrt(head_width));
  PackedKeys inside_keys(activations, index, backward, &room.inside);
  std::optional<PackedKeys> outside_keys;
  if (outside != nullptr) outside_keys.emplace(*outside, index, backward, &room.outside);
  for (int64_t key_head = heads.begin; key_head < heads.end; ++key_head) {
    inside_keys.Pack(key_head);
    if (outside_keys) outside_keys->Pack(key_head);
    for (size_t i = 0; i < segments.size(); ++i) {
      const HeadKeys prefix = PrefixOf(segments[i], inside_keys, outside_keys ? &*outside_keys : nullptr);
      attend(segments[i], key_head, HeadContext{prefix, inside_keys.Keys(i), scale});
    }
  }
}

// Computes some key heads of AttendForward.
void ForwardOfHeads(const Activations& activations, const Activations* outside, int64_t index, const Range& heads) {
  const DecoderConfig& config = activations.config();
  const LayerRows& layer = activations.layer(index);
  const Projections qkv(config, layer.qkv_TC);
  const int64_t width = config.head_width(), group = config.num_attention_heads / config.num_key_value_heads;
  ForSegments(activations, outside, index, /*backward=*/false, heads,
              [&](const Segment& segment, int64_t key_head, const HeadContext& context) {
                float* const scratch =
                    Room(RoomOfThread().scratch,
                         kernels::AttentionScratch(segment.rows, context.prefix.count(), context.own.count(), width));
                const Range rows = RangeOf(segment);
                for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
                  kernels::AttentionForward(HeadOf(qkv.q, head, width, rows), 0, context,
                                            HeadOf(layer.attended_TD, head, width, rows),
                                            layer.statistics_HT2 + (head * layer.rows() + segment.begin) * 2, scratch);
                }
              });
}

// Where the gradients of the keys of some rows are accumulated.
KeyGradients GradientsOf(const Activations& activations, int64_t index, int64_t key_head, const Range& rows) {
  const int64_t width = activations.config().head_width();
  const KeyGradients& all = activations.key_gradients(index);
  return {HeadOf(all.dk, key_head, width, rows), HeadOf(all.dv, key_head, width, rows)};
}

KeyGradients PrefixGradientsOf(const Segment& segment, const Activations& activations, const Activations* outside,
                               int64_t index, int64_t key_head) {
  if (segment.prefix == kNoPrefix) return {};
  const bool is_outside = segment.prefix == kOutsidePrefix;
  const Activations& of = is_outside ? *outside : activations;
  const Segment& prefix = of.batch().segments[is_outside ? 0 : static_cast<size_t>(segment.prefix)];
  return GradientsOf(of, index, key_head, PrefixRangeOf(segment, prefix));
}

void BackwardOfHeads(const Activations& activations, const Activations* outside, int64_t index,
                     const ConstRows& dattended_TD, const Rows& dqkv_TC, const Range& heads) {
  const DecoderConfig& config = activations.config();
  const LayerRows& layer = activations.layer(index);
  const Projections qkv(config, layer.qkv_TC), dqkv(config, dqkv_TC);
  const int64_t width = config.head_width(), group = config.num_attention_heads / config.num_key_value_heads;
  ForSegments(
      activations, outside, index, /*backward=*/true, heads,
      [&](const Segment& segment, int64_t key_head, const HeadContext& context) {
        float* const scratch = Room(RoomOfThread().scratch,
                                    kernels::AttentionBackwardScratch(segment.rows, context.prefix.count(), width));
        const Range rows = RangeOf(segment);
        for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
          kernels::AttentionBackward(HeadOf(qkv.q, head, width, rows), context,
                                     layer.statistics_HT2 + (head * layer.rows() + segment.begin) * 2,
                                     HeadOf(dattended_TD, head, width, rows), HeadOf(dqkv.q, head, width, rows),
                                     GradientsOf(activations, index, key_head, rows),
                                     PrefixGradientsOf(segment, activations, outside, index, key_head), scratch);
        }
      });
}

// Scales the gains of one head.
void ScaleHead(const DecoderLayout& layout, int norm, int64_t head, int64_t width, double factor,
               absl::Span<float> parameters) {
  if (factor == 1) return;
  const int64_t begin = layout.specs[norm].offset + head * width;
  for (float& gain : parameters.subspan(static_cast<size_t>(begin), static_cast<size_t>(width))) {
    gain = static_cast<float>(static_cast<double>(gain) * factor);
  }
}

}  // namespace

void AttendForward(const Activations& activations, const Activations* outside, int64_t index, const Team& team) {
  team.ForRanges(activations.config().num_key_value_heads, 1,
                 [&](int64_t begin, int64_t end) { ForwardOfHeads(activations, outside, index, {begin, end}); });
}

void AttendBackward(const Activations& activations, const Activations* outside, int64_t index,
                    const ConstRows& dattended_TD, const Rows& dqkv_TC, const Team& team) {
  team.ForRanges(activations.config().num_key_value_heads, 1, [&](int64_t begin, int64_t end) {
    BackwardOfHeads(activations, outside, index, dattended_TD, dqkv_TC, {begin, end});
  });
}

int64_t ClipAttention(const DecoderConfig& config, const DecoderLayout& layout, absl::Span<const float> largest_LH,
                      double threshold, absl::Span<float> parameters) {
  const int64_t heads = config.num_attention_heads, group = heads / config.num_key_value_heads;
  CHECK_EQ(static_cast<int64_t>(largest_LH.size()), config.num_hidden_layers * heads);
  CHECK_EQ(static_cast<int64_t>(layout.layers.size()), config.num_hidden_layers);
  int64_t clipped = 0;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const LayerParameters& own = layout.layers[layer];
    std::vector<double> least_K(static_cast<size_t>(config.num_key_value_heads), 1.0);
    for (int64_t head = 0; head < heads; ++head) {
      const double largest = static_cast<double>(largest_LH[layer * heads + head]);
      if (!(largest > threshold)) continue;
      const double share = threshold / largest;
      double& least = least_K[head / group];
      least = std::min(least, share);
      ++clipped;
      ScaleHead(layout, own.q_norm, head, config.head_width(), kernels::Sqrt(share), parameters);
    }
    for (int64_t key_head = 0; key_head < config.num_key_value_heads; ++key_head) {
      const double factor = kernels::Sqrt(least_K[key_head]);
      ScaleHead(layout, own.k_norm, key_head, config.head_width(), factor, parameters);
    }
  }
  return clipped;
}

}  // namespace reprise::models
