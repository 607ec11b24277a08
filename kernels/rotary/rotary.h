#ifndef KERNELS_ROTARY_ROTARY_H_
#define KERNELS_ROTARY_ROTARY_H_

// Rotary position embedding (Su et al. 2021) in the half-split form of Hugging Face's rotate_half: pairs (j, j + D/2).

#include <cstdint>
#include <vector>

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// cos and sin of position * theta^(-2j/D), computed in double, rounded once. [positions, D/2] each.
struct RotaryTable {
  int64_t head_width = 0;
  std::vector<float> cos, sin;
};
// head_width must be even; theta > 0; every position * theta^(-2j/D) <= 2^30. About 50 ns per entry.
RotaryTable MakeRotaryTable(int64_t positions, int64_t head_width, double theta);

// Rotates every head of every row in place. x is [rows, heads * head_width]; 0 <= position_T[r] < positions. With a =
// x_j and b = x_(j + D/2):   a' = fma(a, cos, -(b sin)),  b' = fma(b, cos, a sin). The inverse (backward) negates sin.
void Rotate(const RotaryTable& table, const int32_t* position_T, const Rows& x);
void RotateBackward(const RotaryTable& table, const int32_t* position_T, const Rows& dx);

}  // namespace reprise::kernels

#endif  // KERNELS_ROTARY_ROTARY_H_
