#ifndef PIPELINES_WATCHDOG_JUDGE_H_
#define PIPELINES_WATCHDOG_JUDGE_H_

// Decides when a run is hung, from what a rank knows of itself and reads of others. It has no clock, thread or file of
// its own, and never compares the clocks of two hosts: it measures with its own clock whether heartbeats advance.
//
// A rank is responsible for itself: it counts as hung when it has given no sign of life for the limit of its phase.
// Where it waits in a collective for a rank that has started fewer of them, it is the other one that is slow or hung,
// and the time does not count. What a rank cannot report itself, because its process is stopped or lost or its host is
// gone, is noticed by the ranks that watch it, whose number is bounded: the next few in a ring.
//
// Time in which the judge was not called (a suspended job, a laptop that slept) counts for nobody.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "pipelines/watchdog/heartbeat.h"

namespace reprise {

// What a rank knows of its own work.
struct OwnSigns {
  int64_t phases = 0;   // begun so far
  int64_t calls = 0;    // collectives started so far
  bool active = false;  // work was done since the last call
  double limit = 0;     // PhaseLimit the current phase
};

struct Hang {
  enum Kind { kHung, kSilent, kDead };
  Kind kind = kHung;
  int rank = 0;
  double seconds = 0;  // without a sign of life
};

class Judge {
 public:
  // Returns the heartbeat of a rank, nothing where it cannot be read.
  using ReadHeartbeat = std::function<std::optional<Heartbeat>(int rank)>;

  // seconds: execution.watchdog_seconds.
  Judge(double seconds, int rank, int ranks) : seconds_(seconds), rank_(rank), ranks_(ranks) {}

  // Tells how the other ranks' heartbeats are read. Until then, they are not watched.
  void WatchOthers(ReadHeartbeat read, double now);
  // The ranks that this one watches: at most kWatched.
  std::vector<int> watched() const;

  // Called about every Tick() seconds. `now`: monotonic seconds. Returns what it found, if anything.
  std::optional<Hang> CheckHeartbeats(double now, const OwnSigns& own);
  double Tick() const { return seconds_ / 20; }

  // The time in which the judge was called often enough, in seconds: without suspensions of this process.
  double attended() const { return attended_; }

 private:
  static constexpr int kWatched = 4;
  struct Peer {
    int rank = 0;
    int64_t beat = -1;   // -1: has not been seen
    double seen = 0;     // when the beat was first read
    double longest = 0;  // time between two beats
    int unsure = 1;      // beats that must be seen before its silence means what it usually does
    bool has_left = false;
  };

  std::optional<Hang> CheckSelf(double passed, const OwnSigns& own);
  std::optional<Hang> CheckPeer(double now, Peer* peer);
  bool IsBehind(int rank, int64_t calls) const;
  bool SomeoneIsBehind(int64_t calls);

  const double seconds_;
  const int rank_, ranks_;
  ReadHeartbeat read_ = nullptr;
  std::vector<Peer> peers_;  // watched
  double last_ = -1;         // when CheckHeartbeats was last called; -1: never
  double attended_ = 0;
  int64_t phases_ = 0, calls_ = 0;
  double age_ = 0;   // of this rank's last sign of life
  int behind_ = -1;  // a rank that was behind when last looked
};

}  // namespace reprise

#endif  // PIPELINES_WATCHDOG_JUDGE_H_
