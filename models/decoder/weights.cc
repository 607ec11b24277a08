#include "models/decoder/weights.h"

#include <cstdint>
#include <utility>

#include "core/machine/memory.h"
#include "core/status/check.h"
#include "kernels/embedding/embedding.h"
#include "kernels/products/products.h"

namespace reprise::models {

int64_t PackedWeights::Matrix::Floats() const { return kernels::PackedSize(rows, columns) / (bf16 ? 2 : 1); }
int64_t PackedWeights::Matrix::TransposedFloats() const { return kernels::PackedSize(columns, rows) / (bf16 ? 2 : 1); }

kernels::PackedMatrix PackedWeights::Matrix::View(float* memory) const {
  if (bf16) return reinterpret_cast<const kernels::Bf16Pair*>(memory);
  return memory;
}

std::vector<PackedWeights::Matrix> PackedWeights::ListMatrices(const DecoderConfig& config,
                                                               const DecoderLayout& layout) {
  std::vector<Matrix> matrices;
  const auto add = [&](const std::vector<int>& specs, bool bf16) {
    Matrix matrix;
    for (int index : specs) {
      const ParameterSpec& spec = layout.specs[index];
      matrix.specs.push_back(index);
      matrix.parts.push_back(spec.offset);
      matrix.part_rows.push_back(spec.shape[0]);
      matrix.rows += spec.shape[0];
      matrix.columns = spec.shape[1];
    }
    matrix.bf16 = bf16;
    matrices.push_back(std::move(matrix));
  };
  for (const LayerParameters& layer : layout.layers) {
    add({layer.q, layer.k, layer.v}, config.bf16_weights);
    add({layer.o}, config.bf16_weights);
    add({layer.router}, false);
    for (size_t e = 0; e < layer.gate_E.size(); ++e) {
      add({layer.gate_E[e], layer.up_E[e]}, config.bf16_weights);
      add({layer.down_E[e]}, config.bf16_weights);
    }
  }
  if (layout.lm_head >= 0) add({layout.lm_head}, config.bf16_weights);
  return matrices;
}

int64_t PackedWeights::Bytes(const DecoderConfig& config, const DecoderLayout& layout, bool training) {
  int64_t floats = 0;
  for (const Matrix& m : ListMatrices(config, layout)) {
    floats += m.Floats() + (training ? m.TransposedFloats() : 0);
  }
  const int64_t embedding = layout.specs[layout.embedding].size;
  return floats * static_cast<int64_t>(sizeof(float)) +
         (config.bf16_weights ? embedding * static_cast<int64_t>(sizeof(uint16_t)) : 0);
}

int64_t PackedWeights::ForwardBytes() const {
  return forward_ == nullptr ? 0 : forward_->matrices.size() * static_cast<int64_t>(sizeof(float));
}

PackedWeights::PackedWeights(const DecoderConfig& config, const DecoderLayout& layout, const float* flat, bool training)
    : config_(config),
      flat_(flat),
      training_(training),
      embedding_offset_(layout.specs[layout.embedding].offset),
      embedding_size_(layout.specs[layout.embedding].size),
      matrices_(ListMatrices(config, layout)),
      blocks_(ListBlocks(matrices_)),
      past_caches_(Bytes(config, layout, training) >= LastLevelCacheBytes()) {
  layers_.resize(layout.layers.size());
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i].expert_E.resize(layout.layers[i].gate_E.size());
  has_lm_head_ = layout.lm_head >= 0;
  embedding_spec_ = layout.embedding;
  const std::vector<Unpacked> unpacked = ListUnpacked(layout);
  if (flat == nullptr) {
    unpacked_ = unpacked;
    return;
  }
  for (const Unpacked& tensor : unpacked) *tensor.pointer = flat + tensor.offset;
  embedding_ = flat + embedding_offset_;
}

std::vector<PackedWeights::Unpacked> PackedWeights::ListUnpacked(const DecoderLayout& layout) {
  std::vector<Unpacked> tensors;
  const auto add = [&](int spec, const float** pointer) {
    const ParameterSpec& tensor = layout.specs[spec];
    tensors.push_back({spec, tensor.offset, tensor.size, pointer});
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    const LayerParameters& parameters = layout.layers[i];
    LayerWeights& layer = layers_[i];
    add(parameters.input_norm, &layer.input_norm);
    add(parameters.q_norm, &layer.q_norm);
    add(parameters.k_norm, &layer.k_norm);
    add(parameters.post_norm, &layer.post_norm);
  }
  add(layout.final_norm, &final_norm_);
  if (!config_.bf16_weights) add(layout.embedding, &embedding_);
  return tensors;
}

void PackedWeights::SetAdapters(const std::vector<LayerAdapters>& layers) {
  CHECK_EQ(layers.size(), layers_.size());
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i].adapters = layers[i];
}

