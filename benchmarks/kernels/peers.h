#ifndef BENCHMARKS_KERNELS_PEERS_H_
#define BENCHMARKS_KERNELS_PEERS_H_

// LibTorch's operators on one thread, as peers of the kernels. Inputs are random; every operator writes to memory that
// LibTorch allocates, so that it benefits from LibTorch's caching of memory.
//
//   mkl     at::mm, which calls MKL (on AMD's processors its AVX2 code)
//   onednn  the linear operator of LibTorch's oneDNN (AVX-512 everywhere), with weights packed beforehand
//   loop    one expert after another: gather, linear, SiLU, linear, scatter
//   sdpa    scaled_dot_product_attention

#include <cstdint>
#include <vector>

#include "benchmarks/kernels/rate.h"

namespace reprise::benchmarks {

std::vector<Peer> ForwardPeers(int64_t rows, int64_t n, int64_t k);         // x [rows, k] W [n, k]^T
std::vector<Peer> InputGradientPeers(int64_t rows, int64_t n, int64_t k);   // dy [rows, n] W [n, k]
std::vector<Peer> WeightGradientPeers(int64_t rows, int64_t n, int64_t k);  // dy [rows, n]^T x [rows, k]

// Tokens are distributed evenly to experts. The backward pass is autograd's, without the forward pass.
std::vector<Peer> ExpertsPeers(int64_t tokens, int64_t width, int64_t expert_width, int64_t experts, int64_t per_token,
                               bool backward);

// Attention of all `keys` positions (queries = keys), causal, or of the last one (queries = 1), neither of which needs
// a mask in memory; all heads, which are stored one after the other, in one call.
std::vector<Peer> AttentionPeers(int64_t heads, int64_t queries, int64_t keys, int64_t head_width, bool backward);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_PEERS_H_
