#ifndef KERNELS_ATTENTION_HEAD_CALL_H_
#define KERNELS_ATTENTION_HEAD_CALL_H_

// Calls the kernels on a Head of the tests, in the layouts that callers use: rows with strides, packed keys with NaN in
// their padding, scratch of exactly the declared size.

#include <cstdint>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_reference.h"

namespace reprise::testing {

class HeadCall {
 public:
  // The first `prefix` of the head's P + T keys are passed as the prefix, the others as the sequence's own keys.
  HeadCall(const Head& head, int64_t prefix);
  explicit HeadCall(const Head& head) : HeadCall(head, head.P) {}
  HeadCall(const HeadCall&) = delete;

  // Computes queries [first, last) of the head and appends to `outputs`.
  void Forward(int64_t first, int64_t last, Outputs* outputs) const;
  Outputs Forward() const;

  // Adds to dk_SD and dv_SD of `gradients` (which have the head's sizes) and assigns dq_TD.
  void Backward(const std::vector<float>& statistics_T2, Gradients* gradients) const;
  Gradients Backward() const;  // from zero, with the forward's statistics

 private:
  kernels::HeadKeys Keys(int64_t first, int64_t count, const std::vector<float>& k_panels,
                         const std::vector<float>& v_panels) const;

  const Head& head_;
  int64_t stride_;
  int64_t own_;                                             // keys that are the sequence's own
  std::vector<float> q_, k_, v_, dout_;                     // rows with stride_
  std::vector<float> k_prefix_, v_prefix_, k_own_, v_own_;  // panels
  kernels::HeadContext context_;
};

}  // namespace reprise::testing

#endif  // KERNELS_ATTENTION_HEAD_CALL_H_
