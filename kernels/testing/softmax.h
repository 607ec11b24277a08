#ifndef KERNELS_TESTING_SOFTMAX_H_
#define KERNELS_TESTING_SOFTMAX_H_

#include "kernels/contract/operands.h"

namespace reprise::kernels {

// The softmax of kernels/rows/softmax-inl.h for each row. y may be x.
void Softmax(const ConstRows& x, const Rows& y);

}  // namespace reprise::kernels

#endif  // KERNELS_TESTING_SOFTMAX_H_
