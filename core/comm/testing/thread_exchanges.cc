#include "core/comm/testing/thread_exchanges.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

std::vector<int64_t> BeginsOf(absl::Span<const int64_t> counts) {
  std::vector<int64_t> begins = {0};
  for (int64_t count : counts) begins.push_back(begins.back() + count);
  return begins;
}

}  // namespace

class ThreadExchanges::Pending : public PendingCollective {
 public:
  Pending(ThreadExchanges* all, int rank, int64_t number, Round* round, absl::Span<std::byte> receive,
          std::vector<int64_t> receive_begin)
      : all_(*all),
        rank_(rank),
        number_(number),
        round_(*round),
        receive_(receive),
        receive_begin_(std::move(receive_begin)),
        has_(static_cast<size_t>(all->ranks_)) {}

  ~Pending() override {
    Part& mine = round_.parts[rank_];
    std::unique_lock<std::shared_mutex> reading(mine.reading);
    std::lock_guard<std::mutex> lock(all_.mutex_);
    mine.is_here = false;
    reading.unlock();
    if (++round_.finished == all_.ranks_) all_.rounds_.erase(number_);
  }

  absl::StatusOr<bool> Test() override {
    std::unique_lock<std::mutex> lock(all_.mutex_);
    return Advance(&lock);
  }

  absl::Status Wait() override {
    std::unique_lock<std::mutex> lock(all_.mutex_);
    for (;;) {
      ASSIGN_OR_RETURN(const bool done, Advance(&lock));
      if (done) return absl::OkStatus();
      if (!IsSomethingNew()) all_.changed_.wait(lock);
    }
  }

 private:
  Part& PartOf(size_t rank) { return round_.parts[rank]; }

  bool IsSomethingNew() {
    for (size_t peer = 0; peer < has_.size(); ++peer) {
      if (!has_[peer] && PartOf(peer).is_here) return true;
      if (!has_[peer] && !all_.departures_[peer].ok()) return true;
      if (WillNeverTake(peer)) return true;
    }
    return PartOf(static_cast<size_t>(rank_)).taken == all_.ranks_;
  }

  // Copies the blocks that are available; releases the lock while it copies.
  absl::StatusOr<bool> Advance(std::unique_lock<std::mutex>* lock) {
    bool has_all = true;
    for (size_t peer = 0; peer < has_.size(); ++peer) {
      if (has_[peer]) continue;
      Part& part = PartOf(peer);
      if (!part.is_here) {
        if (!all_.departures_[peer].ok()) return all_.departures_[peer];
        has_all = false;
        continue;
      }
      lock->unlock();
      const absl::Status copied = Copy(peer, &part);
      lock->lock();
      RETURN_IF_ERROR(copied);
      has_[peer] = true;
      part.has_taken[rank_] = true;
      if (++part.taken == all_.ranks_) all_.changed_.notify_all();
    }
    for (size_t peer = 0; peer < has_.size(); ++peer) {
      if (WillNeverTake(peer)) return all_.departures_[peer];
    }
    return has_all && PartOf(static_cast<size_t>(rank_)).taken == all_.ranks_;
  }

  bool WillNeverTake(size_t peer) {
    return !all_.departures_[peer].ok() && !PartOf(static_cast<size_t>(rank_)).has_taken[peer];
  }

  absl::Status Copy(size_t peer, Part* part) {
    const std::shared_lock<std::shared_mutex> reading(part->reading);
    if (!part->is_here) return absl::UnavailableError(absl::StrCat("rank ", peer, " has left"));
    const size_t self = static_cast<size_t>(rank_);
    const int64_t sent = part->send_begin[self + 1] - part->send_begin[self];
    const int64_t expected = receive_begin_[peer + 1] - receive_begin_[peer];
    if (sent != expected) {
      return absl::InternalError(
          absl::StrCat("rank ", peer, " sends ", sent, " bytes, rank ", rank_, " expects ", expected));
    }
    if (sent > 0) {
      std::memcpy(receive_.data() + receive_begin_[peer], part->send.data() + part->send_begin[self],
                  static_cast<size_t>(sent));
    }
    return absl::OkStatus();
  }

  ThreadExchanges& all_;
  const int rank_;
  const int64_t number_;
  Round& round_;
  const absl::Span<std::byte> receive_;
  const std::vector<int64_t> receive_begin_;
  std::vector<bool> has_;  // by peer: its block was copied
};

ThreadExchanges::ThreadExchanges(int ranks)
    : ranks_(ranks), next_round_(static_cast<size_t>(ranks)), departures_(static_cast<size_t>(ranks)) {}

std::unique_ptr<PendingCollective> ThreadExchanges::Start(int rank, absl::Span<const std::byte> send,
                                                          absl::Span<const int64_t> send_counts,
                                                          absl::Span<std::byte> receive,
                                                          absl::Span<const int64_t> receive_counts) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t number = next_round_[rank]++;
  Round& round = rounds_.try_emplace(number, ranks_).first->second;
  Part& part = round.parts[rank];
  part.send = send;
  part.send_begin = BeginsOf(send_counts);
  part.has_taken.assign(static_cast<size_t>(ranks_), false);
  part.is_here = true;
  changed_.notify_all();
  return std::make_unique<Pending>(this, rank, number, &round, receive, BeginsOf(receive_counts));
}

void ThreadExchanges::Leave(int rank, const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  departures_[rank] = absl::UnavailableError(
      absl::StrCat("rank ", rank, " has left", status.ok() ? "" : ": ", status.ok() ? "" : status.ToString()));
  changed_.notify_all();
}

}  // namespace reprise
