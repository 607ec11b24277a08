#ifndef TESTS_FAULTS_FAILING_CALLS_H_
#define TESTS_FAULTS_FAILING_CALLS_H_

#include <string>
#include <vector>

namespace reprise::testing {

struct CallFault {
  std::string name;
  std::string fault;  // of Injection
  int error_number = 0;
  bool is_transient = false;  // whether trying again helps
};

// Full disk, broken disk, interrupted call, short transfer.
std::vector<CallFault> CallFaults();

// Trains the small run once for each of the calls, which fails then. Fails the test unless every time
//   the program ends with 0 and has written the bytes, and told the digests, of the undisturbed run (only where the
//   fault is transient or the call looks for a file); or
//   it ends with 74, names the file, and there is no run.h5 but the undisturbed run's.
// Prints how many ended how.
void ExpectEveryFailureIsHandled(const CallFault& fault, const std::vector<int64_t>& calls);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_FAILING_CALLS_H_
