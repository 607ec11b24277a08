#ifndef CORE_DIGEST_SHA256_BATCH_H_
#define CORE_DIGEST_SHA256_BATCH_H_

// The SHA-256 of many messages on many threads: messages of equal size in parallel lanes, the largest first.

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "core/parallel/thread_pool.h"

namespace reprise {

// SHA-256 of up to 16 messages at once, a word of each in a lane of AVX-512's registers: faster than two chains by SHA
// instructions (BM_Sha256). A training step digests hundreds of arrays, many of them of one size.
inline constexpr size_t kSha256Lanes = 16;

// digests[i] = Sha256(messages[i]), of at most kSha256Lanes messages, all of one size (checked). The same bits on every
// processor; in pairs (core/digest/sha256_pair.h) where there is no AVX-512, or too few messages for it to pay.
void Sha256Lanes(absl::Span<const absl::Span<const std::byte>> messages, absl::Span<Digest> digests);

// Returns how many of `messages` messages of one size to pass at a time: as many as are digested in parallel.
size_t Sha256BatchSize(size_t messages);

// Returns Sha256 of each message, in their order; the same bits for any number of threads. Messages of equal size take
// less time where the processor has AVX-512 (Sha256Lanes). Must be called from outside the pool.
std::vector<Digest> Sha256Batch(absl::Span<const absl::Span<const std::byte>> messages, ThreadPool& pool);

}  // namespace reprise

#endif  // CORE_DIGEST_SHA256_BATCH_H_
