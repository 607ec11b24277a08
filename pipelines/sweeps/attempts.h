#ifndef PIPELINES_SWEEPS_ATTEMPTS_H_
#define PIPELINES_SWEEPS_ATTEMPTS_H_

// Attempts to execute a trial that end with the process (a crash, a kill by memory, a hang that the watchdog ended),
// and which of the trials that were executed at that time is to blame. A trial whose process always ends would
// otherwise end the sweep at every start.
//
// The file kAttemptsFile in a trial's folder is a durable log, which exists from the first attempt to the trial's end:
//
//   began EXECUTION STEP           before anything of the trial is executed; STEP is the last committed one, -1: none
//   stopped EXECUTION STEP         an attempt that ended in order, because the sweep was asked to stop
//   died EXECUTION STEP alone      noted by the next execution of the sweep, which finds an attempt that has not ended
//   died EXECUTION STEP beside     the same; attempts at other trials ended with it
//
// EXECUTION is that of the sweep, a random number. An attempt that committed a step is not to blame: it did what it was
// started for, and the next one begins later. Of those that did not, one that was executed alone has ended its process
// itself and is counted; one of several may have been killed by its neighbour. Those are not counted but suspected:
// whoever is suspected is executed last and alone (docs/sweeps.md), so that the next death tells.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/io/file_system.h"

namespace reprise {

inline constexpr char kAttemptsFile[] = "attempts.log";

struct Attempts {
  int64_t lost = 0;         // in a row: ended with the process, executed alone, without a newly committed step
  bool is_suspect = false;  // one has ended so, alone or beside others, since a step was last committed
  uint32_t execution = 0;   // of the last attempt
  int64_t step = -1;        // the last committed step when that began
  enum End : uint8_t { kNone, kOpen, kStopped, kDied } end = kNone;  // of that; kNone: there was no attempt
};

// Reads the log's text. Lines that are no entries, of which a kill may leave one, are skipped, and so is what another
// execution than that of the last attempt wrote of its end. Pure.
Attempts ReadAttempts(absl::string_view log);

// Returns the attempts at the trial whose folder this is; none without the file.
absl::StatusOr<Attempts> LoadAttempts(FileSystem& files, const std::string& directory);

// Each of these returns when the entry is on stable storage. `step`: the last committed one now. BeginAttempt creates
// the folder.
absl::Status BeginAttempt(FileSystem& files, const std::string& directory, uint32_t execution, int64_t step);
absl::Status StopAttempt(FileSystem& files, const std::string& directory, uint32_t execution, int64_t step);
absl::Status NoteDeath(FileSystem& files, const std::string& directory, uint32_t execution, int64_t step, bool alone);

// Removes the log: the trial has ended, well or with an error of its own.
absl::Status ForgetAttempts(FileSystem& files, const std::string& directory);

// The failure of a trial that has lost so many attempts, and is not tried again. Aborted. Pure.
absl::Status GivenUp(int64_t lost);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_ATTEMPTS_H_
