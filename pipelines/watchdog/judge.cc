#include "pipelines/watchdog/judge.h"

#include <algorithm>
#include <utility>

namespace reprise {
namespace {

// How long before a limit the alarm is raised, as a share of execution.watchdog_seconds: the time in which the report
// is written and the launcher ends the job belongs to the limit.
constexpr double kMargin = 0.4;

}  // namespace

void Judge::WatchOthers(ReadHeartbeat read, double now) {
  read_ = std::move(read);
  peers_.clear();
  for (int distance = 1; distance < ranks_ && distance <= kWatched; ++distance) {
    peers_.push_back({.rank = (rank_ + distance) % ranks_, .seen = now});
  }
}

std::vector<int> Judge::watched() const {
  std::vector<int> ranks;
  for (const Peer& peer : peers_) ranks.push_back(peer.rank);
  return ranks;
}

std::optional<Hang> Judge::CheckHeartbeats(double now, const OwnSigns& own) {
  const double passed = last_ < 0 ? 0 : now - last_;
  last_ = now;
  const double counted = std::min(passed, 2 * Tick());
  attended_ += counted;
  if (passed > seconds_ / 5) {  // this process did not run: others may not have run either
    for (Peer& peer : peers_) {
      peer.seen = now;
      peer.unsure = 2;  // one may be from before
    }
  }
  for (Peer& peer : peers_) {
    if (const std::optional<Hang> hang = CheckPeer(now, &peer)) return hang;
  }
  return CheckSelf(counted, own);
}

std::optional<Hang> Judge::CheckPeer(double now, Peer* peer) {
  if (peer->has_left) return std::nullopt;
  const std::optional<Heartbeat> heartbeat = read_(peer->rank);
  const bool is_gone = heartbeat && heartbeat->state == Heartbeat::kGone;
  if (is_gone && peer->beat >= 0) {
    peer->has_left = true;
    return std::nullopt;
  }
  if (heartbeat && !is_gone && heartbeat->beat != peer->beat) {
    if (peer->unsure == 0) peer->longest = std::max(peer->longest, now - peer->seen);
    peer->unsure = std::max(0, peer->unsure - 1);
    peer->beat = heartbeat->beat;
    peer->seen = now;
    return std::nullopt;
  }
  const double most = 6 * seconds_;
  const double limit = peer->unsure > 0 ? most : std::clamp(5 * peer->longest, (1 - kMargin) * seconds_, most);
  const double silence = now - peer->seen;
  if (silence < limit) return std::nullopt;
  return Hang{Hang::kSilent, peer->rank, silence};
}

std::optional<Hang> Judge::CheckSelf(double passed, const OwnSigns& own) {
  const bool lives = own.active || own.phases != phases_ || own.calls != calls_;
  phases_ = own.phases;
  calls_ = own.calls;
  age_ = lives ? 0 : age_ + passed;
  const double half = own.limit / 2;
  if (age_ > half && SomeoneIsBehind(own.calls)) age_ = half;
  if (age_ < own.limit - kMargin * seconds_) return std::nullopt;
  return Hang{Hang::kHung, rank_, age_};
}

bool Judge::IsBehind(int rank, int64_t calls) const {
  const std::optional<Heartbeat> heartbeat = read_(rank);
  return heartbeat && heartbeat->state == Heartbeat::kRunning && heartbeat->calls < calls;
}

bool Judge::SomeoneIsBehind(int64_t calls) {
  if (read_ == nullptr) return false;
  if (behind_ >= 0 && IsBehind(behind_, calls)) return true;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_ || !IsBehind(rank, calls)) continue;
    behind_ = rank;
    return true;
  }
  behind_ = -1;
  return false;
}

}  // namespace reprise
