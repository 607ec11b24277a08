#ifndef CORE_DIGEST_SHA256_PAIR_H_
#define CORE_DIGEST_SHA256_PAIR_H_

// Two SHA-256 digests for little more than the time of one. A digest is one chain of dependent instructions, which
// leaves the processor's SHA unit idle half of the time; a second chain beside it fills that half. OpenSSL computes one
// chain at a time. A training step digests two arrays of equal size, gradients and weights.

#include <array>
#include <cstddef>

#include "absl/types/span.h"
#include "core/digest/sha256.h"

namespace reprise {

// {Sha256(first), Sha256(second)}. The same bits on every processor; one after the other by OpenSSL where there are no
// SHA instructions. The sizes must be equal (checked).
std::array<Digest, 2> Sha256Pair(absl::Span<const std::byte> first, absl::Span<const std::byte> second);

}  // namespace reprise

#endif  // CORE_DIGEST_SHA256_PAIR_H_
