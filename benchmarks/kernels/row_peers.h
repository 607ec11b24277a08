#ifndef BENCHMARKS_KERNELS_ROW_PEERS_H_
#define BENCHMARKS_KERNELS_ROW_PEERS_H_

// ATen's operators on rows, on one thread, as peers ("aten") of the kernels. They write into existing results; an
// operator without such a form allocates memory that it has freed before ("faults aten" is 0).

#include <cstdint>
#include <vector>

#include "benchmarks/kernels/rate.h"

namespace reprise::benchmarks {

std::vector<Peer> SoftmaxPeers(int64_t rows, int64_t n);
std::vector<Peer> RmsNormPeers(int64_t rows, int64_t n);
std::vector<Peer> RmsNormBackwardPeers(int64_t rows, int64_t n);  // autograd's
std::vector<Peer> SiluGatePeers(int64_t rows, int64_t n);
std::vector<Peer> SiluGateBackwardPeers(int64_t rows, int64_t n);
std::vector<Peer> MeanOfRowsPeers(int64_t rows, int64_t n);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_ROW_PEERS_H_
