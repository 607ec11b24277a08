#include "rl/testing/exact_divergence.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"
#include "kernels/math/scalar_math.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {

ExactDivergence ExactKl(absl::Span<const double> logprob_V, absl::Span<const double> ref_logprob_V) {
  CHECK_EQ(logprob_V.size(), ref_logprob_V.size());
  const size_t V = logprob_V.size();
  std::vector<double> p_V(V, 0.0), log_ratio_V(V, 0.0), term_V(V, 0.0);
  for (size_t v = 0; v < V; ++v) {
    if (std::isinf(logprob_V[v])) continue;
    CHECK(std::isfinite(ref_logprob_V[v]));
    p_V[v] = kernels::Exp(logprob_V[v]);
    log_ratio_V[v] = logprob_V[v] - ref_logprob_V[v];
    term_V[v] = p_V[v] * log_ratio_V[v];
  }
  const double sum = kernels::TreeSum(term_V);
  ExactDivergence divergence = {.value = std::max(sum, 0.0), .d_logit_V = std::vector<double>(V, 0.0)};
  for (size_t v = 0; v < V; ++v) divergence.d_logit_V[v] = p_V[v] * (log_ratio_V[v] - sum);
  return divergence;
}

}  // namespace reprise::rl
