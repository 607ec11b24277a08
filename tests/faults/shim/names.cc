// Calls on the names of files.

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/shim/interpose.h"

namespace {

using fault_shim::Interpose;
using fault_shim::Real;
using fault_shim::Watched;

// Returns "old new", or an empty string unless both paths are watched.
std::string Both(const std::string& from, const std::string& to) {
  return from.empty() || to.empty() ? "" : from + " " + to;
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) noexcept {
  static auto* const real = Real<int(const char*, const char*)>("rename");
  return Interpose("rename", Both(Watched(AT_FDCWD, from), Watched(AT_FDCWD, to)), [&] { return real(from, to); });
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned int flags) noexcept {
  static auto* const real = Real<int(int, const char*, int, const char*, unsigned int)>("renameat2");
  return Interpose("rename", Both(Watched(from_directory, from), Watched(to_directory, to)),
                   [&] { return real(from_directory, from, to_directory, to, flags); });
}

int link(const char* from, const char* to) noexcept {
  static auto* const real = Real<int(const char*, const char*)>("link");
  return Interpose("link", Both(Watched(AT_FDCWD, from), Watched(AT_FDCWD, to)), [&] { return real(from, to); });
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) noexcept {
  static auto* const real = Real<int(int, const char*, int, const char*, int)>("linkat");
  return Interpose("link", Both(Watched(from_directory, from), Watched(to_directory, to)),
                   [&] { return real(from_directory, from, to_directory, to, flags); });
}

int unlink(const char* path) noexcept {
  static auto* const real = Real<int(const char*)>("unlink");
  return Interpose("remove", Watched(AT_FDCWD, path), [&] { return real(path); });
}

int unlinkat(int directory, const char* path, int flags) noexcept {
  static auto* const real = Real<int(int, const char*, int)>("unlinkat");
  return Interpose("remove", Watched(directory, path), [&] { return real(directory, path, flags); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = Real<int(const char*, mode_t)>("mkdir");
  return Interpose("mkdir", Watched(AT_FDCWD, path), [&] { return real(path, mode); });
}

int rmdir(const char* path) noexcept {
  static auto* const real = Real<int(const char*)>("rmdir");
  return Interpose("rmdir", Watched(AT_FDCWD, path), [&] { return real(path); });
}

int stat(const char* path, struct stat* info) noexcept {
  static auto* const real = Real<int(const char*, struct stat*)>("stat");
  return Interpose("find", Watched(AT_FDCWD, path), [&] { return real(path, info); });
}

DIR* opendir(const char* path) {
  static auto* const real = Real<DIR*(const char*)>("opendir");
  return Interpose("list", Watched(AT_FDCWD, path), [&] { return real(path); });
}

}  // extern "C"
