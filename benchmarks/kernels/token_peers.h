#ifndef BENCHMARKS_KERNELS_TOKEN_PEERS_H_
#define BENCHMARKS_KERNELS_TOKEN_PEERS_H_

// ATen's operators on tokens, on one thread, as peers ("aten") of the kernels; into existing results where possible.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/kernels/rate.h"

namespace reprise::benchmarks {

std::vector<Peer> EmbedPeers(absl::Span<const int32_t> token_T, int64_t width, int64_t vocabulary);  // index_select
std::vector<Peer> EmbedBackwardPeers(absl::Span<const int32_t> token_T, int64_t width,
                                     int64_t vocabulary);  // index_add

// Softmax and unsorted topk; the backward pass is autograd's.
std::vector<Peer> RouterPeers(int64_t tokens, int64_t experts, int64_t per_token);
std::vector<Peer> RouterBackwardPeers(int64_t tokens, int64_t experts, int64_t per_token);

// Sample one token of each row: softmax and multinomial, of all tokens (top_k 0) or of those that topk returns. They
// return neither a log-probability nor an entropy.
std::vector<Peer> SamplingPeers(int64_t rows, int64_t vocabulary, int64_t top_k);
std::vector<Peer> ArgmaxPeers(int64_t rows, int64_t vocabulary);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_TOKEN_PEERS_H_
