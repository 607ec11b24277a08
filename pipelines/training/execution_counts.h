#ifndef PIPELINES_TRAINING_EXECUTION_COUNTS_H_
#define PIPELINES_TRAINING_EXECUTION_COUNTS_H_

// Counts what an execution did, over all ranks. Execution keys must not change a bit of a run, so these counts are the
// only evidence that a key took effect.

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "rl/environments/process/process_client.h"
#include "rl/learner/learner.h"

namespace reprise {

struct ExecutionCounts {
  int64_t ranks = 0;
  int64_t threads = 0;                           // over all ranks
  int64_t avx2_ranks = 0, avx512_ranks = 0;      // by the instruction set of their kernels
  int64_t micro_batches = 0, cut_groups = 0;     // in computing gradients
  int64_t prompt_rows = 0, completion_rows = 0;  // through its forward passes
  int64_t refills = 0;                           // completions that reused another's slot
  int64_t activation_bytes = 0;                  // used by training
  int64_t buckets = 0, early_buckets = 0;        // of sent gradients; sent while their ranks still computed
  // Sent to other ranks, as core/comm/communicator.h counts, and the calls that did so; then, of these, the exchange of
  // gradients, weights and the optimizer's state.
  int64_t messages = 0, wire_bytes = 0, collectives = 0;
  int64_t exchange_messages = 0, exchange_bytes = 0, exchange_collectives = 0;
  int64_t process_starts = 0, process_restarts = 0;  // of the external process; after a failure
  int64_t peak_memory = 0;                           // bytes of physical memory; the maximum over ranks
  int64_t segments = 0, states = 0;                  // of the run at its end, and written; on rank 0
};

// Collective; returns the same result on every rank. The arguments are this rank's; `process` is null without an
// external process.
absl::StatusOr<ExecutionCounts> SumOverRanks(Communicator& comm, int threads, const rl::LearnerCounts& learner,
                                             int64_t refills, const rl::ProcessClient* process);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_EXECUTION_COUNTS_H_
