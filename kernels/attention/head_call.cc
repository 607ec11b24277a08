#include "kernels/attention/head_call.h"

#include <algorithm>
#include <cmath>

#include "core/status/check.h"

namespace reprise::testing {
namespace {

constexpr int64_t kGuard = 64;
constexpr float kUntouched = 12345.0f;

// Scratch of `size` floats that detects writes past its end.
class Scratch {
 public:
  explicit Scratch(int64_t size) : floats_(size + kGuard, NAN) {
    std::fill(floats_.end() - kGuard, floats_.end(), kUntouched);
  }
  ~Scratch() {
    CHECK(std::all_of(floats_.end() - kGuard, floats_.end(), [](float x) { return x == kUntouched; }));
  }
  float* data() { return floats_.data(); }

 private:
  std::vector<float> floats_;
};

std::vector<float> WithStride(const std::vector<float>& rows, int64_t width, int64_t stride) {
  const int64_t count = static_cast<int64_t>(rows.size()) / width;
  std::vector<float> strided(count * stride, kUntouched);
  for (int64_t r = 0; r < count; ++r) std::copy_n(&rows[r * width], width, &strided[r * stride]);
  return strided;
}

// Returns the rows without the gaps between them, and expects the gaps to be unchanged.
std::vector<float> Dense(const std::vector<float>& strided, int64_t width, int64_t stride) {
  std::vector<float> rows;
  for (size_t r = 0; r < strided.size(); r += stride) {
    rows.insert(rows.end(), strided.begin() + r, strided.begin() + r + width);
    for (int64_t c = width; c < stride; ++c) CHECK_EQ(strided[r + c], kUntouched);
  }
  return rows;
}

}  // namespace

HeadCall::HeadCall(const Head& head, int64_t prefix)
    : head_(head), stride_(head.D + 3), own_(head.P + head.T - prefix) {
  q_ = WithStride(head.q_TD, head.D, stride_);
  k_ = WithStride(head.k_SD, head.D, stride_);
  v_ = WithStride(head.v_SD, head.D, stride_);
  dout_ = WithStride(head.dout_TD, head.D, stride_);
  const auto pack = [&](const std::vector<float>& rows, int64_t first, int64_t count) {
    std::vector<float> panels(kernels::KeyPanelFloats(count, head.D), NAN);
    kernels::PackKeys(0, {rows.data() + first * stride_, count, head.D, stride_}, panels.data());
    return panels;
  };
  k_prefix_ = pack(k_, 0, prefix);
  v_prefix_ = pack(v_, 0, prefix);
  k_own_ = pack(k_, prefix, own_);
  v_own_ = pack(v_, prefix, own_);
  context_ = {Keys(0, prefix, k_prefix_, v_prefix_), Keys(prefix, own_, k_own_, v_own_), head.scale};
}

kernels::HeadKeys HeadCall::Keys(int64_t first, int64_t count, const std::vector<float>& k_panels,
                                 const std::vector<float>& v_panels) const {
  if (count == 0) return kernels::HeadKeys();
  const auto rows = [&](const std::vector<float>& all) {
    return kernels::ConstRows{all.data() + first * stride_, count, head_.D, stride_};
  };
  return {rows(v_), k_panels.data(), rows(k_), v_panels.data()};
}

void HeadCall::Forward(int64_t first, int64_t last, Outputs* outputs) const {
  const int64_t queries = last - first;
  const int64_t prefix = context_.prefix.count(), first_own = head_.P + first - prefix;
  std::vector<float> out(queries * stride_, kUntouched);
  std::vector<float> statistics(2 * queries);
  Scratch scratch(kernels::AttentionScratch(queries, prefix, first_own + queries, head_.D));
  kernels::AttentionForward({q_.data() + first * stride_, queries, head_.D, stride_}, first_own, context_,
                            {out.data(), queries, head_.D, stride_}, statistics.data(), scratch.data());
  const std::vector<float> rows = Dense(out, head_.D, stride_);
  outputs->out_TD.insert(outputs->out_TD.end(), rows.begin(), rows.end());
  outputs->statistics_T2.insert(outputs->statistics_T2.end(), statistics.begin(), statistics.end());
}

Outputs HeadCall::Forward() const {
  Outputs outputs;
  Forward(0, head_.T, &outputs);
  return outputs;
}

void HeadCall::Backward(const std::vector<float>& statistics_T2, Gradients* gradients) const {
  std::vector<float> dq(head_.T * stride_, kUntouched);
  std::vector<float> dk = WithStride(gradients->dk_SD, head_.D, stride_);
  std::vector<float> dv = WithStride(gradients->dv_SD, head_.D, stride_);
  const int64_t prefix = context_.prefix.count();
  const auto rows = [&](std::vector<float>& all, int64_t first, int64_t count) {
    return kernels::Rows{all.data() + first * stride_, count, head_.D, stride_};
  };
  Scratch scratch(kernels::AttentionBackwardScratch(head_.T, prefix, head_.D));
  kernels::AttentionBackward({q_.data(), head_.T, head_.D, stride_}, context_, statistics_T2.data(),
                             {dout_.data(), head_.T, head_.D, stride_}, rows(dq, 0, head_.T),
                             {rows(dk, prefix, head_.T), rows(dv, prefix, head_.T)},
                             {rows(dk, 0, prefix), rows(dv, 0, prefix)}, scratch.data());
  *gradients = {Dense(dq, head_.D, stride_), Dense(dk, head_.D, stride_), Dense(dv, head_.D, stride_)};
}

Gradients HeadCall::Backward() const {
  const std::vector<float> zeros((head_.P + head_.T) * head_.D, 0.0f);
  Gradients gradients{{}, zeros, zeros};
  Backward(Forward().statistics_T2, &gradients);
  return gradients;
}

}  // namespace reprise::testing
