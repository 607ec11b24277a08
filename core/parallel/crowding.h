#ifndef CORE_PARALLEL_CROWDING_H_
#define CORE_PARALLEL_CROWDING_H_

// Whether more threads run than there are processors. A worker of a pool spins for a while before it sleeps, because it
// answers sooner; where the threads are too many, it would only keep a processor from the thread that it waits for.
// Decides when threads sleep, never what they compute.

namespace reprise {

// States that `ranks` processes, each with as many threads as this one, share `processors`. Until then this process has
// the processors on which it may be scheduled to itself.
void ShareProcessors(int processors, int ranks);

// Counts threads of this process that work together, or, with a negative number, that have ended.
void CountThreads(int threads);

bool IsCrowded();

}  // namespace reprise

#endif  // CORE_PARALLEL_CROWDING_H_
