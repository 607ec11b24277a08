#include "tests/faults/shim/plan.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace fault_shim {
namespace {

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t Number(const std::string& text, int64_t missing) {
  return text.empty() ? missing : std::strtoll(text.c_str(), nullptr, 10);
}

Fault ParseFault(const std::string& name) {
  static const auto* const faults = new std::map<std::string, Fault>{
      {"", Fault::kNone},       {"signal", Fault::kSignal},        {"torn", Fault::kTorn},
      {"error", Fault::kError}, {"error_from", Fault::kErrorFrom}, {"short", Fault::kShort},
  };
  const auto found = faults->find(name);
  if (found == faults->end()) std::abort();
  return found->second;
}

Plan ReadPlan() {
  Plan plan;
  const std::string rank = Variable("FAULT_SHIM_RANK");
  if (!rank.empty() && rank != Variable("OMPI_COMM_WORLD_RANK")) return plan;
  plan.directory = Variable("FAULT_SHIM_DIRECTORY");
  plan.match = Variable("FAULT_SHIM_MATCH");
  plan.call = Number(Variable("FAULT_SHIM_CALL"), -1);
  plan.fault = ParseFault(Variable("FAULT_SHIM_FAULT"));
  plan.error_number = static_cast<int>(Number(Variable("FAULT_SHIM_ERRNO"), 0));
  plan.signal = static_cast<int>(Number(Variable("FAULT_SHIM_SIGNAL"), 0));
  plan.signal_after_ms = Number(Variable("FAULT_SHIM_AFTER"), -1);
  if (const std::string log = Variable("FAULT_SHIM_LOG"); !log.empty()) {
    // Uses the system call, because open(2) is intercepted, and a descriptor above those of the standard streams, which
    // may be closed.
    const int file =
        static_cast<int>(syscall(SYS_openat, AT_FDCWD, log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    plan.log = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (plan.log < 0) std::abort();
    syscall(SYS_close, file);
  }
  return plan;
}

// Unlike alarm(2), a timer can send SIGKILL, which the program cannot handle.
void SignalAfter(int64_t milliseconds) {
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = ThePlan().signal;
  timer_t timer;
  const itimerspec when = {.it_interval = {}, .it_value = {milliseconds / 1000, milliseconds % 1000 * 1000000 + 1}};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, nullptr) != 0) std::abort();
}

void Loop(int) {
  for (volatile bool forever = true; forever;) {
  }
}

void Sleep(int) {
  for (;;) pause();
}

__attribute__((constructor)) void HandleHangs() {
  if (Variable("FAULT_SHIM_HANGS").empty()) return;
  signal(SIGRTMIN + 1, Loop);
  signal(SIGRTMIN + 2, Sleep);
}

__attribute__((constructor)) void StartTimer() {
  if (ThePlan().signal_after_ms >= 0) SignalAfter(ThePlan().signal_after_ms);
}

void Log(int64_t number, const std::string& text) {
  if (ThePlan().log < 0) return;
  const std::string line = std::to_string(number) + " " + text + "\n";
  if (syscall(SYS_write, ThePlan().log, line.data(), line.size()) < 0) std::abort();
}

}  // namespace

const Plan& ThePlan() {
  static const Plan* const plan = new Plan(ReadPlan());
  return *plan;
}

void Die() {
  raise(SIGKILL);
  for (;;) pause();
}

Order NextCall(const std::string& text) {
  const Plan& plan = ThePlan();
  if (text.find(plan.match) == std::string::npos) return Order::kProceed;
  static std::mutex mutex;
  static int64_t calls = 0;
  int64_t number;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    number = calls++;
    Log(number, text);
  }
  if (plan.fault == Fault::kErrorFrom && plan.call >= 0 && number >= plan.call) return Order::kFail;
  if (number != plan.call) return Order::kProceed;
  switch (plan.fault) {
    case Fault::kNone:
    case Fault::kErrorFrom:
      return Order::kProceed;
    case Fault::kSignal:
      raise(plan.signal);
      return Order::kProceed;
    case Fault::kTorn:
      return Order::kHalfAndDie;
    case Fault::kError:
      return Order::kFail;
    case Fault::kShort:
      return Order::kHalf;
  }
  return Order::kProceed;
}

}  // namespace fault_shim
