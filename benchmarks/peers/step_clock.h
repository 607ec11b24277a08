#ifndef BENCHMARKS_PEERS_STEP_CLOCK_H_
#define BENCHMARKS_PEERS_STEP_CLOCK_H_

#include <time.h>

namespace reprise::benchmarks {

// The time of the machine, or, for a single thread, of its processor, which excludes other processes' turns.
class StepClock {
 public:
  explicit StepClock(int threads) : id_(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC) {}
  double Seconds() const {
    timespec now = {};
    clock_gettime(id_, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

 private:
  const clockid_t id_;
};

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_PEERS_STEP_CLOCK_H_
