#ifndef MODELS_FAST_PRODUCTS_CONTEST_H_
#define MODELS_FAST_PRODUCTS_CONTEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace reprise::models {

// Finds the fastest of several equivalent methods: tries each a few times, in turn, and then always uses the one with
// the fastest try. Not thread-safe: every thread has its own contest.
class Contest {
 public:
  static constexpr int kMostWays = 3;

  explicit Contest(int ways) : ways_(ways) {}

  // Returns the method to use now, in [0, ways).
  int Next() const { return is_decided() ? best_ : tries_ % ways_; }

  // Records how long the method of Next() took, in any unit. The first try of each does not count, because its memory
  // is cold.
  void Took(uint64_t ticks) {
    if (is_decided()) return;
    const int way = tries_ % ways_;
    uint64_t& fastest = fastest_[static_cast<size_t>(way)];
    if (tries_ >= ways_ && ticks < fastest) fastest = ticks;
    ++tries_;
    if (!is_decided()) return;
    for (int other = 1; other < ways_; ++other) {
      if (fastest_[other] < fastest_[best_]) best_ = other;
    }
  }

  bool is_decided() const { return tries_ >= kTriesOfEach * ways_; }

 private:
  static constexpr int kTriesOfEach = 6;
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  int ways_;
  int tries_ = 0, best_ = 0;
  std::array<uint64_t, kMostWays> fastest_{kNever, kNever, kNever};
};

}  // namespace reprise::models

#endif  // MODELS_FAST_PRODUCTS_CONTEST_H_
