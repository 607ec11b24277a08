#include "kernels/router/router.h"

#include <algorithm>
#include <bit>
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
HWY_NOINLINE void ChooseByInsertion(int64_t experts, int64_t count, const float* probability, int32_t* expert) {
  // expert[0 .. chosen) is sorted by descending probability; a later expert passes only strictly less probable ones.
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t chosen = std::min(e, count);
    if (chosen == count && !(probability[e] > probability[expert[count - 1]])) continue;
    int64_t place = std::min(chosen, count - 1);
    for (; place > 0 && probability[e] > probability[expert[place - 1]]; --place) expert[place] = expert[place - 1];
    expert[place] = static_cast<int32_t>(e);
  }
  std::sort(expert, expert + count);
}

// Returns, as bits, those of experts [first, first + 64) that fewer than `count` experts exceed in probability. Free of
// data-dependent branches, because they could not be predicted.
HWY_INLINE uint64_t LeadersAmong(int64_t first, int64_t experts, int64_t count, const float* probability) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  uint64_t leaders = 0;
  const int64_t end = std::min<int64_t>(first + 64, experts);
  for (int64_t at = first; at < end; at += kWidth) {
    const Floats own = LoadPart(probability + at, experts - at, -1.0f);
    auto exceeding = hn::Zero(di);
    for (int64_t e = 0; e < experts; ++e) {
      const auto exceeds = hn::Gt(hn::Set(d, probability[e]), own);
      exceeding = hn::Sub(exceeding, hn::VecFromMask(di, hn::RebindMask(di, exceeds)));
    }
    uint8_t bits[8] = {};
    hn::StoreMaskBits(di, hn::Lt(exceeding, hn::Set(di, static_cast<int32_t>(count))), bits);
    leaders |= (bits[0] | uint64_t{bits[1]} << 8) << (at - first);
  }
  return leaders;
}

// As ChooseByInsertion.
HWY_INLINE void ChooseExperts(int64_t experts, int64_t count, const float* probability, int32_t* expert) {
  int64_t leaders = 0;
  for (int64_t first = 0; first < experts && leaders <= count; first += 64) {
    uint64_t bits = LeadersAmong(first, experts, count, probability);
    const int64_t before = leaders;
    leaders += std::popcount(bits);
    if (leaders > count) break;
    for (int64_t k = before; k < leaders; ++k, bits &= bits - 1) {
      expert[k] = static_cast<int32_t>(first + std::countr_zero(bits));
    }
  }
  // Ties for the last places give more leaders; NaNs make all experts leaders.
  if (leaders != count) ChooseByInsertion(experts, count, probability, expert);
}

HWY_INLINE float SumOfChosen(int64_t count, const float* probability, const int32_t* expert) {
  float sum = probability[expert[0]];
  for (int64_t k = 1; k < count; ++k) sum += probability[expert[k]];
  return sum;
}

void RouteTokens(const RouterShape& shape, const float* logits, float* probability, int32_t* expert, float* weight) {
  const auto [tokens, experts, per_token, normalize] = shape;
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

// The gradient dp of a token's probabilities.
HWY_INLINE void ProbabilityGradient(const RouterShape& shape, const float* probability, const int32_t* expert,
                                    const float* weight, const float* dweight, const float* aux, float* dp) {
  const auto [tokens, experts, per_token, normalize] = shape;
  for (int64_t e = 0; e < experts; ++e) dp[e] = aux == nullptr ? 0.0f : aux[e];
  float c = 0.0f;
  for (int64_t k = 0; k < per_token && normalize; ++k) c = std::fma(dweight[k], weight[k], c);
  const float divisor = normalize ? SumOfChosen(per_token, probability, expert) : 1.0f;
  for (int64_t k = 0; k < per_token; ++k) dp[expert[k]] += (dweight[k] - c) / divisor;
}

// Replaces dp with dlogits.
HWY_INLINE void ThroughSoftmax(int64_t experts, const float* probability, float* dp) {
  const FloatTag d;
  const float a = SumInLanes(experts, [=](Floats lane, int64_t i, int64_t left) HWY_ATTR {
    return hn::MulAdd(LoadPart(dp + i, left, 0.0f), LoadPart(probability + i, left, 0.0f), lane);
  });
  for (int64_t i = 0; i < experts; i += kWidth) {
    const Floats difference = hn::Sub(LoadPart(dp + i, experts - i, 0.0f), hn::Set(d, a));
    StorePart(hn::Mul(LoadPart(probability + i, experts - i, 0.0f), difference), dp + i, experts - i);
  }
}

void RouteTokensBackward(const RouterShape& shape, const float* probability, const int32_t* expert, const float* weight,
                         const float* dweight, const float* aux, float* dlogits) {
  const auto [tokens, experts, per_token, normalize] = shape;
  // Several tokens lie between writing single gradients and reading them as vectors, which would wait for those writes.
  constexpr int64_t kTile = 16;
  for (int64_t begin = 0; begin < tokens; begin += kTile) {
    const int64_t end = std::min(begin + kTile, tokens);
    for (int64_t t = begin; t < end; ++t) {
      ProbabilityGradient(shape, probability + t * experts, expert + t * per_token, weight + t * per_token,
                          dweight + t * per_token, aux, dlogits + t * experts);
    }
    for (int64_t t = begin; t < end; ++t) ThroughSoftmax(experts, probability + t * experts, dlogits + t * experts);
  }
}

}  // namespace reprise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::kernels {

HWY_EXPORT(RouteTokens);
HWY_EXPORT(RouteTokensBackward);

void RouterForward(const RouterShape& shape, const float* logits_TE, float* probability_TE, int32_t* expert_TK,
                   float* weight_TK) {
  HWY_DYNAMIC_DISPATCH(RouteTokens)(shape, logits_TE, probability_TE, expert_TK, weight_TK);
}

void CountExperts(int64_t tokens, int64_t per_token, const int32_t* expert_TK, int64_t* count_E) {
  for (int64_t i = 0; i < tokens * per_token; ++i) ++count_E[expert_TK[i]];
}

void RouterBackward(const RouterShape& shape, const float* probability_TE, const int32_t* expert_TK,
                    const float* weight_TK, const float* dweight_TK, const float* aux_E, float* dlogits_TE) {
  HWY_DYNAMIC_DISPATCH(RouteTokensBackward)
  (shape, probability_TE, expert_TK, weight_TK, dweight_TK, aux_E, dlogits_TE);
}

}  // namespace reprise::kernels
#endif
