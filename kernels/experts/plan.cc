#include <cstddef>
#include <numeric>

#include "kernels/experts/experts.h"

namespace reprise::kernels {

void PlanExperts(int64_t tokens, int64_t experts, int64_t per_token, const int32_t* expert_TK, ExpertPlan* plan) {
  const int64_t dispatched = tokens * per_token;
  plan->per_token = per_token;
  plan->token_R.resize(static_cast<size_t>(dispatched));
  plan->slot_R.resize(static_cast<size_t>(dispatched));
  plan->row_TK.resize(static_cast<size_t>(dispatched));
  // A counting sort whose counters become the bounds: begin_E[e + 1] is first the position of expert e's next row, and
  // finally the end of its rows.
  plan->begin_E.assign(static_cast<size_t>(experts + 2), 0);
  int64_t* const next_E = plan->begin_E.data() + 1;
  for (int64_t i = 0; i < dispatched; ++i) ++next_E[expert_TK[i] + 1];
  std::partial_sum(plan->begin_E.begin(), plan->begin_E.end(), plan->begin_E.begin());
  for (int64_t t = 0, i = 0; t < tokens; ++t) {
    for (int64_t slot = 0; slot < per_token; ++slot, ++i) {
      const int64_t row = next_E[expert_TK[i]]++;
      plan->token_R[row] = static_cast<int32_t>(t);
      plan->slot_R[row] = static_cast<int32_t>(slot);
      plan->row_TK[i] = static_cast<int32_t>(row);
    }
  }
  plan->begin_E.pop_back();
}

}  // namespace reprise::kernels
