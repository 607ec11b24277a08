#ifndef KERNELS_ATTENTION_ATTENTION_H_
#define KERNELS_ATTENTION_ATTENTION_H_

// Causal softmax attention of one head over the keys of a shared prefix (a prompt) followed by the sequence's own keys.
//
// Order contract, the same for decode, prefill and training, with j the absolute key index (prefix first). Chains are
// of fused multiply-adds and start at zero:
//   score_j = chain over head width of q_d k_jd;  m = max, never -0;  e_j = exp((score_j - m) * scale)
//   s = sum of e_j in 64 virtual lanes (lane = j mod 64), fixed tree;   out = (chain over ascending j of e_j v_j,
//   restarted every 512 absolute keys, partial sums added in order) * (1 / s)
// Backward: p_j = e_j * (1/s); dp_j = chain over head width of dout_d v_jd; D = sum of p_j dp_j in 64 lanes (each a
//   chain), fixed tree;
//   ds_j = p_j * (dp_j - D) * scale; dq = chain over ascending j of ds_j k_j, restarted every 512 absolute keys;
//   dk_j, dv_j = chains over the queries of one sequence that see key j, ascending, restarted every 512 queries of that
//   sequence (partial sums added in order). A prefix key's gradient adds the sequences' chains in the order of the
//   calls.

#include <cstdint>

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// Keys of one head, D wide. Panels are [ceil(count / 32)][D][32] (as PackForward of [count, D]); key j's element d is
// at panels[(j / 32) * D * 32 + d * 32 + j % 32]. Padding within the last panel may hold anything finite.
struct HeadKeys {
  ConstRows v;  // [count, D]
  const float* k_panels = nullptr;
  // Only for backward:
  ConstRows k = {};
  const float* v_panels = nullptr;

  int64_t count() const { return v.rows; }
};

// What the queries of one head attend to.
struct HeadContext {
  HeadKeys prefix = {}, own = {};
  float scale = 1;
};

int64_t KeyPanelFloats(int64_t count, int64_t head_width);  // floats that the panels of `count` keys need

// Writes keys `first` and following of one head into its panels (decode: one row; prefill: many).
void PackKeys(int64_t first, const ConstRows& k, float* panels);

// Prefetches the panels and rows that AttentionForward will read. Decoding calls it for the next head while it computes
// the current one: a token's keys are read once, and mostly from memory.
void PrefetchKeys(const HeadKeys& keys);

// Query i of q sees the whole prefix and own keys [0, first_own + i]; own.count() >= first_own + q.rows.
// statistics, if not null: [queries][2] = m and 1/s, for backward. scratch: AttentionScratch(...) floats.
int64_t AttentionScratch(int64_t queries, int64_t prefix_keys, int64_t own_keys, int64_t head_width);
void AttentionForward(const ConstRows& q, int64_t first_own, const HeadContext& context, const Rows& out,
                      float* statistics, float* scratch);

// The gradients of keys and values, [count, D] with equal strides, to which AttentionBackward adds: several query heads
// of one key head, and several sequences of one prefix, are called in order.
struct KeyGradients {
  Rows dk, dv;
};

// Gradients of one sequence's queries with first_own == 0 (training sees whole sequences). dq is assigned.
int64_t AttentionBackwardScratch(int64_t queries, int64_t prefix_keys, int64_t head_width);
void AttentionBackward(const ConstRows& q, const HeadContext& context, const float* statistics, const ConstRows& dout,
                       const Rows& dq, const KeyGradients& own, const KeyGradients& prefix, float* scratch);

}  // namespace reprise::kernels

#endif  // KERNELS_ATTENTION_ATTENTION_H_
