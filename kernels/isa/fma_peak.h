#ifndef KERNELS_ISA_FMA_PEAK_H_
#define KERNELS_ISA_FMA_PEAK_H_

namespace reprise::kernels {

// The rate of fused multiply-adds of independent vectors in registers on this thread, in GFLOP/s, on the instruction
// set in force: the most that a product of floats can reach. Takes about 10 ms; best of several measurements, as other
// programs and clocks only ever lower it.
double MeasureFmaPeak();

}  // namespace reprise::kernels

#endif  // KERNELS_ISA_FMA_PEAK_H_
