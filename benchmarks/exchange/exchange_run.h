#ifndef BENCHMARKS_EXCHANGE_EXCHANGE_RUN_H_
#define BENCHMARKS_EXCHANGE_EXCHANGE_RUN_H_

// The exchange of an update as the learner makes it: gradients summed to their owners, AdamW on what a rank owns, the
// weights back to all.

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"

namespace reprise::benchmarks {

struct ExchangeRun {
  double sum_seconds = 0, update_seconds = 0, gather_seconds = 0;  // medians; the slowest rank's
  Traffic traffic;                                                 // of one update: of the rank that sends the most
  double expected_bytes = 0;  // 8 N (R - 1) / R: what it is for equal ranks whose number is a power of two
  double seconds() const { return sum_seconds + update_seconds + gather_seconds; }
};

// Collective. A model of `units` equal matrices, `floats` in all, in `shards` >= ranks logical shards; the same result
// on every rank.
absl::StatusOr<ExchangeRun> RunExchange(Communicator& comm, int64_t floats, int64_t units, int shards, int repetitions);

// Bytes a second that one thread copies from memory to memory, reads and writes both counted.
double CopyBandwidth();

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_EXCHANGE_EXCHANGE_RUN_H_
