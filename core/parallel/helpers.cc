#include "core/parallel/helpers.h"

#include <immintrin.h>

#include <atomic>
#include <thread>

#include "core/parallel/activity.h"

namespace reprise {
namespace {

// Number of polls for work before a helper yields its core: pieces follow each other within microseconds.
constexpr int kSpins = 2000;

// The top bit of Work::gate; the other bits count the helpers inside.
constexpr uint32_t kOpen = 1u << 31;

void Wait(int* spins) {
  if (++*spins < kSpins) {
    _mm_pause();
  } else {
    std::this_thread::yield();
  }
}

}  // namespace

// The pieces that one worker's task currently shares. `piece` and `count` do not change while the gate is open or a
// helper is inside.
struct alignas(64) Helpers::Work {
  std::atomic<uint32_t> gate{0};
  std::atomic<int64_t> next{0};
  int64_t count = 0;
  const std::function<void(int64_t, int)>* piece = nullptr;

  int64_t DoPieces(int member) {  // returns how many
    int64_t done = 0;
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count; ++done) {
      (*piece)(index, member);
      MarkActivity();
    }
    return done;
  }
};

struct Helpers::State {
  alignas(64) std::atomic<int> at_work{0};  // workers that still have a task
  alignas(64) std::atomic<int64_t> helped{0};
};

Helpers::Helpers(ThreadPool& pool)
    : pool_(pool),
      work_(std::make_unique<Work[]>(static_cast<size_t>(pool.threads()))),
      state_(std::make_unique<State>()) {
  state_->at_work = workers();
}

Helpers::~Helpers() = default;

int Helpers::Available() const { return 1 + workers() - state_->at_work.load(std::memory_order_relaxed); }

int64_t Helpers::helped() const { return state_->helped.load(std::memory_order_relaxed); }

void Helpers::Run(const std::function<void(int)>& tasks, const std::function<void()>& meanwhile) {
  pool_.OnEveryWorker([&](int worker) {
    tasks(worker);
    HelpOthers(worker, worker == 0 ? meanwhile : nullptr);
  });
  state_->at_work = workers();
}

void Helpers::HelpOthers(int worker, const std::function<void()>& meanwhile) {
  state_->at_work.fetch_sub(1, std::memory_order_acq_rel);
  for (int spins = 0; state_->at_work.load(std::memory_order_acquire) > 0;) {
    bool helped = false;
    for (int other = 0; other < workers(); ++other) helped |= Join(worker, work_[other]);
    if (helped) {
      spins = 0;
      continue;
    }
    if (meanwhile != nullptr) meanwhile();
    Wait(&spins);
  }
}

bool Helpers::Join(int member, Work& work) {
  uint32_t gate = work.gate.load(std::memory_order_relaxed);
  if ((gate & kOpen) == 0) return false;
  if (!work.gate.compare_exchange_strong(gate, gate + 1, std::memory_order_acquire)) return false;
  state_->helped.fetch_add(work.DoPieces(member), std::memory_order_relaxed);
  work.gate.fetch_sub(1, std::memory_order_release);
  return true;
}

void Helpers::ForEach(int worker, int64_t count, const std::function<void(int64_t, int)>& piece) {
  Work& work = work_[worker];
  work.piece = &piece;
  work.count = count;
  work.next.store(0, std::memory_order_relaxed);
  work.gate.store(kOpen, std::memory_order_release);
  work.DoPieces(worker);
  work.gate.fetch_and(~kOpen, std::memory_order_relaxed);
  for (int spins = 0; work.gate.load(std::memory_order_acquire) != 0;) Wait(&spins);
}

}  // namespace reprise
