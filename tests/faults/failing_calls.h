#ifndef TESTS_FAULTS_FAILING_CALLS_H_
#define TESTS_FAULTS_FAILING_CALLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/faults/injection.h"

namespace reprise::testing {

struct CallFault {
  std::string name;
  std::string fault;  // of Injection
  int error_number = 0;
  bool is_transient = false;  // whether a retry succeeds
};

// Returns the tested faults: full disk, broken disk, interrupted call, short transfer.
std::vector<CallFault> CallFaults();

// A new run, or the resumption of a run that was killed shortly before its end.
enum class Begin { kAfresh, kTakenUp };

// Returns the file calls that such a run makes.
const std::vector<LoggedCall>& RecordFileCalls(Begin begin);

// Trains the small run once for each of the calls, and makes that call fail. Fails the test unless each time either
//   the program exits with 0, and has written the bytes and printed the digests of the undisturbed run; or
//   it exits with 74, its message names the file, run.h5 is missing or equals the undisturbed run's, and the resumed
//   run ends like the undisturbed run.
// A fault that is not transient must have the second outcome, except in calls whose failure the program may ignore:
// those that look for a file, close one that is synced or removed, or remove an empty directory. Prints the number of
// calls with each outcome.
void ExpectEveryFailureIsHandled(Begin begin, const CallFault& fault, const std::vector<int64_t>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_FAILING_CALLS_H_
