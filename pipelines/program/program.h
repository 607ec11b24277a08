#ifndef PIPELINES_PROGRAM_PROGRAM_H_
#define PIPELINES_PROGRAM_PROGRAM_H_

// Runs a verb's process: instruction set, ranks, the verb itself, its signals, what it prints, the exit code.

#include <atomic>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/comm/communicator.h"
#include "core/log/logger.h"
#include "nlohmann/json_fwd.hpp"
#include "pipelines/program/command_line.h"

namespace reprise {

// Must be the first call of every main, before any file is opened. Replaces closed descriptors 0, 1 and 2 by the null
// device: otherwise a file of the run would get such a descriptor, and printed text would be written to it. Makes a
// write beyond the file size limit (ulimit -f) return an error instead of raising a signal that ends the program. Ends
// the process with a sentence and kExitRetry where the stack's limit (ulimit -s) is below 1 MiB.
void PrepareProcess();

// Runs `verb` on every rank that the launcher started and returns the exit code: the verb's own (0, or 1 for
// "differs"), or that of its error, which rank 0 prints on stderr. `verb` must return the same status on every rank
// (core/comm/agree.h). The exit code is also written into the file that REPRISE_STATUS_FILE names
// (pipelines/program/status_file.h).
int RunProgram(const CommandLine& command_line,
               const std::function<absl::StatusOr<int>(Communicator& comm, Logger& logger)>& verb);

// The same for a verb that runs in one process, without the status file: InvalidArgument when several were started.
int RunOnOneRank(const CommandLine& command_line, const std::function<absl::StatusOr<int>(Logger& logger)>& verb);

// Makes SIGINT (Ctrl-C), SIGTERM and SIGUSR1 (sent by a cluster that reclaims its nodes) a request to stop after the
// current step; for SIGINT a line is printed on stderr. A second signal of the same kind ends the process at once, but
// for SIGUSR1, which the launcher repeats. Each signal sets the returned flag. Must be called once, before the work.
const std::atomic<bool>& InterruptBySignals();

// The clock that pipelines pass to code that measures time: monotonic seconds from an arbitrary origin.
double Seconds();

// Prints a verb's result on stdout. Parts of it may come from files and processes: terminal control characters are
// escaped (core/status/printable.h), but for line feeds, which are the caller's: it passes names through Printable.
void PrintText(absl::string_view text);

// Prints an object as one line on stdout. Bytes that are not UTF-8, which paths and a model's text may contain, become
// U+FFFD; numbers that JSON cannot express become null; U+007F to U+009F, which terminals interpret as control
// characters, become \u007f to \u009f as other control characters do.
void PrintJsonLine(const nlohmann::ordered_json& object);

// Prints an error in the format of all verbs, in one line (core/status/printable.h), and returns its exit code.
int PrintError(const CommandLine& command_line, const absl::Status& status);

}  // namespace reprise

#endif  // PIPELINES_PROGRAM_PROGRAM_H_
