#include "models/decoder/model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/status/check.h"

namespace reprise::models {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;  // first, size

// Returns [0, total) without `ranges`, which do not overlap, in pieces of a size that threads can divide among them.
Ranges Without(int64_t total, Ranges ranges) {
  constexpr int64_t kMost = int64_t{1} << 16;
  std::ranges::sort(ranges);
  ranges.emplace_back(total, 0);
  Ranges left;
  int64_t begin = 0;
  for (const auto& [first, size] : ranges) {
    for (; begin < first; begin = std::min(first, begin + kMost)) {
      left.emplace_back(begin, std::min(kMost, first - begin));
    }
    begin = first + size;
  }
  return left;
}

// A decoder without lm-head has none to tie.
DecoderConfig Untied(DecoderConfig config) {
  config.tie_word_embeddings = false;
  return config;
}

}  // namespace

Model::Model(const DecoderConfig& config, const DecoderLayout& base, DecoderLayout layout, bool training)
    : config_(config),
      layout_(std::move(layout)),
      flat_("parameters", DType::kF32, {layout_.total}),
      weights_(config_, config.lora.is_on() ? base : layout_,
               config.lora.is_on() ? nullptr : flat_.data<float>().data(), training),
      rotary_(kernels::MakeRotaryTable(config.max_position_embeddings, config.head_width(), config.rope_theta)),
      decoder_{config_, layout_, weights_, rotary_} {
  Ranges packed;
  if (config.lora.is_on()) {
    adapters_ = std::make_unique<AdapterWeights>(AdapterLayout{config_.lora, layout_, layout_.adapters},
                                                 flat_.data<float>().data());
  } else {
    packed = weights_.PackedRanges();
  }
  if (config.value_model == ValueModel::kNetwork) {
    const float* const trunk = flat_.data<float>().data() + layout_.value.trunk_offset;
    value_network_ = std::make_unique<ValueNetwork>(config_, trunk, training, rotary_);
    for (const auto& [first, size] : value_network_->weights.PackedRanges()) {
      packed.emplace_back(layout_.value.trunk_offset + first, size);
    }
  }
  unpacked_ = Without(layout_.total, std::move(packed));
}

Model::ValueNetwork::ValueNetwork(const DecoderConfig& policy, const float* trunk, bool training,
                                  const kernels::RotaryTable& rotary)
    : config(Untied(policy)),
      layout(TrunkLayout(config)),
      weights(config, layout, trunk, training),
      decoder{config, layout, weights, rotary} {}

void Model::Refresh(ThreadPool& pool, const RangeFunction& change) {
  if (change) {
    pool.ForEach(static_cast<int64_t>(unpacked_.size()), [&](int64_t index, int) {
      const auto [first, size] = unpacked_[index];
      change(first, size);
    });
  }
  if (adapters_ != nullptr) {
    adapters_->Refresh(pool);
    weights_.SetAdapters(adapters_->layers());
    if (config_.new_rows > 0)
      weights_.SetNewRows(ValuesOf(layout_.new_rows.embedding), ValuesOf(layout_.new_rows.lm_head));
    return;
  }
  weights_.Refresh(pool, change);
  if (value_network_ == nullptr) return;
  const int64_t trunk = layout_.value.trunk_offset;
  value_network_->weights.Refresh(
      pool, !change ? nullptr : RangeFunction([&](int64_t first, int64_t size) { change(trunk + first, size); }));
}

bool Model::ShareIfEqual(const Model& other) {
  CHECK_EQ(layout_.total, other.layout_.policy_total);
  const absl::Span<const float> mine = parameters();
  if (adapters_ != nullptr) weights_.Share(other.weights_);
  if (std::memcmp(mine.data(), other.parameters().data(), mine.size() * sizeof(float)) != 0) return false;
  if (adapters_ == nullptr) {
    weights_.Share(other.weights_);
  } else {
    adapters_->Share(*other.adapters_);
    weights_.SetAdapters(adapters_->layers());
    if (config_.new_rows > 0) weights_.ShareNewRows(other.weights_);
  }
  return true;
}

void Model::ShareBase(const Model& other) {
  CHECK(adapters_ != nullptr && other.adapters_ != nullptr);
  weights_.Share(other.weights_);
}

bool Model::SharesWith(const Model& other) const {
  if (adapters_ == nullptr) return weights_.SharesWith(other.weights_);
  return adapters_->SharesWith(*other.adapters_) && config_.lora.dropout == other.config_.lora.dropout;
}

ValueHead Model::value_head() const {
  CHECK(config_.value_model != ValueModel::kNone);
  return {config_.hidden_size, ValuesOf(layout_.value.weight), ValuesOf(layout_.value.bias)};
}

const float* Model::ValuesOf(int spec) const { return flat_.data<float>().data() + layout_.specs[spec].offset; }

void Model::CopyTrunkToValueNetwork() {
  if (value_network_ == nullptr) return;
  float* const flat = flat_.mutable_data<float>().data();
  // Both begin with the same tensors at the same offsets; the lm-head, which comes last, is not copied.
  std::copy_n(flat, value_network_->layout.total, flat + layout_.value.trunk_offset);
}

std::unique_ptr<Model> Model::Create(const DecoderConfig& config, bool training) {
  return std::unique_ptr<Model>(new Model(config, MakeBaseLayout(config), MakeDecoderLayout(config), training));
}

std::unique_ptr<Model> Model::CreateEncoder(const DecoderConfig& config, DecoderLayout layout, bool training) {
  CHECK_EQ(layout.lm_head, -1);
  CHECK(config.value_model == ValueModel::kNone);
  return std::unique_ptr<Model>(new Model(Untied(config), TrunkLayout(config), std::move(layout), training));
}

std::unique_ptr<Model> Model::CreateWithHeads(const DecoderConfig& config, DecoderLayout layout, bool training) {
  CHECK(config.value_model == ValueModel::kNone);
  return std::unique_ptr<Model>(new Model(config, MakeBaseLayout(config), std::move(layout), training));
}

TensorView Model::parameter(int spec) const {
  const ParameterSpec& s = layout_.specs[spec];
  return {s.name, DType::kF32, s.shape,
          flat_.bytes().subspan(static_cast<size_t>(s.offset) * sizeof(float),
                                static_cast<size_t>(s.size) * sizeof(float))};
}

}  // namespace reprise::models
