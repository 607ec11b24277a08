#ifndef CORE_COMM_TESTING_THREAD_COMMUNICATOR_H_
#define CORE_COMM_TESTING_THREAD_COMMUNICATOR_H_

// Communicators for ranks that are threads of one process: any number of ranks without a launcher, for sanitizers and
// debuggers.

#include <functional>

#include "absl/status/status.h"
#include "core/comm/communicator.h"

namespace reprise {

// Calls work(communicator) on `ranks` threads, one per rank, and returns when all calls have returned.
//
// After a rank has returned, with any status, the collectives of other ranks that need it return Unavailable and name
// it, so that no rank hangs. Calls that do not match (in function, root or count) return Internal on every rank and
// name the first rank that differs from rank 0. A rank leaves a team (Communicator::Split) when its communicator is
// destroyed.
//
// Returns OK when all ranks did; else the status of the lowest rank whose code is neither OK nor Unavailable (the
// cause, not a rank that lost a peer because of it); else that of the lowest rank that is not OK. `work` must not
// throw.
absl::Status RunAsRanks(int ranks, const std::function<absl::Status(Communicator&)>& work);

}  // namespace reprise

#endif  // CORE_COMM_TESTING_THREAD_COMMUNICATOR_H_
