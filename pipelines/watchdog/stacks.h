#ifndef PIPELINES_WATCHDOG_STACKS_H_
#define PIPELINES_WATCHDOG_STACKS_H_

#include <string>

namespace reprise {

// Prepares this process for StacksOfThisProcess: what could need memory or locks later is done now. Call before threads
// that may hang are started.
void PrepareStacks();

// Returns the stacks of this process's threads other than the caller, as text: each thread by its number and name, the
// innermost function first. A thread writes its own stack down in a signal handler; one that does not within `seconds`
// in all is named without a stack. For a process that is about to end: a system call that is interrupted may fail.
std::string StacksOfThisProcess(double seconds);

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_STACKS_H_
