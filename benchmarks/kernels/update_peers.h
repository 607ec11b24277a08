#ifndef BENCHMARKS_KERNELS_UPDATE_PEERS_H_
#define BENCHMARKS_KERNELS_UPDATE_PEERS_H_

// ATen's operators of an update, on one thread, as peers ("aten") of the kernels, into existing results. ATen may sum
// in any order.

#include <cstdint>
#include <vector>

#include "benchmarks/kernels/rate.h"

namespace reprise::benchmarks {

std::vector<Peer> SumPeers(int64_t doubles);
std::vector<Peer> NormPeers(int64_t floats);  // linalg_vector_norm, in floats
std::vector<Peer> AddPeers(int64_t floats);
std::vector<Peer> AdamWPeers(int64_t floats);  // _fused_adamw_, which is torch.optim.AdamW(fused=True)
// torch.optim.Muon's iterations, in floats instead of bfloat16, of a copy of the matrix.
std::vector<Peer> NewtonSchulzPeers(int64_t rows, int64_t width, int64_t steps);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_UPDATE_PEERS_H_
