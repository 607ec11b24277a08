#ifndef KERNELS_ISA_PEAKS_H_
#define KERNELS_ISA_PEAKS_H_

// What the processor can do at most: the limits that benchmarks compare kernels with.

namespace reprise::kernels {

// Returns the rate of fused multiply-adds of independent vectors in registers on this thread, in GFLOP/s, with the
// active instruction set: the upper bound for a product of floats. Takes about 10 ms; returns the best of several
// measurements, because other programs and lower clock rates only reduce it.
double MeasureFmaPeak();

// Returns the bytes per second that this thread can read from memory that is not cached: 256 MB in one ascending
// prefetched stream, on huge pages where the system has them. Takes about 50 ms; returns the best of several
// measurements of the thread's processor time, because other programs only reduce it.
double MeasureReadBandwidth();

}  // namespace reprise::kernels

#endif  // KERNELS_ISA_PEAKS_H_
