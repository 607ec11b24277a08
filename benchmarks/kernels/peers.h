#ifndef BENCHMARKS_KERNELS_PEERS_H_
#define BENCHMARKS_KERNELS_PEERS_H_

// LibTorch's operators on one thread, as peers of the kernels. Inputs are random; every operator writes what LibTorch
// gives it, so that its caching of memory counts for it.
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

// Tokens are dealt to experts evenly. Backward is autograd's, without the forward pass.
std::vector<Peer> ExpertsPeers(int64_t tokens, int64_t width, int64_t expert_width, int64_t experts, int64_t per_token,
                               bool backward);

// All of `keys` positions (queries = keys), causal, or the last one (queries = 1): what takes no mask in memory; all
// heads in one call, which lie one after the other.
std::vector<Peer> AttentionPeers(int64_t heads, int64_t queries, int64_t keys, int64_t head_width, bool backward);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_PEERS_H_
