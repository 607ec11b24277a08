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
  bool is_transient = false;  // whether trying again helps
};

// Full disk, broken disk, interrupted call, short transfer.
std::vector<CallFault> CallFaults();

// A run that is begun, or one that was killed shortly before its end and is taken up.
enum class Begin { kAfresh, kTakenUp };

// The calls that such a run makes.
const std::vector<LoggedCall>& CallsOf(Begin begin);

// Trains the small run once for each of the calls, which fails then. Fails the test unless every time
//   the program ends with 0, and has written the bytes and told the digests of the undisturbed run; or
//   it ends with 74, names the file, there is no run.h5 but the undisturbed run's, and taken up it ends as that.
// Only the second where the fault is not transient, but for calls that it can do without: those that look for a file,
// close one that is synced or removed, or remove an empty directory. Prints how many ended how.
void ExpectEveryFailureIsHandled(Begin begin, const CallFault& fault, const std::vector<int64_t>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_FAILING_CALLS_H_
