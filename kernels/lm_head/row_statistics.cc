#include "kernels/lm_head/row_statistics.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lm_head/row_statistics.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/lm_head/row_statistics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

void ChunksOfRow(int64_t vocabulary, const float* z, ChunkStatistics* chunk) {
  for (int64_t begin = 0; begin < vocabulary; begin += kVocabularyChunk) {
    *chunk++ = StatisticsOfChunk(z + begin, std::min(kVocabularyChunk, vocabulary - begin));
  }
}

RowStatistics RowOfChunks(const ChunkStatistics* chunk, int64_t chunks) { return StatisticsFromChunks(chunk, chunks); }

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(ChunksOfRow);
HWY_EXPORT(RowOfChunks);

RowStatistics StatisticsOfRow(int64_t vocabulary, const float* z) {
  // On the stack for vocabularies up to 2^18.
  ChunkStatistics small[64];
  std::vector<ChunkStatistics> large;
  const int64_t chunks = (vocabulary + kVocabularyChunk - 1) / kVocabularyChunk;
  ChunkStatistics* chunk = small;
  if (chunks > 64) {
    large.resize(chunks);
    chunk = large.data();
  }
  HWY_DYNAMIC_DISPATCH(ChunksOfRow)(vocabulary, z, chunk);
  return HWY_DYNAMIC_DISPATCH(RowOfChunks)(chunk, chunks);
}

}  // namespace reprise::kernels
#endif
