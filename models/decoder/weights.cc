#include "models/decoder/weights.h"

#include <cstring>

#include "kernels/products/products.h"

namespace reprise::models {
namespace {

int64_t Rows(const std::vector<int64_t>& part_rows) {
  int64_t rows = 0;
  for (int64_t part : part_rows) rows += part;
  return rows;
}

}  // namespace

size_t PackedWeights::Add(const std::vector<int>& specs) {
  Matrix matrix;
  for (int index : specs) {
    const ParameterSpec& spec = layout_.specs[static_cast<size_t>(index)];
    matrix.parts.push_back(flat_ + spec.offset);
    matrix.part_rows.push_back(spec.shape[0]);
    matrix.columns = spec.shape[1];
  }
  matrices_.push_back(std::move(matrix));
  return matrices_.size() - 1;
}

PackedWeights::PackedWeights(const DecoderConfig& config, const ParameterLayout& layout, const float* flat,
                             bool training)
    : config_(config), layout_(layout), flat_(flat), training_(training) {
  for (const LayerParameters& layer : layout.layers) {
    Add({layer.q, layer.k, layer.v});
    Add({layer.o});
    Add({layer.router});
    for (size_t e = 0; e < layer.gate_E.size(); ++e) {
      Add({layer.gate_E[e], layer.up_E[e]});
      Add({layer.down_E[e]});
    }
  }
  if (layout.lm_head >= 0) Add({layout.lm_head});

  int64_t floats = 0;
  for (const Matrix& m : matrices_) {
    const int64_t rows = Rows(m.part_rows);
    floats += kernels::PackedSize(rows, m.columns) + (training ? kernels::PackedSize(m.columns, rows) : 0);
  }
  storage_ = std::make_unique<Tensor>("packed", DType::kF32, Shape{floats});
  float* next = storage_->mutable_data<float>().data();
  // Matrices lie in the order in which the forward pass reads them: products fetch what follows in memory.
  for (Matrix& m : matrices_) {
    m.packed = next;
    next += kernels::PackedSize(Rows(m.part_rows), m.columns);
  }
  for (Matrix& m : matrices_) {
    if (!training) break;
    m.transposed = next;
    next += kernels::PackedSize(m.columns, Rows(m.part_rows));
  }

  size_t index = 0;
  const auto vector_at = [&](int spec) { return flat + layout.specs[static_cast<size_t>(spec)].offset; };
  for (const LayerParameters& parameters : layout.layers) {
    LayerWeights layer;
    layer.input_norm = vector_at(parameters.input_norm);
    layer.q_norm = vector_at(parameters.q_norm);
    layer.k_norm = vector_at(parameters.k_norm);
    layer.post_norm = vector_at(parameters.post_norm);
    const Matrix &qkv = matrices_[index++], &o = matrices_[index++], &router = matrices_[index++];
    layer.qkv = qkv.packed, layer.qkv_transposed = qkv.transposed;
    layer.o = o.packed, layer.o_transposed = o.transposed;
    layer.router = router.packed, layer.router_transposed = router.transposed;
    for (size_t e = 0; e < parameters.gate_E.size(); ++e) {
      const Matrix &gate_up = matrices_[index++], &down = matrices_[index++];
      layer.expert_E.push_back({gate_up.packed, down.packed, gate_up.transposed, down.transposed});
    }
    layers_.push_back(std::move(layer));
  }
  embedding_ = vector_at(layout.embedding);
  final_norm_ = vector_at(layout.final_norm);
  lm_head_ = layout.lm_head < 0 ? nullptr : matrices_[index].packed;
  lm_head_transposed_ = layout.lm_head < 0 ? nullptr : matrices_[index].transposed;
}

void PackedWeights::Pack(const Matrix& m) const {
  const int64_t rows = Rows(m.part_rows);
  const float* source = m.parts[0];
  thread_local std::vector<float> stacked;
  if (m.parts.size() > 1) {
    stacked.resize(static_cast<size_t>(rows * m.columns));
    float* next = stacked.data();
    for (size_t part = 0; part < m.parts.size(); ++part) {
      std::memcpy(next, m.parts[part], static_cast<size_t>(m.part_rows[part] * m.columns) * sizeof(float));
      next += m.part_rows[part] * m.columns;
    }
    source = stacked.data();
  }
  kernels::PackForward(source, rows, m.columns, m.packed, 0, kernels::Panels(rows));
  if (training_) kernels::PackTransposed(source, rows, m.columns, m.transposed, 0, kernels::Panels(m.columns));
}

void PackedWeights::Refresh(ThreadPool& pool) {
  pool.ForEach(static_cast<int64_t>(matrices_.size()),
               [&](int64_t index, int) { Pack(matrices_[static_cast<size_t>(index)]); });
}

}  // namespace reprise::models
