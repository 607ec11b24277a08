#include "core/comm/mpi/start_guard.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/conditions.h"

namespace reprise {
namespace {

std::atomic<const StartGuard*> living = nullptr;
static_assert(std::atomic<const StartGuard*>::is_always_lock_free);

// exit(3) calls this, _exit(2) does not.
void EndGuarded() {
  const StartGuard* const guard = living.load();
  if (guard != nullptr && guard->Guards()) ::_exit(kExitRetry);
}

}  // namespace

StartGuard::StartGuard(const std::string& sentence)
    : process_(::getpid()), line_(absl::StrCat("reprise: error: ", sentence, "\n")) {
  static const bool is_registered = std::atexit(EndGuarded) == 0;
  CHECK(is_registered);
  CHECK(living.exchange(this) == nullptr);
}

StartGuard::~StartGuard() { living.store(nullptr); }

bool StartGuard::Guards() const { return process_ == ::getpid(); }

void StartGuard::Print() const {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line_.data(), line_.size());
}

}  // namespace reprise

// Libraries call this, also after fork or vfork: it changes nothing, does not allocate and takes no lock.
extern "C" __attribute__((visibility("default"), noreturn)) void _exit(int code) {
  const reprise::StartGuard* const guard = reprise::living.load();
  const bool is_guarded = guard != nullptr && guard->Guards();
  if (is_guarded) guard->Print();
  while (true) ::syscall(SYS_exit_group, is_guarded ? reprise::kExitRetry : code);
}
