#include "pipelines/watchdog/stacks.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <vector>

#include "absl/debugging/symbolize.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace reprise {
namespace {

constexpr int kFrames = 64;
constexpr size_t kThreads = 256;  // more are named without a stack

// What one thread's handler writes.
struct Slot {
  std::array<void*, kFrames> frames = {};
  int count = 0;
  std::atomic<bool> is_done{false};
};

Slot* slots = nullptr;  // of kThreads; allocated once, never freed: a handler may come late
std::atomic<pid_t> thread_ids[kThreads];

int TheSignal() { return SIGRTMIN + 5; }

pid_t ThisThread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// backtrace() needs no lock or memory once it has been called in the process.
void WriteStack(int) {
  const int saved = errno;
  const pid_t self = ThisThread();
  for (size_t i = 0; i < kThreads; ++i) {
    if (thread_ids[i].load(std::memory_order_acquire) != self) continue;
    slots[i].count = ::backtrace(slots[i].frames.data(), kFrames);
    slots[i].is_done.store(true, std::memory_order_release);
    break;
  }
  errno = saved;
}

std::vector<pid_t> OtherThreads() {
  std::vector<pid_t> threads;
  DIR* const entries = ::opendir("/proc/self/task");
  if (entries == nullptr) return threads;
  while (const dirent* entry = ::readdir(entries)) {
    int thread = 0;
    if (absl::SimpleAtoi(entry->d_name, &thread) && thread != ThisThread()) threads.push_back(thread);
  }
  ::closedir(entries);
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::string NameOfThread(pid_t thread) {
  std::ifstream file(absl::StrCat("/proc/self/task/", thread, "/comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

// The first frames are the handler and the kernel's return from it; the next is the interrupted instruction.
constexpr int kInterrupted = 2;

std::string FormatSlot(const Slot& slot) {
  std::string text;
  for (int i = kInterrupted; i < slot.count; ++i) {
    std::array<char, 512> name = {};
    void* const at = slot.frames[i];
    // A return address belongs to the call before it. The interrupted instruction may be the first of its function:
    // the byte before it belongs to another one.
    char* const within = static_cast<char*>(at) - (i == kInterrupted ? 0 : 1);
    const bool known = absl::Symbolize(within, name.data(), name.size());
    absl::StrAppendFormat(&text, "  %p %s\n", at, known ? name.data() : "?");
  }
  return text;
}

}  // namespace

void PrepareStacks() {
  static const bool is_prepared = [] {
    slots = new Slot[kThreads];
    std::array<void*, 4> frames = {};
    ::backtrace(frames.data(), frames.size());  // loads the unwinder
    absl::InitializeSymbolizer("/proc/self/exe");
    return true;
  }();
  (void)is_prepared;
}

std::string StacksOfThisProcess(double seconds) {
  PrepareStacks();
  struct sigaction action = {};
  action.sa_handler = WriteStack;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(TheSignal(), &action, nullptr);
  const std::vector<pid_t> threads = OtherThreads();
  const size_t asked = std::min(threads.size(), kThreads);
  for (size_t i = 0; i < asked; ++i) {
    slots[i].is_done.store(false, std::memory_order_relaxed);
    thread_ids[i].store(threads[i], std::memory_order_release);
    ::syscall(SYS_tgkill, ::getpid(), threads[i], TheSignal());
  }
  constexpr double kPause = 0.002;
  for (double waited = 0; waited < seconds; waited += kPause) {
    const bool all = std::all_of(slots, slots + asked, [](const Slot& slot) { return slot.is_done.load(); });
    if (all) break;
    const timespec pause = {0, static_cast<long>(kPause * 1e9)};
    ::nanosleep(&pause, nullptr);
  }
  std::string text;
  for (size_t i = 0; i < threads.size(); ++i) {
    absl::StrAppend(&text, "thread ", threads[i], " (", NameOfThread(threads[i]), "):\n");
    const bool answered = i < asked && slots[i].is_done.load(std::memory_order_acquire);
    absl::StrAppend(&text, answered ? FormatSlot(slots[i]) : "  it does not answer\n");
  }
  return text;
}

}  // namespace reprise
