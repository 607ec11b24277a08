#ifndef PIPELINES_TRAINING_TRAIN_RUN_H_
#define PIPELINES_TRAINING_TRAIN_RUN_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/comm/communicator.h"
#include "core/log/logger.h"
#include "data/artifact/format/run_header.h"
#include "rl/config/load.h"

namespace reprise {

struct TrainRequest {
  rl::ResolvedConfig config;   // checked (CheckConfig)
  std::string output;          // the run's directory
  std::string init_from = {};  // "RUN.h5", "RUN.h5@STEP" or a run's directory; empty: from the model's own weights
  // The files that the run must read (RunHeader::external_files), those of --init-from left out; none: any.
  std::vector<ExternalFile> files = {};
  bool resume = false;          // continues the run in `output`; else there must be none
  int64_t stop_after_step = 0;  // of training; 0: none
  bool check = false;           // only checks everything that can be checked before the first step
  // How to continue the run after the watchdog has ended it: "..., and REMEDY".
  absl::string_view remedy = "the same command with --resume continues the run";
  bool json = false;                             // prints a step's metrics on stdout, one object a line
  const std::atomic<bool>* interrupt = nullptr;  // if set, on any rank, the run ends after the current step
};

// What a run ends with. Digests are in hexadecimal.
struct TrainResult {
  std::string weights_sha256;  // of the exported model's weights
  std::string run_digest;
  std::string run_sha256;  // of the file run.h5
  int64_t steps = 0;       // of training
};

// Trains: writes `output`, with run.h5 and the exported model at the end. Collective; rank 0 writes files and logs, and
// returns the result (nullopt on other ranks, and after a check). InterruptedError if the run was interrupted: it can
// be resumed. A process may call this any number of times, one after the other, and teams of its ranks
// (Communicator::Split) at the same time; but a run whose run.reduction is "fast" must be the last of its process.
absl::StatusOr<std::optional<TrainResult>> TrainRun(const TrainRequest& request, Communicator& comm, Logger& logger);

}  // namespace reprise

#endif  // PIPELINES_TRAINING_TRAIN_RUN_H_
