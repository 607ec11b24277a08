#ifndef CORE_STATUS_CONDITIONS_H_
#define CORE_STATUS_CONDITIONS_H_

// Process exit codes, by which a person or a scheduler handles a failure, and the one condition that absl's codes do
// not have: an error of the file system.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace reprise {

enum ExitCode : int {
  kExitOk = 0,
  kExitDiffers = 1,         // a verdict: reproduce found a difference, or a gate failed
  kExitConfiguration = 64,  // usage, configuration, or a run that does not match
  kExitData = 65,           // bad or damaged data
  kExitInternal = 70,
  kExitIo = 74,     // disk full, unwritable directory, ...
  kExitRetry = 75,  // a peer was lost: Slurm requeues
};

// The exit code for a status: InvalidArgument, NotFound, AlreadyExists, FailedPrecondition -> 64; DataLoss,
// Unimplemented -> 65; ResourceExhausted and file errors -> 74; Unavailable -> 75; the rest -> 70.
ExitCode ExitCodeOf(const absl::Status& status);

// The status of a failed system call: "cannot <action> <path>: <text of errno>". ENOENT is NotFound, EEXIST
// AlreadyExists; ENOTDIR, EISDIR, ELOOP and ENAMETOOLONG, by which the path is wrong and not the disk, InvalidArgument
// with a remedy; ENOSPC, EDQUOT and ENOMEM ResourceExhausted, EACCES, EPERM and EROFS PermissionDenied, the rest
// Unknown. IsFileError() is true for all of them but NotFound, AlreadyExists and InvalidArgument.
absl::Status FileError(int error_number, absl::string_view action, absl::string_view path);
bool IsFileError(const absl::Status& status);

// `status` with "<context>: " in front of its message; code and payloads are kept.
absl::Status WithContext(const absl::Status& status, absl::string_view context);

}  // namespace reprise

#endif  // CORE_STATUS_CONDITIONS_H_
