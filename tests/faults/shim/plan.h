#ifndef TESTS_FAULTS_SHIM_PLAN_H_
#define TESTS_FAULTS_SHIM_PLAN_H_

// The shim's actions in the program into which it is loaded, as given by environment variables:
//
//   FAULT_SHIM_DIRECTORY  an absolute path; the directory and the files in it are watched. Without it the shim does
//                         nothing.
//   FAULT_SHIM_RANK       only this rank under mpirun is watched; without it, all processes are
//   FAULT_SHIM_MATCH      only calls whose text (such as "write run.h5") contains this count
//   FAULT_SHIM_LOG        a file to which a line is added before each call: "17 write run.h5"
//   FAULT_SHIM_CALL       the number of the call in which the fault occurs, counted from 0
//   FAULT_SHIM_FAULT      signal      the process gets FAULT_SHIM_SIGNAL before the call
//                         torn        the process is killed before the call; a write has written half of its bytes
//                         error       the call has no effect and fails with FAULT_SHIM_ERRNO
//                         error_from  this call and all later ones have no effect and fail with FAULT_SHIM_ERRNO
//                         short       a read or write transfers half of its bytes
//   FAULT_SHIM_ERRNO      the number of an error
//   FAULT_SHIM_SIGNAL     the number of a signal
//   FAULT_SHIM_HANGS      if set, SIGRTMIN + 1 makes the thread that gets it, usually the main one, loop for ever, and
//                         SIGRTMIN + 2 makes it sleep for ever, in every process
//   FAULT_SHIM_AFTER      milliseconds from the start of the process to that signal, independently of its calls

#include <cstdint>
#include <string>

namespace fault_shim {

enum class Fault { kNone, kSignal, kTorn, kError, kErrorFrom, kShort };

struct Plan {
  std::string directory;  // empty: does nothing
  std::string match;
  int log = -1;  // descriptor
  int64_t call = -1;
  Fault fault = Fault::kNone;
  int error_number = 0, signal = 0;
  int64_t signal_after_ms = -1;
};

// Returns the plan of this process. The environment is read once.
const Plan& ThePlan();

// What an intercepted call must do.
enum class Order { kProceed, kFail, kHalf, kHalfAndDie };

// Counts a call and returns what it must do. Does not return if the fault kills the process. Thread-safe.
Order NextCall(const std::string& text);

[[noreturn]] void Die();

}  // namespace fault_shim

#endif  // TESTS_FAULTS_SHIM_PLAN_H_
