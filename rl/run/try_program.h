#ifndef RL_RUN_TRY_PROGRAM_H_
#define RL_RUN_TRY_PROGRAM_H_

#include "absl/status/status.h"
#include "rl/config/config.h"
#include "rl/run/prepare.h"

namespace reprise::rl {

// Asks the program of process.command once, before a run relies on it: whether it is there, and whether its replies are
// such, to the answer of a first problem. The replies are used for nothing. OK where the run has no program.
// InvalidArgument, with a remedy, for a program that is plainly not there; else as ProcessClient::Ask.
absl::Status TryProgram(const Config& config, const RunParts& parts);

}  // namespace reprise::rl

#endif  // RL_RUN_TRY_PROGRAM_H_
