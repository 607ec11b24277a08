// Refresh and Load: make the packed copy.

#include <algorithm>
#include <cstring>

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/products/products.h"
#include "models/decoder/weights.h"

namespace reprise::models {
namespace {

// Weights of a block: together with an optimizer's gradient and two moments of each, they fit in the second-level
// cache.
constexpr int64_t kBlockFloats = int64_t{1} << 15;
// Elements of the embedding that a thread rounds at a time.
constexpr int64_t kEmbeddingBlock = int64_t{1} << 18;

// Calls `pack` with a matrix's two copies, typed as the elements that they hold; that of the transpose may be null.
template <typename Function>
void WithElements(bool bf16, float* packed, float* transposed, const Function& pack) {
  if (bf16) {
    pack(reinterpret_cast<kernels::Bf16Pair*>(packed), reinterpret_cast<kernels::Bf16Pair*>(transposed));
  } else {
    pack(packed, transposed);
  }
}

}  // namespace

std::vector<PackedWeights::Block> PackedWeights::ListBlocks(const std::vector<Matrix>& matrices) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const int64_t rows = matrices[i].rows, columns = std::max<int64_t>(1, matrices[i].columns);
    const int64_t most = std::max<int64_t>(1, kBlockFloats / columns / kernels::kPanel) * kernels::kPanel;
    for (int64_t row = 0; row < rows; row += most) blocks.push_back({i, row, std::min(most, rows - row)});
  }
  return blocks;
}

std::vector<std::pair<int64_t, int64_t>> PackedWeights::PackedRanges() const {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const Matrix& m : matrices_) {
    for (size_t part = 0; part < m.parts.size(); ++part) {
      ranges.emplace_back(m.parts[part], m.part_rows[part] * m.columns);
    }
  }
  std::ranges::sort(ranges);
  return ranges;
}

// Returns rows [first_row, first_row + rows), contiguous in memory: rows of several parts are copied.
const float* PackedWeights::RowsOf(const Matrix& m, int64_t first_row, int64_t rows,
                                   const RangeFunction& before) const {
  thread_local std::vector<float> stacked;
  const float* source = nullptr;
  int64_t copied = 0, part_begin = 0;
  for (size_t part = 0; part < m.parts.size(); part_begin += m.part_rows[part++]) {
    const int64_t first = std::max(first_row, part_begin);
    const int64_t count = std::min(first_row + rows, part_begin + m.part_rows[part]) - first;
    if (count <= 0) continue;
    const int64_t offset = m.parts[part] + (first - part_begin) * m.columns, size = count * m.columns;
    if (before) before(offset, size);
    if (count == rows) return flat_ + offset;
    stacked.resize(static_cast<size_t>(rows * m.columns));
    source = stacked.data();
    std::memcpy(stacked.data() + copied, flat_ + offset, static_cast<size_t>(size) * sizeof(float));
    copied += size;
  }
  return source;
}

void PackedWeights::PackBlock(const Matrix& m, int64_t first_row, int64_t rows, const RangeFunction& before) const {
  const float* const source = RowsOf(m, first_row, rows, before);
  WithElements(m.bf16, m.packed, m.transposed, [&](auto* packed, auto* transposed) {
    kernels::PackRows(source, rows, m.columns, first_row, m.rows, packed, transposed, past_caches_);
  });
}

void PackedWeights::PackEmbedding(int64_t first, int64_t last) {
  std::transform(embedding_ + first, embedding_ + last, forward_->bf16_embedding.begin() + first, kernels::RoundToBf16);
}

void PackedWeights::Tell(kernels::ProductSubstitute& substitute, const Matrix& m, const float* source) const {
  if (m.bf16) return;
  substitute.Packed(source, m.rows, m.columns, /*transposed=*/false, m.packed);
  if (training_) substitute.Packed(source, m.rows, m.columns, /*transposed=*/true, m.transposed);
}

