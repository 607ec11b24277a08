#ifndef TESTS_PROGRAMS_PROGRAMS_H_
#define TESTS_PROGRAMS_PROGRAMS_H_

// Runs Reprise's programs as users do: directly, or on several ranks under mpirun.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/programs/process.h"

namespace reprise::testing {

// How a program is executed. No value may change a bit of its result.
struct Execution {
  int ranks = 1;
  bool mpirun = false;                                // also use mpirun for one rank
  std::string isa = {};                               // REPRISE_ISA; empty: the machine's best
  std::map<std::string, std::string> variables = {};  // additional environment variables
};

// Runs a program and waits for its end. `arguments` begin with its path in the runfiles, such as "pipelines/train".
ProcessResult RunProgramOnRanks(const Execution& execution, const std::vector<std::string>& arguments);

// Starts a program and returns without waiting for its end.
StartedProcess StartProgramOnRanks(const Execution& execution, const std::vector<std::string>& arguments);

// The counts in the last line of execution.jsonl.
struct Counts {
  int64_t ranks = 0, threads = 0, avx2_ranks = 0, avx512_ranks = 0, micro_batches = 0, cut_groups = 0, prompt_rows = 0,
          completion_rows = 0, refills = 0, activation_bytes = 0, buckets = 0, early_buckets = 0, messages = 0,
          wire_bytes = 0, collectives = 0, exchange_messages = 0, exchange_bytes = 0, exchange_collectives = 0,
          process_starts = 0, process_restarts = 0, peak_memory = 0, segments = 0, states = 0;
};

struct TrainedRun {
  ProcessResult process;
  std::string directory;       // contains run.h5 and the other files
  std::string run_sha256;      // of run.h5
  std::string weights_sha256;  // of the exported weights
  Counts counts;

  std::string file() const { return directory + "/run.h5"; }
};

// Trains `config` with --set `overrides` into a new directory; `program` is train or a script that runs it. If the exit
// code is not 0 or the printed digests are not those of the files, fails the test; without an exit code of 0 and the
// final events, all members except `process` are empty.
TrainedRun Train(const std::string& config, const std::vector<std::string>& overrides, const Execution& execution,
                 const std::string& program = "pipelines/train");

// The place of the first difference that `reproduce` found.
struct FirstDifference {
  std::string phase, stage, tensor;
  int64_t step = 0;
};

struct Verdict {
  ProcessResult process;
  bool given = false;  // whether `reproduce` printed a verdict
  bool pass = false;
  int64_t steps_checked = 0;
  std::optional<FirstDifference> first;
};

// Runs `reproduce --json` and returns its verdict.
Verdict Reproduce(const std::string& run_file, const std::string& mode, const Execution& execution,
                  const std::vector<std::string>& flags = {});

}  // namespace reprise::testing

#endif  // TESTS_PROGRAMS_PROGRAMS_H_
