#include "kernels/sampling/weights.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sampling/weights.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/lm_head/row_statistics-inl.h"
#include "kernels/lm_head/temperature-inl.h"
#include "kernels/math/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Blocks of a row whose maximum is known.
HWY_INLINE void BlockSums(int64_t n, const float* z, float max, float* block_sums) {
  const Floats vmax = hn::Set(FloatTag(), max);
  for (int64_t begin = 0; begin < n; begin += 64) {
    *block_sums++ = SumInLanes(std::min<int64_t>(n - begin, 64), [=](Floats lane, int64_t i, int64_t left) HWY_ATTR {
      return hn::Add(lane, ExpOf(hn::Sub(LoadPart(z + begin + i, left, 0.0f), vmax)));
    });
  }
}

RowStatistics ScanOneChunk(float temperature, int64_t n, float* z, float* block_sums) {
  DivideByTemperature(n, temperature, z);
  const ChunkStatistics chunk =
      block_sums == nullptr
          ? StatisticsOfChunk(z, n)
          : StatisticsOfChunk(z, n, [&block_sums](const Floats* e) HWY_ATTR { *block_sums++ = AddLanes(e); });
  return StatisticsFromChunks(&chunk, 1);
}

RowStatistics ScanChunks(float temperature, int64_t n, float* z, float* block_sums, ChunkStatistics* chunk) {
  int64_t chunks = 0;
  for (int64_t begin = 0; begin < n; begin += kVocabularyChunk) {
    const int64_t size = std::min(kVocabularyChunk, n - begin);
    DivideByTemperature(size, temperature, z + begin);
    chunk[chunks++] = StatisticsOfChunk(z + begin, size);
  }
  const RowStatistics row = StatisticsFromChunks(chunk, chunks);
  if (block_sums != nullptr) BlockSums(n, z, row.max, block_sums);
  return row;
}

void BlockMaxima(int64_t n, const float* z, float* block_maxima) {
  for (int64_t begin = 0; begin < n; begin += 64) *block_maxima++ = MaxOf(z + begin, std::min<int64_t>(n - begin, 64));
}

void BlockWeights(int64_t n, const float* z, float max, float* e) {
  for (int64_t i = 0; i < n; i += kWidth) {
    StorePart(ExpOf(hn::Sub(LoadPart(z + i, n - i, 0.0f), hn::Set(FloatTag(), max))), e + i, n - i);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(ScanOneChunk);
HWY_EXPORT(ScanChunks);
HWY_EXPORT(BlockMaxima);
HWY_EXPORT(BlockWeights);

namespace internal {

RowStatistics ScanRow(float temperature, int64_t n, float* z, float* block_sums) {
  if (n <= kVocabularyChunk) return HWY_DYNAMIC_DISPATCH(ScanOneChunk)(temperature, n, z, block_sums);
  // On the stack for vocabularies up to 2^18: this runs once per sampled token.
  ChunkStatistics small[64];
  std::vector<ChunkStatistics> large;
  const int64_t chunks = (n + kVocabularyChunk - 1) / kVocabularyChunk;
  if (chunks > 64) large.resize(static_cast<size_t>(chunks));
  return HWY_DYNAMIC_DISPATCH(ScanChunks)(temperature, n, z, block_sums, chunks > 64 ? large.data() : small);
}

void MaxByBlock(int64_t n, const float* z, float* block_maxima) {
  HWY_DYNAMIC_DISPATCH(BlockMaxima)(n, z, block_maxima);
}

void WeightsOfBlock(int64_t n, const float* z, float max, float* e) {
  HWY_DYNAMIC_DISPATCH(BlockWeights)(n, z, max, e);
}

}  // namespace internal
}  // namespace reprise::kernels
#endif
