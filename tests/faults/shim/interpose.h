#ifndef TESTS_FAULTS_SHIM_INTERPOSE_H_
#define TESTS_FAULTS_SHIM_INTERPOSE_H_

// Building blocks of the functions that replace libc's.

#include <dlfcn.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "tests/faults/shim/plan.h"
#include "tests/faults/shim/watched.h"

namespace fault_shim {

// Returns libc's own function of that name.
template <typename Function>
Function* Real(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

// Calls `real`, unless `watched` is a watched path and the plan has a fault for this call.
template <typename Call>
auto Interpose(const char* action, const std::string& watched, const Call& real) -> decltype(real()) {
  if (watched.empty()) return real();
  switch (NextCall(std::string(action) + " " + watched)) {
    case Order::kFail:
      errno = ThePlan().error_number;
      if constexpr (std::is_pointer_v<decltype(real())>) {
        return nullptr;
      } else {
        return -1;
      }
    case Order::kHalfAndDie:
      Die();
    case Order::kProceed:
    case Order::kHalf:
      break;
  }
  return real();
}

// Does the same for a transfer of `size` bytes; `real` takes the number of bytes to transfer.
template <typename Call>
ssize_t InterposeTransfer(const char* action, int descriptor, size_t size, const Call& real) {
  const std::string watched = WatchedPath(descriptor);
  if (watched.empty()) return real(size);
  switch (NextCall(std::string(action) + " " + watched)) {
    case Order::kFail:
      errno = ThePlan().error_number;
      return -1;
    case Order::kHalfAndDie:
      if (size > 1 && std::string(action) == "write") real(size / 2);
      Die();
    case Order::kHalf:
      return real(size > 1 ? size / 2 : size);
    case Order::kProceed:
      break;
  }
  return real(size);
}

// Remembers the descriptor that a call that opens a file returned.
inline int Opened(int descriptor, const std::string& watched) {
  if (descriptor >= 0 && !watched.empty()) Remember(descriptor, watched);
  return descriptor;
}

}  // namespace fault_shim

#endif  // TESTS_FAULTS_SHIM_INTERPOSE_H_
