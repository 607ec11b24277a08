#ifndef RL_COMPLETIONS_TRY_PROGRAM_H_
#define RL_COMPLETIONS_TRY_PROGRAM_H_

#include "absl/status/status.h"
#include "rl/completions/prepared_completions.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Calls the external process of process.command once, before a run relies on it, with the answer of a first problem:
// checks that it exists and that its replies are valid. The replies are not used. OK where the run has no external
// process. InvalidArgument, with a remedy, for a program that does not exist; else errors as ProcessClient::Ask.
absl::Status TryProgram(const Config& config, const PreparedCompletions& parts);

}  // namespace reprise::rl

#endif  // RL_COMPLETIONS_TRY_PROGRAM_H_
