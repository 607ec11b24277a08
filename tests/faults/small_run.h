#ifndef TESTS_FAULTS_SMALL_RUN_H_
#define TESTS_FAULTS_SMALL_RUN_H_

// A run that the `train` program completes in well under a tenth of a second, with faults in its file calls.

#include <map>
#include <string>
#include <vector>

#include "tests/faults/injection.h"
#include "tests/programs/programs.h"
#include "tests/workloads/workloads.h"

namespace reprise::testing {

struct SmallRun {
  ProcessResult process;
  std::string directory;          // absolute
  std::vector<LoggedCall> calls;  // all that it made in its directory

  // Returns the bytes of run.h5; empty if it does not exist.
  std::string run_bytes() const;
  // Returns the bytes of the exported weights; empty if they do not exist.
  std::string weights() const;
};

struct SmallRunOptions {
  std::vector<std::string> flags = {};
  std::string directory = "";  // absolute; empty: a new one
  int ranks = 1;
  std::string redirections = "";  // of a shell, such as "2>&-"; with any, --quiet is not given
  std::string config = Workloads().front().quick;
  std::map<std::string, std::string> variables = {};  // of the environment
};

// A run that trains in another process while the test continues.
struct StartedSmallRun {
  StartedProcess process;
  std::string directory;
  std::string log;
};

// Starts a run. Sets the injection's directory and log and, with several ranks and no rank in the injection, rank 0.
StartedSmallRun StartSmallRun(Injection injection, const SmallRunOptions& options = {});

// Starts a run and waits for its end. A program that takes a minute is killed, and the test fails.
SmallRun TrainSmallRun(Injection injection, const SmallRunOptions& options = {});

// Returns the quick run of a workload without faults. If it cannot be made, the first test that calls this fails.
const SmallRun& UndisturbedRun(const TestedWorkload& workload = Workloads().front());

// Returns the indices of the calls that represent all: of each distinct call text the first and the last.
std::vector<int64_t> RepresentativeCalls(const std::vector<LoggedCall>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_SMALL_RUN_H_
