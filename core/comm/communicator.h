#ifndef CORE_COMM_COMMUNICATOR_H_
#define CORE_COMM_COMMUNICATOR_H_

// Moves bytes between ranks. It has no reduction except SumInAnyOrder: code that adds floats must define the order
// (core/comm/exchange/tree_exchange.h). Integers are reduced by core/comm/collectives.h.
//
// Every function but the const ones is collective: all ranks call the same functions in the same order, with matching
// arguments, from the thread that made the communicator. On one rank nothing is sent.
//
// Split divides the ranks into teams, each with a communicator of its own. What a team does, and the failures that are
// reported in it, concern its own ranks only.
//
// Errors, for all functions: Unavailable if a peer is lost (a requeue is sensible), Internal if the ranks' calls do not
// match, as far as the implementation can detect it. After an error the communicator is unusable: return the error, and
// the launcher ends the other ranks. A span of the wrong size is a failed CHECK.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise {

// A collective that was started and continues while its rank does other work.
class PendingCollective {
 public:
  virtual ~PendingCollective() = default;

  // Advances the messages without waiting. Returns true when this rank's part is done and the caller may use the spans
  // again. Must not be called after that.
  virtual absl::StatusOr<bool> Test() = 0;

  // Returns when Test would return true.
  virtual absl::Status Wait() = 0;
};

// The traffic that one rank sent to others, as docs/communication.md counts it: an Allgatherv and a SumInAnyOrder use a
// ring, a Broadcast goes from its root to each rank; MPI may send less. A block of no bytes is not a message.
struct Traffic {
  int64_t messages = 0;
  int64_t bytes = 0;
  int64_t collectives = 0;  // calls, whether or not this rank sent anything

  Traffic& operator+=(const Traffic& other);
};

