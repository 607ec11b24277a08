#ifndef KERNELS_ISA_READ_BANDWIDTH_H_
#define KERNELS_ISA_READ_BANDWIDTH_H_

namespace reprise::kernels {

// Bytes a second that this thread can read from memory that no cache holds: 256 MB in one ascending stream that is
// asked for ahead, on huge pages where the system has them. Takes about 50 ms; best of several measurements of the
// thread's processor time, as other programs only ever lower it.
double MeasureReadBandwidth();

}  // namespace reprise::kernels

#endif  // KERNELS_ISA_READ_BANDWIDTH_H_
