#include <algorithm>
#include <vector>

#include "kernels/lm_head/lm_head.h"
#include "kernels/products/products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lm_head/lm_head_forward.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/lm_head/row_statistics-inl.h"
#include "kernels/lm_head/temperature-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Divides rows of one chunk of n logits by its temperature, the rows of `range`, and stores row r's statistics in
// chunk[r * stride].
void DivideAndMeasure(const LmHeadOperands& operands, const Range& range, int64_t n, float* z, ChunkStatistics* chunk,
                      int64_t stride) {
  for (int64_t r = 0; r < range.size(); ++r) {
    DivideByTemperature(n, operands.TemperatureOf(range.begin + r), z + r * n);
    chunk[r * stride] = StatisticsOfChunk(z + r * n, n);
  }
}

// Row r's chunks are chunk[r * chunks ..].
void CombineChunks(int64_t rows, int64_t chunks, const ChunkStatistics* chunk, RowStatistics* statistics) {
  for (int64_t r = 0; r < rows; ++r) statistics[r] = StatisticsFromChunks(chunk + r * chunks, chunks);
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(DivideAndMeasure);
HWY_EXPORT(CombineChunks);

namespace {

// Number of rows whose logits of one chunk are stored: at most 1 MB, but enough to reuse each loaded weight.
int64_t ForwardBlock(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kCached = 64 * 1024;
  return std::min(rows, std::clamp<int64_t>(kCached / std::min(vocabulary, kVocabularyChunk), 64, 256));
}

}  // namespace

int64_t LmHeadScratch(int64_t rows, int64_t vocabulary) {
  return ForwardBlock(rows, vocabulary) * std::min(vocabulary, kVocabularyChunk);
}

void LmHeadForward(const LmHeadOperands& operands, float* logprob, RowStatistics* statistics, float* scratch) {
  const ConstRows& hidden = operands.hidden;
  const Targets& targets = operands.targets;
  const int64_t rows = hidden.rows, vocabulary = operands.vocabulary;
  const int64_t block = ForwardBlock(rows, vocabulary);
  const int64_t chunks = (vocabulary + kVocabularyChunk - 1) / kVocabularyChunk;
  std::vector<ChunkStatistics> chunk(static_cast<size_t>(block * chunks));
  for (int64_t begin = 0; begin < rows; begin += block) {
    const int64_t end = std::min(rows, begin + block);
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t first = c * kVocabularyChunk;
      const int64_t n = std::min(kVocabularyChunk, vocabulary - first);
      Product(hidden.Slice({begin, end}), operands.w_packed.FromPanel(first / kPanel, hidden.width),
              {scratch, end - begin, n});
      HWY_DYNAMIC_DISPATCH(DivideAndMeasure)(operands, {begin, end}, n, scratch, chunk.data() + c, chunks);
      for (int64_t r = begin; r < end; ++r) {  // the targets' logits; log-probabilities at the row's end
        for (int64_t i = targets.first_target[r]; i < targets.first_target[r + 1]; ++i) {
          const int64_t at = targets.target[i] - first;
          if (at >= 0 && at < n) logprob[i] = scratch[(r - begin) * n + at];
        }
      }
    }
    HWY_DYNAMIC_DISPATCH(CombineChunks)(end - begin, chunks, chunk.data(), statistics + begin);
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t i = targets.first_target[r]; i < targets.first_target[r + 1]; ++i) {
        logprob[i] = LogProbability(statistics[r], logprob[i]);
      }
    }
  }
}

}  // namespace reprise::kernels
#endif
