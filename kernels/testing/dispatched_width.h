#ifndef KERNELS_TESTING_DISPATCHED_WIDTH_H_
#define KERNELS_TESTING_DISPATCHED_WIDTH_H_

namespace reprise::testing {

// Floats a vector of the code that a kernel call reaches now: 8 for AVX2, 16 for AVX-512.
int DispatchedWidth();

}  // namespace reprise::testing

#endif  // KERNELS_TESTING_DISPATCHED_WIDTH_H_