// What was sent after `before`.
Traffic operator-(const Traffic& after, const Traffic& before);
// How far a rank has come in the sequence of its collectives, which is the same on all ranks.
struct CallPosition {
  int64_t calls = 0;      // started since construction
  const char* last = "";  // the name of the last one, such as "Allgatherv"
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }  // in [0, size())
  int size() const { return size_; }  // >= 1

  // The number of ranks of this program on this rank's machine with which it shares processors, this one and those of
  // other teams included: all on the machine, unless the launcher binds ranks to processors. At least 1.
  int ranks_on_this_machine() const { return ranks_on_this_machine_; }

  // Since construction, without Barrier. 0 on one rank.
  const Traffic& traffic() const { return traffic_; }
  // The part of traffic() that was started within an ExchangeScope.
  const Traffic& exchange_traffic() const { return exchange_traffic_; }

  // Where this rank is, for a watchdog: the ranks with the fewest calls are those that the others wait for. May be
  // called by any thread; the two values may be of neighbouring calls.
  CallPosition position() const {
    return {calls_.load(std::memory_order_relaxed), last_call_.load(std::memory_order_relaxed)};
  }

  // Returns when every rank has called it.
  absl::Status Barrier();

  // Copies `bytes` of rank `root` into `bytes` of all others. The size is the same on all ranks.
  absl::Status Broadcast(int root, absl::Span<std::byte> bytes);

  // Rank `root` receives the ranks' `send` one after the other in `receive`: counts[r] bytes from rank r. `counts` and
  // `receive` matter on the root only. Here and below, `receive` must not overlap `send`.
  absl::Status Gatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                       absl::Span<std::byte> receive);

  // Every rank receives the ranks' `send` one after the other. `counts` is the same on all ranks.
  absl::Status Allgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                          absl::Span<std::byte> receive);

  // `send` holds send_counts[r] bytes for each rank r, one after the other; `receive` likewise what rank r sent here.
  // send_counts[r] on rank s equals receive_counts[s] on rank r.
  absl::Status Alltoallv(absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts,
                         absl::Span<std::byte> receive, absl::Span<const int64_t> receive_counts);

  // Starts an Alltoallv and returns immediately. `send` and `receive` must stay unchanged until it is done; the counts
  // need not. Several may be in progress, with other collectives between them; all ranks start them in the same order.
  // On one rank it is done when this returns.
  absl::StatusOr<std::unique_ptr<PendingCollective>> StartAlltoallv(absl::Span<const std::byte> send,
                                                                    absl::Span<const int64_t> send_counts,
                                                                    absl::Span<std::byte> receive,
                                                                    absl::Span<const int64_t> receive_counts);

  // Replaces `values`, of the same size on all ranks, with their sums over all ranks, added in an order that the
  // implementation chooses. Only for run.reduction = "fast", which does not guarantee its bits.
  absl::Status SumInAnyOrder(absl::Span<float> values);

  // Returns a communicator of the ranks with the same `color` >= 0, in the order of this one's ranks. Its messages,
  // counts and reported failures are separate from this communicator's, which may be used in between. The result may
  // itself be split. A dead process is lost to every communicator that it was in.
  absl::StatusOr<std::unique_ptr<Communicator>> Split(int color);

  // Reports to the other ranks, which may still be working, that this rank has failed. Not collective. AgreeOk
  // (core/comm/agree.h) calls this and TakeFailures.
  virtual void ReportFailure() {}
  // Returns whether another rank has reported a failure; false on threads other than the communicator's. Code that may
  // wait for a long time should poll it. Not collective.
  virtual bool PeerHasFailed() { return false; }
  // Clears the reported failures. The argument names all ranks that reported one. Collective.
  virtual absl::Status TakeFailures(absl::Span<const int>) { return absl::OkStatus(); }

 protected:
  Communicator(int rank, int size, int ranks_on_this_machine);

 private:
  // The implementations of the functions above; the sizes of spans are already checked.
  virtual absl::Status DoBarrier() = 0;
  virtual absl::Status DoBroadcast(int root, absl::Span<std::byte> bytes) = 0;
  virtual absl::Status DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                 absl::Span<std::byte> receive) = 0;
  virtual absl::Status DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                                    absl::Span<std::byte> receive) = 0;
  virtual absl::StatusOr<std::unique_ptr<PendingCollective>> DoStartAlltoallv(
      absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
      absl::Span<const int64_t> receive_counts) = 0;

  virtual absl::Status DoSumInAnyOrder(absl::Span<float> values) = 0;

  virtual absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) = 0;

  friend class ExchangeScope;
  void BeginCall(const char* name);
  void Count(const Traffic& sent);
  Traffic SentByAlltoallv(absl::Span<const int64_t> send_counts) const;
  Traffic SentByAllgatherv(absl::Span<const int64_t> counts) const;
  Traffic SentBySum(int64_t floats) const;

  const int rank_;
  const int size_;
  const int ranks_on_this_machine_;
  Traffic traffic_, exchange_traffic_;
  int exchange_scopes_ = 0;  // open
  std::atomic<int64_t> calls_{0};
  std::atomic<const char*> last_call_{""};
};

// During its lifetime, the communicator's calls are counted as exchange traffic: that of gradients, weights and
// moments, which grows with the model, unlike agreement and counts.
class ExchangeScope {
 public:
  explicit ExchangeScope(Communicator& comm) : comm_(comm) { ++comm_.exchange_scopes_; }
  ~ExchangeScope() { --comm_.exchange_scopes_; }
  ExchangeScope(const ExchangeScope&) = delete;
  ExchangeScope& operator=(const ExchangeScope&) = delete;

 private:
  Communicator& comm_;
};

// The bytes of an array of plain values.
template <typename T>
absl::Span<const std::byte> AsBytes(absl::Span<const T> values) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T));
}
template <typename T>
absl::Span<std::byte> AsWritableBytes(absl::Span<T> values) {
  return absl::MakeSpan(reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T));
}

}  // namespace reprise

#endif  // CORE_COMM_COMMUNICATOR_H_
