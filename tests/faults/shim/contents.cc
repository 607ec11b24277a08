// Calls on the contents of files. Calls within libc (stdio, opendir's descriptors) are not intercepted.

#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/faults/shim/interpose.h"

namespace {

using fault_shim::Forget;
using fault_shim::Interpose;
using fault_shim::InterposeTransfer;
using fault_shim::Opened;
using fault_shim::Real;
using fault_shim::Watched;
using fault_shim::WatchedPath;

int Open(int directory, const char* path, int flags, mode_t mode) {
  static auto* const real = Real<int(int, const char*, int, ...)>("openat");
  const std::string watched = Watched(directory, path);
  const char* const action = (flags & O_CREAT) != 0 ? "create" : "open";
  return Opened(Interpose(action, watched, [&] { return real(directory, path, flags, mode); }), watched);
}

// Returns the mode argument of an open call that may create a file, otherwise 0.
mode_t ReadMode(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ReadMode(flags, arguments);
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ReadMode(flags, arguments);
  va_end(arguments);
  return Open(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ReadMode(flags, arguments);
  va_end(arguments);
  return Open(directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ReadMode(flags, arguments);
  va_end(arguments);
  return Open(directory, path, flags, mode);
}

int creat(const char* path, mode_t mode) { return Open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char* path, mode_t mode) { return Open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

ssize_t write(int fd, const void* bytes, size_t size) {
  static auto* const real = Real<ssize_t(int, const void*, size_t)>("write");
  return InterposeTransfer("write", fd, size, [&](size_t n) { return real(fd, bytes, n); });
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  static auto* const real = Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return InterposeTransfer("write", fd, size, [&](size_t n) { return real(fd, bytes, n, offset); });
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) { return pwrite(fd, bytes, size, offset); }

ssize_t read(int fd, void* bytes, size_t size) {
  static auto* const real = Real<ssize_t(int, void*, size_t)>("read");
  return InterposeTransfer("read", fd, size, [&](size_t n) { return real(fd, bytes, n); });
}

ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  static auto* const real = Real<ssize_t(int, void*, size_t, off_t)>("pread");
  return InterposeTransfer("read", fd, size, [&](size_t n) { return real(fd, bytes, n, offset); });
}

ssize_t pread64(int fd, void* bytes, size_t size, off64_t offset) { return pread(fd, bytes, size, offset); }

int ftruncate(int fd, off_t size) {
  static auto* const real = Real<int(int, off_t)>("ftruncate");
  return Interpose("truncate", WatchedPath(fd), [&] { return real(fd, size); });
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int fsync(int fd) {
  static auto* const real = Real<int(int)>("fsync");
  return Interpose("sync", WatchedPath(fd), [&] { return real(fd); });
}

int fdatasync(int fd) {
  static auto* const real = Real<int(int)>("fdatasync");
  return Interpose("sync", WatchedPath(fd), [&] { return real(fd); });
}

// A close that fails has still closed the descriptor, as on Linux.
int close(int fd) {
  static auto* const real = Real<int(int)>("close");
  const std::string watched = WatchedPath(fd);
  if (watched.empty()) return real(fd);
  Forget(fd);
  const int result = Interpose("close", watched, [] { return 0; });
  const int error_number = errno;
  const int closed = real(fd);
  if (result == 0) return closed;
  errno = error_number;
  return result;
}

}  // extern "C"
