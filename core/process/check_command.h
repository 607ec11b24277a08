#ifndef CORE_PROCESS_CHECK_COMMAND_H_
#define CORE_PROCESS_CHECK_COMMAND_H_

#include <string>

#include "absl/status/status.h"

namespace reprise {

// InvalidArgument, with a remedy, if the first program of a command of /bin/sh is plainly not there or not executable:
// it is a path, or a name that the shell does not know. What takes a shell to understand is left to the shell.
absl::Status CheckCommand(const std::string& command);

}  // namespace reprise

#endif  // CORE_PROCESS_CHECK_COMMAND_H_
