#ifndef KERNELS_LM_HEAD_LM_HEAD_REFERENCE_H_
#define KERNELS_LM_HEAD_LM_HEAD_REFERENCE_H_

// The language-model head's contract (lm_head.h) in scalars, the same mathematics in double, and calls of the kernels
// on the same problem, for tests.

#include <cstdint>
#include <vector>

#include "kernels/lm_head/lm_head.h"

namespace reprise::testing {

// R rows, V entries, D model width.
struct HeadProblem {
  int64_t R = 0;
  int64_t V = 0;
  int64_t D = 0;
  float temperature = 1;
  std::vector<float> hidden_RD;
  std::vector<float> w_VD;
  std::vector<int64_t> first_target;  // R + 1
  std::vector<int32_t> target;
  std::vector<float> dlogprob;    // one per target
  std::vector<float> dentropy_R;  // empty for none
  // Another head with its own rows, and the gradient of the divergence from it; all empty for none.
  std::vector<float> reference_hidden_RD = {}, reference_w_VD = {}, ddivergence_R = {};
  std::vector<float> temperature_R = {};  // of each row, instead of `temperature`; not with a reference
  bool from_reference = false;            // the divergence is that of the reference from this head
  int64_t first_trained = 0;              // rows of W before it are frozen; dw_VD has the others

  float TemperatureOf(int64_t r) const { return temperature_R.empty() ? temperature : temperature_R[r]; }
  kernels::Targets Targets() const { return {first_target.data(), target.data()}; }
};

// Returns a problem whose rows have 1, 0, 3, 1, 0, 3, ... targets.
HeadProblem RandomProblem(int64_t R, int64_t V, int64_t D, float temperature, uint64_t seed);

// Returns the problem with a reference at `distance` from it, 0 for the same head; some rows' ddivergence is 0.
HeadProblem WithReference(HeadProblem problem, float distance, uint64_t seed);

// Returns rows [begin, end) as a separate problem.
HeadProblem RowsOf(const HeadProblem& problem, int64_t begin, int64_t end);

struct HeadOutputs {
  std::vector<float> logprob;
  std::vector<float> statistics_R4;  // max, log_sum, sum, entropy
};

struct HeadGradients {
  std::vector<float> dhidden_RD;
  std::vector<float> dw_VD;
};

HeadOutputs ReferenceHeadForward(const HeadProblem& problem);
HeadGradients ReferenceHeadBackward(const HeadProblem& problem);

// By row, from the reference.
std::vector<float> ReferenceHeadDivergence(const HeadProblem& problem);
std::vector<float> KernelHeadDivergence(const HeadProblem& problem);

// The kernels on the whole problem, with strides in the rows of hidden and dhidden.
HeadOutputs KernelHeadForward(const HeadProblem& problem);
// In calls of the given numbers of rows (which add up to R), with the forward's statistics.
HeadGradients KernelHeadBackward(const HeadProblem& problem, const std::vector<int64_t>& calls);

struct HeadOracle {
  std::vector<double> logprob;
  std::vector<double> entropy_R;
  std::vector<double> divergence_R;  // if there is a reference
  double objective = 0;              // sum of dlogprob * logprob + dentropy * entropy + ddivergence * divergence
};

HeadOracle OracleOf(const HeadProblem& problem);

}  // namespace reprise::testing

#endif  // KERNELS_LM_HEAD_LM_HEAD_REFERENCE_H_
