#include "kernels/router/router.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/router/router.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/isa/lane_sum-inl.h"
#include "kernels/isa/vectors-inl.h"
#include "kernels/rows/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace reprise::kernels::HWY_NAMESPACE {

// The `count` experts of highest probability, ties by lowest index, ascending by index.
HWY_INLINE void ChooseExperts(int64_t experts, int64_t count, const float* probability, int32_t* expert) {
  // expert[0 .. chosen) descends by probability; a later expert passes only those that are strictly less probable.
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t chosen = std::min(e, count);
    if (chosen == count && !(probability[e] > probability[expert[count - 1]])) continue;
    int64_t place = std::min(chosen, count - 1);
    for (; place > 0 && probability[e] > probability[expert[place - 1]]; --place) expert[place] = expert[place - 1];
    expert[place] = static_cast<int32_t>(e);
  }
  std::sort(expert, expert + count);
}

HWY_INLINE float SumOfChosen(int64_t count, const float* probability, const int32_t* expert) {
  float sum = probability[expert[0]];
  for (int64_t k = 1; k < count; ++k) sum += probability[expert[k]];
  return sum;
}

void RouteTokens(int64_t tokens, int64_t experts, int64_t per_token, bool normalize, const float* logits,
                 float* probability, int32_t* expert, float* weight) {
  for (int64_t t = 0; t < tokens; ++t) {
    SoftmaxOfRow(experts, logits, probability);
    ChooseExperts(experts, per_token, probability, expert);
    // x / 1 is x.
    const float divisor = normalize ? SumOfChosen(per_token, probability, expert) : 1.0f;
    for (int64_t k = 0; k < per_token; ++k) weight[k] = probability[expert[k]] / divisor;
    logits += experts;
    probability += experts;
    expert += per_token;
    weight += per_token;
  }
}

void RouteTokensBackward(int64_t tokens, int64_t experts, int64_t per_token, bool normalize, const float* probability,
                         const int32_t* expert, const float* weight, const float* dweight, const float* aux,
                         float* dlogits) {
  const FloatTag d;
  for (int64_t t = 0; t < tokens; ++t) {
    // dlogits holds dp first.
    for (int64_t e = 0; e < experts; ++e) dlogits[e] = aux == nullptr ? 0.0f : aux[e];
    float c = 0.0f;
    for (int64_t k = 0; k < per_token && normalize; ++k) c = std::fma(dweight[k], weight[k], c);
    const float divisor = normalize ? SumOfChosen(per_token, probability, expert) : 1.0f;
    for (int64_t k = 0; k < per_token; ++k) dlogits[expert[k]] += (dweight[k] - c) / divisor;
    const float a = SumInLanes(experts, [=](Floats lane, int64_t i, int64_t left) HWY_ATTR {
      return hn::MulAdd(LoadPart(dlogits + i, left, 0.0f), LoadPart(probability + i, left, 0.0f), lane);
    });
    for (int64_t i = 0; i < experts; i += kWidth) {
      const Floats difference = hn::Sub(LoadPart(dlogits + i, experts - i, 0.0f), hn::Set(d, a));
      StorePart(hn::Mul(LoadPart(probability + i, experts - i, 0.0f), difference), dlogits + i, experts - i);
    }
    probability += experts;
    expert += per_token;
    weight += per_token;
    dweight += per_token;
    dlogits += experts;
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RouteTokens);
HWY_EXPORT(RouteTokensBackward);

void RouterForward(int64_t tokens, int64_t experts, int64_t per_token, bool normalize, const float* logits_TE,
                   float* probability_TE, int32_t* expert_TK, float* weight_TK) {
  HWY_DYNAMIC_DISPATCH(RouteTokens)
  (tokens, experts, per_token, normalize, logits_TE, probability_TE, expert_TK, weight_TK);
}

void CountExperts(int64_t tokens, int64_t per_token, const int32_t* expert_TK, int64_t* count_E) {
  for (int64_t i = 0; i < tokens * per_token; ++i) ++count_E[expert_TK[i]];
}

void RouterBackward(int64_t tokens, int64_t experts, int64_t per_token, bool normalize, const float* probability_TE,
                    const int32_t* expert_TK, const float* weight_TK, const float* dweight_TK, const float* aux_E,
                    float* dlogits_TE) {
  HWY_DYNAMIC_DISPATCH(RouteTokensBackward)
  (tokens, experts, per_token, normalize, probability_TE, expert_TK, weight_TK, dweight_TK, aux_E, dlogits_TE);
}

}  // namespace reprise::kernels
#endif
