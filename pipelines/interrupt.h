#ifndef PIPELINES_INTERRUPT_H_
#define PIPELINES_INTERRUPT_H_

#include <atomic>

namespace reprise {

// Makes SIGTERM and SIGUSR1 (a cluster that wants its nodes back) a request to end after the step in work. A second
// signal of the same kind ends the process at once. The flag is set by either; call once, before the work.
const std::atomic<bool>& InterruptBySignals();

}  // namespace reprise

#endif  // PIPELINES_INTERRUPT_H_
