#ifndef PIPELINES_WATCHDOG_PHASE_TIMES_H_
#define PIPELINES_WATCHDOG_PHASE_TIMES_H_

// What a rank does, how long it took so far, and after how long without a sign of life it counts as hung.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "rl/learner/step_observer.h"
#include "rl/record/step_record.h"

namespace reprise {

// A phase of a run: before and after its steps, or a stage of a step. kEvaluate is that of a program which evaluates
// weights and trains nothing. In kPlan, the file of a sweep and its configurations are read. kSweep is the phase of a
// program whose teams do runs of their own, which have watchdogs of their own: its ranks only watch each other.
struct RunPhase {
  enum Kind : int { kPrepare, kStart, kFinish, kPlan, kSweep, kEvaluate, kStep };
  Kind kind = kPrepare;
  rl::StepStage stage = rl::StepStage::kDraw;  // of kStep, like the next two
  rl::Phase of = rl::Phase::kTraining;
  int64_t step = 0;

  // A number below kNumRunPhases; all steps share those of their stages.
  int index() const;
  // "update of training step 17", "the start".
  std::string text() const;

  // The phase as one word, which threads can share.
  uint64_t Pack() const;
  static RunPhase Unpack(uint64_t word);
};
inline constexpr int kNumRunPhases = RunPhase::kStep + 2 * rl::kNumStepStages;

// The durations of each phase so far. One thread adds, any thread reads.
class PhaseTimes {
 public:
  void Add(int phase, int64_t nanoseconds);
  int64_t samples(int phase) const { return counts_[static_cast<size_t>(phase)].load(std::memory_order_relaxed); }
  // Returns an upper bound, by at most a quarter, of what 99 of 100 durations did not exceed; 0 without any.
  double P99Seconds(int phase) const;

 private:
  // Four buckets for each power of two.
  static constexpr size_t kBuckets = 256;
  std::array<std::array<std::atomic<uint32_t>, kBuckets>, kNumRunPhases> buckets_ = {};
  std::array<std::atomic<int64_t>, kNumRunPhases> counts_ = {};
};

// Returns the seconds without a sign of life after which a rank that is in `phase` counts as hung: five times the p99
// of the phase and at least `seconds`; six times `seconds` before the phase has 20 samples. Phases in which rank 0
// waits for disks have longer ones: six times `seconds` for a step's record, 60 times for a checkpoint, the start and
// the end. kPlan: 60 times. kEvaluate: six times. kPrepare, before the ranks can see each other's phases: 360 times.
// kSweep: infinite.
double PhaseLimit(const RunPhase& phase, bool is_writer, double seconds, const PhaseTimes& times);

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_PHASE_TIMES_H_
