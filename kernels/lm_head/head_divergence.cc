#include "kernels/lm_head/head_divergence.h"

#include <algorithm>
#include <vector>

#include "kernels/products/products.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lm_head/head_divergence.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/lm_head/row_gradient-inl.h"
#include "kernels/lm_head/temperature-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// Divides a chunk of n logits of each row by the temperature and adds its divergence to sum[row].
void AddChunk(int64_t rows, int64_t n, float temperature, const RowStatistics* statistics, float* z,
              const RowStatistics* reference_statistics, float* reference_z, double* sum) {
  DivideByTemperature(rows * n, temperature, z);
  DivideByTemperature(rows * n, temperature, reference_z);
  for (int64_t r = 0; r < rows; ++r) {
    sum[r] += static_cast<double>(
        DivergenceOfChunk(z + r * n, statistics[r], reference_z + r * n, reference_statistics[r], n));
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(AddChunk);

namespace {

// Number of rows whose logits of one chunk are stored at a time.
int64_t DivergenceBlock(int64_t rows) { return std::min<int64_t>(rows, 64); }

}  // namespace

int64_t HeadDivergenceScratch(int64_t rows, int64_t vocabulary) {
  return 2 * DivergenceBlock(rows) * std::min(vocabulary, kVocabularyChunk);
}

void HeadDivergence(int64_t vocabulary, const HeadRows& policy, const HeadRows& reference, float temperature,
                    float* divergence, float* scratch) {
  const int64_t rows = policy.hidden.rows, width = policy.hidden.width;
  const int64_t block = DivergenceBlock(rows);
  float* const reference_z = scratch + block * std::min(vocabulary, kVocabularyChunk);
  std::vector<double> sum(static_cast<size_t>(block));
  for (int64_t begin = 0; begin < rows; begin += block) {
    const int64_t count = std::min(block, rows - begin);
    std::fill(sum.begin(), sum.end(), 0.0);
    for (int64_t first = 0; first < vocabulary; first += kVocabularyChunk) {
      const int64_t n = std::min(kVocabularyChunk, vocabulary - first);
      const auto logits = [&](const HeadRows& of, float* z) {
        Product(of.hidden.Slice({begin, begin + count}), of.w_packed.FromPanel(first / kPanel, width), {z, count, n});
      };
      logits(policy, scratch);
      logits(reference, reference_z);
      HWY_DYNAMIC_DISPATCH(AddChunk)
      (count, n, temperature, policy.statistics + begin, scratch, reference.statistics + begin, reference_z,
       sum.data());
    }
    for (int64_t r = 0; r < count; ++r) {
      divergence[begin + r] = static_cast<float>(std::max(sum[r], 0.0));
    }
  }
}

}  // namespace reprise::kernels
#endif
