// Checks that the packed copy is what Refresh makes of the parameters.

#include <algorithm>
#include <cstring>

#include "models/decoder/weights.h"

namespace reprise::models {
namespace {

// The position of the first weight that differs in a packed matrix.
struct Place {
  int64_t output = 0, step = 0;  // row and column; in a transposed matrix, column and row
};

std::optional<Place> FirstDifference(const float* a, const float* b, int64_t floats, int64_t contraction, bool bf16) {
  const int64_t width = kernels::kPanel / (bf16 ? 2 : 1);
  for (int64_t i = 0; i < floats; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(float)) == 0) continue;
    uint32_t bits_a, bits_b;
    std::memcpy(&bits_a, a + i, sizeof(bits_a));
    std::memcpy(&bits_b, b + i, sizeof(bits_b));
    const bool in_upper_half = bf16 && ((bits_a ^ bits_b) & ~kernels::kUpperHalf) == 0;
    const int64_t lane = i % width + (in_upper_half ? width : 0), step = i / width;
    return Place{step / contraction * kernels::kPanel + lane, step % contraction};
  }
  return std::nullopt;
}

}  // namespace

// Every bit counts, each at its place; eight bytes take a few cycles.
uint64_t PackedWeights::ChecksumOfBytes(const void* data, size_t bytes) {
  const auto* const at = static_cast<const unsigned char*>(data);
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, at + i, std::min(sizeof(word), bytes - i));
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 32;
  }
  return sum;
}

std::vector<uint64_t> PackedWeights::ChecksumsOfOthers() const {
  std::vector<uint64_t> checksums;
  for (const Unpacked& tensor : unpacked_) checksums.push_back(Checksum(*tensor.pointer, tensor.size));
  const std::vector<uint16_t>& embedding = forward_->bf16_embedding;
  if (!embedding.empty())
    checksums.push_back(ChecksumOfBytes(embedding.data(), embedding.size() * sizeof(embedding[0])));
  return checksums;
}

std::optional<int64_t> PackedWeights::FirstDamageOfFrozen() const {
  for (size_t i = 0; i < matrices_.size(); ++i) {
    const Matrix& m = matrices_[i];
    const bool is_damaged = Checksum(m.packed, m.Floats()) != forward_->checksums[i] ||
                            (training_ && Checksum(m.transposed, m.TransposedFloats()) != transposed_->checksums[i]);
    if (is_damaged) return m.parts[0];
  }
  const std::vector<uint64_t> others = ChecksumsOfOthers();
  for (size_t i = 0; i < others.size(); ++i) {
    if (others[i] == forward_->checksums[matrices_.size() + i]) continue;
    return i < unpacked_.size() ? unpacked_[i].offset : embedding_offset_;
  }
  return DamageOfNewRows();
}

std::optional<int64_t> PackedWeights::DamageOfNewRows() const {
  if (new_rows_ == nullptr || new_embedding_ == nullptr) return std::nullopt;  // none, or another's
  NewRows again(Vocabulary());
  again.Write(config_.new_rows, new_embedding_, new_lm_head_);
  if (!new_rows_->HasEmbeddingOf(again)) return embedding_offset_;
  return new_rows_->HasLmHeadOf(again) ? std::nullopt : std::optional<int64_t>(matrices_.back().parts[0]);
}

std::optional<int64_t> PackedWeights::FirstDamage() const {
  if (flat_ == nullptr) return FirstDamageOfFrozen();
  for (const Matrix& m : matrices_) {
    Tensor forward("", DType::kF32, {m.Floats()});
    Tensor transposed("", DType::kF32, {training_ ? m.TransposedFloats() : 0});
    Matrix again = m;
    again.packed = forward.mutable_data<float>().data();
    again.transposed = training_ ? transposed.mutable_data<float>().data() : nullptr;
    PackBlock(again, 0, m.rows, nullptr);
    if (const auto at = FirstDifference(m.packed, again.packed, m.Floats(), m.columns, m.bf16)) {
      return PartOfRow(m, at->output);
    }
    if (!training_) continue;
    if (const auto at = FirstDifference(m.transposed, again.transposed, m.TransposedFloats(), m.rows, m.bf16)) {
      return PartOfRow(m, at->step);
    }
  }
  for (size_t i = 0; i < forward_->bf16_embedding.size(); ++i) {
    if (forward_->bf16_embedding[i] != kernels::RoundToBf16(embedding_[i])) return embedding_ - flat_;
  }
  return std::nullopt;
}

int64_t PackedWeights::PartOfRow(const Matrix& m, int64_t row) {
  size_t part = 0;
  while (part + 1 < m.parts.size() && row >= m.part_rows[part]) row -= m.part_rows[part++];
  return m.parts[part];
}

}  // namespace reprise::models
