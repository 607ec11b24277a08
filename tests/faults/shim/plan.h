#ifndef TESTS_FAULTS_SHIM_PLAN_H_
#define TESTS_FAULTS_SHIM_PLAN_H_

// What the shim does to the program that it is loaded into, told by its environment:
//
//   FAULT_SHIM_DIRECTORY  files in it, and itself, are watched: an absolute path. Without it the shim does nothing.
//   FAULT_SHIM_RANK       only the rank of this number under mpirun; all processes where it is missing
//   FAULT_SHIM_MATCH      only calls whose text, "write run.h5", contains this
//   FAULT_SHIM_LOG        a file to which a line is added before each call: "17 write run.h5"
//   FAULT_SHIM_CALL       the number of the call that the fault befalls, counted from 0
//   FAULT_SHIM_FAULT      signal      the process gets FAULT_SHIM_SIGNAL before the call
//                         torn        it is killed; a write has written half of its bytes
//                         error       the call has no effect and fails with FAULT_SHIM_ERRNO
//                         error_from  so do all later ones
//                         short       a read or write transfers half of its bytes
//   FAULT_SHIM_ERRNO      the number of an error
//   FAULT_SHIM_SIGNAL     the number of a signal
//   FAULT_SHIM_AFTER      milliseconds from the start of the process to that signal, whatever it does then

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

// Of this process; read once.
const Plan& ThePlan();

// What a call is to do.
enum class Order { kProceed, kFail, kHalf, kHalfAndDie };

// Counts a call and says what it is to do; may not return. Thread-safe.
Order NextCall(const std::string& text);

[[noreturn]] void Die();

}  // namespace fault_shim

#endif  // TESTS_FAULTS_SHIM_PLAN_H_
