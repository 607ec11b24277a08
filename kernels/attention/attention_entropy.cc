#include "kernels/attention/attention_entropy.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/math/scalar_math.h"

namespace reprise::kernels {

void AttentionEntropies(const ConstRows& q, const ConstRows& k, double scale, double* entropy_S) {
  std::vector<double> score_S(static_cast<size_t>(q.rows));
  for (int64_t s = 0; s < q.rows; ++s) {
    const size_t seen = static_cast<size_t>(s) + 1;
    for (size_t j = 0; j < seen; ++j) {
      const float* const key = k[static_cast<int64_t>(j)];
      double sum = 0;
      for (int64_t d = 0; d < q.width; ++d) sum += static_cast<double>(q[s][d]) * static_cast<double>(key[d]);
      score_S[j] = sum * scale;
    }
    const double max = *std::max_element(score_S.begin(), score_S.begin() + static_cast<int64_t>(seen));
    double sum = 0, weighted = 0;
    for (size_t j = 0; j < seen; ++j) {
      const double below = score_S[j] - max, e = Exp(below);
      sum += e;
      weighted += e * below;
    }
    entropy_S[s] = std::max(Log(sum) - weighted / sum, 0.0);
  }
}

}  // namespace reprise::kernels