int64_t PackedWeights::UnpackedBytes(const DecoderConfig& config, const DecoderLayout& layout) {
  int64_t floats = 0;
  for (int spec = 0; spec < static_cast<int>(layout.specs.size()); ++spec) {
    const ParameterSpec& tensor = layout.specs[spec];
    if (tensor.kind == ParameterKind::kVector || (spec == layout.embedding && !config.bf16_weights))
      floats += tensor.size;
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

// Allocates memory for a copy that is not shared.
void PackedWeights::MakeRoom() {
  int64_t forward = 0, transposed = 0;
  for (const Matrix& m : matrices_) {
    forward += m.Floats();
    transposed += m.TransposedFloats();
  }
  if (forward_ == nullptr || forward_.use_count() > 1) {
    forward_ = std::make_shared<ForwardCopy>();
    forward_->matrices = Tensor("packed", DType::kF32, {forward});
    if (config_.bf16_weights) forward_->bf16_embedding.resize(static_cast<size_t>(embedding_size_));
    int64_t unpacked = 0;
    for (const Unpacked& tensor : unpacked_) unpacked += tensor.size;
    if (unpacked > 0) forward_->unpacked = Tensor("unpacked", DType::kF32, {unpacked});
  }
  if (training_ && transposed_ == nullptr) {
    transposed_ = std::make_shared<TransposedCopy>();
    transposed_->matrices = Tensor("transposed", DType::kF32, {transposed});
  }
  PointAtCopies();
}

void PackedWeights::PointAtCopies() {
  float* forward = forward_->matrices.mutable_data<float>().data();
  float* transposed = training_ ? transposed_->matrices.mutable_data<float>().data() : nullptr;
  for (Matrix& m : matrices_) {
    m.packed = forward;
    forward += m.Floats();
    if (!training_) continue;
    m.transposed = transposed;
    transposed += m.TransposedFloats();
  }
  size_t index = 0;
  const auto next_matrix = [&](kernels::PackedMatrix* packed, kernels::PackedMatrix* of_training) {
    const Matrix& m = matrices_[index++];
    *packed = m.View(m.packed);
    if (training_) *of_training = m.View(m.transposed);
  };
  for (LayerWeights& layer : layers_) {
    next_matrix(&layer.qkv, &layer.qkv_transposed);
    next_matrix(&layer.o, &layer.o_transposed);
    next_matrix(&layer.router, &layer.router_transposed);
    for (kernels::ExpertWeights& expert : layer.expert_E) {
      next_matrix(&expert.gate_up, &expert.gate_up_transposed);
      next_matrix(&expert.down, &expert.down_transposed);
    }
  }
  if (has_lm_head_) next_matrix(&lm_head_, &lm_head_transposed_);
  int64_t at = 0;
  for (const Unpacked& tensor : unpacked_) {
    *tensor.pointer = forward_->unpacked.data<float>().data() + at;
    at += tensor.size;
  }
}

void PackedWeights::Share(const PackedWeights& other) {
  CHECK(other.forward_ != nullptr);
  CHECK_EQ(matrices_.size(), other.matrices_.size());
  CHECK_EQ(config_.bf16_weights, other.config_.bf16_weights);
  if (training_) {
    CHECK(flat_ == nullptr && other.flat_ == nullptr && other.transposed_ != nullptr);
    transposed_ = other.transposed_;
  }
  forward_ = other.forward_;
  new_rows_.reset();
  PointAtCopies();
}

int64_t PackedWeights::NewRowBytes(const DecoderConfig& config, bool training) {
  if (config.new_rows == 0) return 0;
  return NewRows::Bytes({config.vocab_size, config.hidden_size, config.bf16_weights}, training);
}

FrozenVocabulary PackedWeights::Vocabulary() const {
  const Matrix& head = matrices_.back();
  const void* const embedding =
      config_.bf16_weights ? static_cast<const void*>(forward_->bf16_embedding.data()) : embedding_;
  return {config_.vocab_size,   config_.hidden_size,
          config_.bf16_weights, static_cast<const unsigned char*>(embedding),
          head.packed,          training_ ? head.transposed : nullptr};
}

void PackedWeights::SetNewRows(const float* embedding, const float* lm_head) {
  CHECK(flat_ == nullptr && has_lm_head_ && forward_ != nullptr);
  if (new_rows_ == nullptr || new_rows_.use_count() > 1) new_rows_ = std::make_shared<NewRows>(Vocabulary());
  new_rows_->Write(config_.new_rows, embedding, lm_head);
  new_embedding_ = embedding;
  new_lm_head_ = lm_head;
  PointAtNewRows();
}

void PackedWeights::ShareNewRows(const PackedWeights& other) {
  CHECK(other.new_rows_ != nullptr && SharesWith(other) && !training_);
  new_rows_ = other.new_rows_;
  new_embedding_ = new_lm_head_ = nullptr;
  PointAtNewRows();
}

void PackedWeights::PointAtNewRows() {
  lm_head_ = new_rows_->lm_head();
  if (training_) lm_head_transposed_ = new_rows_->lm_head_transposed();
}

absl::Span<const unsigned char> PackedWeights::embedding_bytes() const {
  const size_t size = static_cast<size_t>(embedding_size_);
  if (new_rows_ != nullptr) {
    return {new_rows_->embedding(), size * (config_.bf16_weights ? sizeof(uint16_t) : sizeof(float))};
  }
  if (!config_.bf16_weights) return {reinterpret_cast<const unsigned char*>(embedding_), size * sizeof(float)};
  return {reinterpret_cast<const unsigned char*>(forward_->bf16_embedding.data()), size * sizeof(uint16_t)};
}

void PackedWeights::Embed(const int32_t* token_T, const kernels::Rows& y_TD) const {
  const unsigned char* const table = embedding_bytes().data();
  if (config_.bf16_weights) {
    kernels::Embed(token_T, reinterpret_cast<const uint16_t*>(table), y_TD);
  } else {
    kernels::Embed(token_T, reinterpret_cast<const float*>(table), y_TD);
  }
}

}  // namespace reprise::models
