#include "pipelines/watchdog/phase_times.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr int64_t kSamples = 20;  // fewer say little about a phase

}  // namespace

int RunPhase::index() const {
  if (kind != kStep) return kind;
  return kStep + static_cast<int>(stage) + (of == rl::Phase::kSft ? 0 : rl::kNumStepStages);
}

std::string RunPhase::text() const {
  if (kind == kPrepare) return "its preparation";
  if (kind == kStart) return "the run's start";
  if (kind == kFinish) return "the run's end";
  if (kind == kPlan) return "the plan of the sweep";
  if (kind == kSweep) return "the trials of the sweep";
  if (kind == kEvaluate) return "the evaluation";
  return absl::StrCat(rl::NameOf(stage), of == rl::Phase::kSft ? " of SFT step " : " of training step ", step);
}

uint64_t RunPhase::Pack() const {
  return static_cast<uint64_t>(kind) | static_cast<uint64_t>(stage) << 3 |
         (of == rl::Phase::kSft ? uint64_t{0} : uint64_t{1}) << 6 | static_cast<uint64_t>(step) << 8;
}

RunPhase RunPhase::Unpack(uint64_t word) {
  return {.kind = static_cast<Kind>(word & 7),
          .stage = static_cast<rl::StepStage>(word >> 3 & 7),
          .of = (word >> 6 & 1) == 0 ? rl::Phase::kSft : rl::Phase::kTraining,
          .step = static_cast<int64_t>(word >> 8)};
}

void PhaseTimes::Add(int phase, int64_t nanoseconds) {
  const uint64_t value = static_cast<uint64_t>(std::max<int64_t>(nanoseconds, 4));
  const int octave = std::bit_width(value);  // >= 3
  const size_t bucket = static_cast<size_t>(octave) * 4 + (value >> (octave - 3) & 3);
  std::atomic<uint32_t>& count = buckets_[static_cast<size_t>(phase)][bucket];
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic<int64_t>& all = counts_[static_cast<size_t>(phase)];
  all.store(all.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

double PhaseTimes::P99Seconds(int phase) const {
  const int64_t above = samples(phase) / 100;  // samples that may be longer
  int64_t passed = 0;
  for (size_t bucket = kBuckets; bucket-- > 0;) {
    passed += buckets_[static_cast<size_t>(phase)][bucket].load(std::memory_order_relaxed);
    if (passed <= above) continue;
    const int octave = static_cast<int>(bucket / 4);
    return static_cast<double>(uint64_t{5} + bucket % 4) * static_cast<double>(uint64_t{1} << (octave - 3)) * 1e-9;
  }
  return 0;
}

double PhaseLimit(const RunPhase& phase, bool is_writer, double seconds, const PhaseTimes& times) {
  if (phase.kind == RunPhase::kPrepare) return 360 * seconds;
  if (phase.kind == RunPhase::kSweep) return std::numeric_limits<double>::infinity();
  if (phase.kind == RunPhase::kEvaluate) return 6 * seconds;
  if (phase.kind != RunPhase::kStep) return 60 * seconds;
  const int index = phase.index();
  double least = times.samples(index) < kSamples ? 6 * seconds : seconds;
  if (is_writer && phase.stage == rl::StepStage::kCommit) least = 6 * seconds;
  if (is_writer && phase.stage == rl::StepStage::kSave) least = 60 * seconds;
  return std::max(least, 5 * times.P99Seconds(index));
}

}  // namespace reprise
