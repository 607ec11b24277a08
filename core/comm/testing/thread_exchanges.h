#ifndef CORE_COMM_TESTING_THREAD_EXCHANGES_H_
#define CORE_COMM_TESTING_THREAD_EXCHANGES_H_

// The Alltoallvs in progress between ranks that are threads (core/comm/testing/thread_communicator.h).

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "absl/types/span.h"
#include "core/comm/communicator.h"

namespace reprise {

// Thread-safe. Every receiver copies its blocks itself; a sender is done when all have.
class ThreadExchanges {
 public:
  explicit ThreadExchanges(int ranks);

  // Starts the next Alltoallv of `rank`, whose calls must come from one thread. This must outlive the result.
  std::unique_ptr<PendingCollective> Start(int rank, absl::Span<const std::byte> send,
                                           absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
                                           absl::Span<const int64_t> receive_counts);

  // Reports that `rank` starts and finishes no further exchange: ranks that still need it get an error with `status`.
  void Leave(int rank, const absl::Status& status);

 private:
  // One rank's part of one exchange.
  struct Part {
    std::shared_mutex reading;  // shared by ranks that copy from `send`, exclusive to remove it
    bool is_here = false;       // guarded by both mutexes
    absl::Span<const std::byte> send;
    std::vector<int64_t> send_begin;  // of each receiver's block, and the end
    std::vector<bool> has_taken;      // by receiver: it has copied its block
    int taken = 0;                    // number of receivers that have
  };
  struct Round {
    explicit Round(int ranks) : parts(static_cast<size_t>(ranks)) {}
    std::vector<Part> parts;
    int finished = 0;
  };
  class Pending;

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Round> rounds_;
  std::vector<int64_t> next_round_;       // by rank
  std::vector<absl::Status> departures_;  // by rank; OK until it leaves
};

}  // namespace reprise

#endif  // CORE_COMM_TESTING_THREAD_EXCHANGES_H_
