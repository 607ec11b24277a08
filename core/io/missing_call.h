#ifndef CORE_IO_MISSING_CALL_H_
#define CORE_IO_MISSING_CALL_H_

#include <cerrno>

namespace reprise {

// Returns whether a call on a file failed with this errno because its file system lacks the call, as FUSE, network and
// shared folders do (Lustre without its mount option flock, NFS without a lock daemon, CIFS, vboxsf). A call that can
// fail so for a reason of its own is judged by its caller: EPERM of link(2), EBADF of fsync(2) of a directory.
inline bool IsMissingCall(int error) {
  return error == EINVAL || error == ENOSYS || error == ENOTSUP || error == ENODEV || error == ENOLCK;
}

}  // namespace reprise

#endif  // CORE_IO_MISSING_CALL_H_
