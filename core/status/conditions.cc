#include "core/status/conditions.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr char kFileErrorUrl[] = "type.reprise/file-error";

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
      return absl::StatusCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kUnknown;
  }
}

// What to do about a path that cannot be one; "" for other errors.
absl::string_view RemedyOf(int error_number) {
  switch (error_number) {
    case ENOTDIR:
      return "; a part of the path is a file: correct the path";
    case EISDIR:
      return "; a file belongs there: move the directory away, or correct the path";
    case ELOOP:
      return "; links lead in a circle: remove one of them, or correct the path";
    case ENAMETOOLONG:
      return "; choose a shorter name";
    case ENXIO:
      return "; it is a socket, a pipe that nothing reads, or a device that does not exist: give the path of a file";
    default:
      return "";
  }
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (IsFileError(status)) return kExitIo;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
      return kExitConfiguration;
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kAborted:  // an external program ended, or gave no reply in time
    case absl::StatusCode::kDeadlineExceeded:
      return kExitData;
    case absl::StatusCode::kResourceExhausted:
      return kExitIo;
    case absl::StatusCode::kUnavailable:
      return kExitRetry;
    default:
      return kExitInternal;
  }
}

absl::Status FileError(int error_number, absl::string_view action, absl::string_view path) {
  const absl::StatusCode code = CodeOfErrno(error_number);
  absl::Status status(
      code, absl::StrCat("cannot ", action, " ", path, ": ", std::strerror(error_number), RemedyOf(error_number)));
  if (code != absl::StatusCode::kNotFound && code != absl::StatusCode::kAlreadyExists &&
      code != absl::StatusCode::kInvalidArgument) {
    status.SetPayload(kFileErrorUrl, absl::Cord(absl::StrCat(error_number)));
  }
  return status;
}

bool IsFileError(const absl::Status& status) { return status.GetPayload(kFileErrorUrl).has_value(); }

absl::Status WithContext(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace reprise
