#ifndef BENCHMARKS_EXCHANGE_EXCHANGE_RUN_H_
#define BENCHMARKS_EXCHANGE_EXCHANGE_RUN_H_

// The exchange of an update as in the learner: gradients are summed at their owners, each rank updates the parameters
// that it owns by AdamW, and all ranks gather the weights.

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"

namespace reprise::benchmarks {

struct ExchangeRun {
  double sum_seconds = 0, update_seconds = 0, gather_seconds = 0;  // medians; the slowest rank's
  Traffic traffic;                                                 // of one update, on the rank that sends the most
  double expected_bytes = 0;  // 8 N (R - 1) / R: exact for equal ranks whose number is a power of two
  double seconds() const { return sum_seconds + update_seconds + gather_seconds; }
};

// Times updates of a model of `units` equal matrices, `floats` in total, in `shards` >= ranks logical shards.
// Collective; returns the same result on every rank.
absl::StatusOr<ExchangeRun> RunExchange(Communicator& comm, int64_t floats, int64_t units, int shards, int repetitions);

// Returns the bytes per second that one thread copies within memory, counting both reads and writes.
double CopyBandwidth();

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_EXCHANGE_EXCHANGE_RUN_H_
