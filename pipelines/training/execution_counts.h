#ifndef PIPELINES_TRAINING_EXECUTION_COUNTS_H_
#define PIPELINES_TRAINING_EXECUTION_COUNTS_H_

// Counts what an execution did, over all ranks. Execution keys must not change a bit of a run, so these counts are the
// only evidence that a key took effect.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "rl/run/execution.h"

namespace reprise {

struct ExecutionCounts {
  // By their places in the last line of execution.jsonl, in its order: "a/b" is key b of the object a.
  std::vector<std::pair<std::string, int64_t>> by_name;
  int64_t process_restarts = 0;  // one of these: of the external process, after a failure
};

// What a communicator had sent when the execution began: it may have served other runs of this process before.
struct TrafficBefore {
  explicit TrafficBefore(const Communicator& comm) : all(comm.traffic()), exchange(comm.exchange_traffic()) {}
  const Traffic all, exchange;
};

// Collective; returns the same result on every rank. The arguments are this rank's.
absl::StatusOr<ExecutionCounts> SumOverRanks(Communicator& comm, const TrafficBefore& before,
                                             const rl::Execution& execution, const rl::RunParts& parts);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_EXECUTION_COUNTS_H_
