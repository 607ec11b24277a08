#ifndef TESTS_FAULTS_SMALL_RUN_H_
#define TESTS_FAULTS_SMALL_RUN_H_

// A run that the product's own program trains in well under a tenth of a second, with faults in its file calls.

#include <string>
#include <vector>

#include "tests/faults/injection.h"
#include "tests/programs/programs.h"

namespace reprise::testing {

struct SmallRun {
  ProcessResult process;
  std::string directory;          // absolute
  std::vector<LoggedCall> calls;  // that it made in its directory, up to its end

  // Of run.h5; empty if there is none.
  std::string run_bytes() const;
  // Of the exported weights; empty if there are none.
  std::string weights() const;
};

struct SmallRunOptions {
  std::vector<std::string> flags = {};
  std::string directory = "";  // absolute; a new one where empty
  int ranks = 1;
  std::string redirections = "";  // of a shell: "2>&-"; with any, the run is not quiet
};

// A run that trains beside the test.
struct StartedSmallRun {
  StartedProcess process;
  std::string directory;
  std::string log;
};

// The injection's directory and log are set, and with several ranks its rank is 0 where it has none.
StartedSmallRun StartSmallRun(Injection injection, const SmallRunOptions& options = {});

// The same to its end. A program that takes a minute is killed, and fails the test.
SmallRun TrainSmallRun(Injection injection, const SmallRunOptions& options = {});

// The run without faults. Fails the test that asks first where it cannot be made.
const SmallRun& UndisturbedRun();

// The places among `calls` that stand for all: of each distinct call text the first and the last.
std::vector<int64_t> RepresentativeCalls(const std::vector<LoggedCall>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_SMALL_RUN_H_