void PackedWeights::Refresh(ThreadPool& pool, const RangeFunction& before) {
  CHECK(flat_ != nullptr);
  MakeRoom();
  pool.ForEach(static_cast<int64_t>(blocks_.size()), [&](int64_t index, int) {
    const Block& block = blocks_[index];
    PackBlock(matrices_[block.matrix], block.first_row, block.rows, before);
  });
  if (config_.bf16_weights) {
    // This must come last: a tied embedding is part of a matrix, and `before` has just changed it.
    pool.ForEach((embedding_size_ + kEmbeddingBlock - 1) / kEmbeddingBlock, [&](int64_t block, int) {
      const int64_t first = block * kEmbeddingBlock;
      PackEmbedding(first, std::min(embedding_size_, first + kEmbeddingBlock));
    });
  }
  kernels::ProductSubstitute* const substitute = kernels::SubstituteOfProducts();
  if (substitute == nullptr) return;
  pool.ForEach(static_cast<int64_t>(matrices_.size()), [&](int64_t index, int) {
    const Matrix& m = matrices_[index];
    Tell(*substitute, m, RowsOf(m, 0, m.rows, nullptr));
  });
}

absl::Status PackedWeights::LoadMatrix(size_t index, const TensorReader& read) {
  const Matrix& m = matrices_[index];
  Tensor rows("", DType::kF32, {m.rows * m.columns});
  const absl::Span<float> values = rows.mutable_data<float>();
  int64_t begin = 0;
  for (size_t part = 0; part < m.specs.size(); ++part) {
    const int64_t size = m.part_rows[part] * m.columns;
    RETURN_IF_ERROR(read(m.specs[part], values.subspan(static_cast<size_t>(begin), static_cast<size_t>(size))));
    begin += size;
  }
  WithElements(m.bf16, m.packed, m.transposed, [&](auto* packed, auto* transposed) {
    kernels::PackRows(values.data(), m.rows, m.columns, 0, m.rows, packed, transposed, past_caches_);
  });
  kernels::ProductSubstitute* const substitute = kernels::SubstituteOfProducts();
  if (substitute != nullptr) Tell(*substitute, m, values.data());
  forward_->checksums[index] = Checksum(m.packed, m.Floats());
  if (training_) transposed_->checksums[index] = Checksum(m.transposed, m.TransposedFloats());
  return absl::OkStatus();
}

absl::Status PackedWeights::Load(ThreadPool& pool, const TensorReader& read) {
  CHECK(flat_ == nullptr);
  MakeRoom();
  forward_->checksums.resize(matrices_.size());
  if (training_) transposed_->checksums.resize(matrices_.size());
  std::vector<absl::Status> status(matrices_.size());
  pool.ForEach(static_cast<int64_t>(matrices_.size()),
               [&](int64_t index, int) { status[index] = LoadMatrix(static_cast<size_t>(index), read); });
  for (const absl::Status& of_matrix : status) RETURN_IF_ERROR(of_matrix);
  const absl::Span<float> unpacked = forward_->unpacked.mutable_data<float>();
  size_t at = 0;
  for (const Unpacked& tensor : unpacked_) {
    RETURN_IF_ERROR(read(tensor.spec, unpacked.subspan(at, static_cast<size_t>(tensor.size))));
    at += static_cast<size_t>(tensor.size);
  }
  if (config_.bf16_weights) {
    Tensor embedding("", DType::kF32, {embedding_size_});
    RETURN_IF_ERROR(read(embedding_spec_, embedding.mutable_data<float>()));
    const absl::Span<const float> values = embedding.data<float>();
    std::transform(values.begin(), values.end(), forward_->bf16_embedding.begin(), kernels::RoundToBf16);
  }
  const std::vector<uint64_t> others = ChecksumsOfOthers();
  forward_->checksums.insert(forward_->checksums.end(), others.begin(), others.end());
  return absl::OkStatus();
}

}  // namespace reprise::models
