#ifndef PIPELINES_WATCHDOG_WATCHDOG_H_
#define PIPELINES_WATCHDOG_WATCHDOG_H_

// Ends a run in which a rank hangs, is stopped, or has died (docs/watchdog.md): every rank that still answers writes a
// report, one prints a sentence, and the process exits with kExitRetry. Each rank has one, with a thread of its own
// that never calls MPI.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/comm/communicator.h"
#include "pipelines/watchdog/phase_times.h"
#include "rl/learner/step_observer.h"

namespace reprise {

// What is watched, for the sentence of an alarm: "the watchdog ended the NAME: ..., and REMEDY". Both outlive the
// watchdog.
struct WatchedWork {
  absl::string_view name = "run";
  absl::string_view remedy = "the same command with --resume continues the run";
};

class Watchdog : public rl::StepObserver {
 public:
  // Begins in RunPhase::kPrepare. seconds: execution.watchdog_seconds. `comm`, whose rank this is, must outlive the
  // result. ResourceExhausted if the system starts no more threads.
  static absl::StatusOr<std::unique_ptr<Watchdog>> Start(const Communicator& comm, double seconds,
                                                         const WatchedWork& work = {});
  // Ends the watch: this rank has left the run.
  ~Watchdog() override;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From now on the ranks see each other, through files in `output`/watchdog. Collective over the communicator. Never
  // fails because of the files: a rank without them watches itself.
  absl::Status WatchOthers(Communicator& comm, const std::string& output);

  // A phase begins, and the one before it has ended. Takes less than a microsecond. Called by one thread.
  void Enter(const RunPhase& phase);
  void OnStage(rl::StepStage stage, rl::Phase phase, int64_t step) override {
    Enter({.kind = RunPhase::kStep, .stage = stage, .of = phase, .step = step});
  }

 private:
  class Watch;  // the thread's own

  // What the run's thread tells the watching one.
  struct Shared {
    std::atomic<uint64_t> phase{0};
    std::atomic<int64_t> phases{0};
    std::atomic<int64_t> attended_ns{0};  // the watching thread's, against suspensions
    std::atomic<bool> stop{false};
    PhaseTimes times;

    std::mutex mutex;
    std::string output, execution;  // guarded by `mutex`; empty until WatchOthers
  };

  Watchdog(const Communicator& comm, double seconds, const WatchedWork& work);

  Shared shared_;
  std::unique_ptr<Watch> watch_;
  std::thread thread_;
  int64_t begin_ns_ = 0, begin_attended_ns_ = 0;  // of the current phase
  const int64_t slack_ns_;                        // by which attended time may lag behind
};

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_WATCHDOG_H_
