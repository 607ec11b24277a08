#include "core/comm/testing/thread_communicator.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/testing/thread_exchanges.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// One rank's arguments of a collective. Pointers are into the caller's spans, valid until the second Meet.
struct Call {
  const char* name = "";
  int root = 0;
  absl::Span<const std::byte> send = {};
  absl::Span<const int64_t> receive_counts = {};
  int color = 0;
};

struct Group;

// A barrier with shared state. A collective stores its Call, calls Meet, reads the others' calls and calls Meet again.
class Meeting {
 public:
  explicit Meeting(int ranks)
      : calls(static_cast<size_t>(ranks)),
        teams(static_cast<size_t>(ranks)),
        ranks_(ranks),
        has_failed_(static_cast<size_t>(ranks)) {}

  // Returns OK when all ranks have called it, Unavailable if one of them has returned. Makes each rank's earlier writes
  // visible to all.
  absl::Status Meet() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!departure_.ok()) return departure_;
    const int64_t round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return absl::OkStatus();
    }
    changed_.wait(lock, [&] { return round_ != round || !departure_.ok(); });
    return round_ != round ? absl::OkStatus() : departure_;
  }

  void Leave(int rank, const absl::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (departure_.ok()) {
      departure_ = absl::UnavailableError(
          absl::StrCat("rank ", rank, " has left", status.ok() ? "" : ": ", status.ok() ? "" : status.ToString()));
    }
    changed_.notify_all();
  }

  void ReportFailure(int rank, bool has_failed) {
    std::lock_guard<std::mutex> lock(mutex_);
    has_failed_[rank] = has_failed;
  }

  bool PeerHasFailed() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::find(has_failed_.begin(), has_failed_.end(), true) != has_failed_.end();
  }

  std::vector<Call> calls;  // calls[r] is written by rank r between meetings, and read by all after the first
  std::vector<std::shared_ptr<Group>> teams;  // likewise: of a Split, at the first rank of each team

 private:
  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> has_failed_;
  int arrived_ = 0;
  int64_t round_ = 0;
  absl::Status departure_;
};

// What the ranks of a communicator share.
struct Group {
  explicit Group(int ranks) : meeting(ranks), exchanges(ranks) {}

  void Leave(int rank, const absl::Status& status) {
    meeting.Leave(rank, status);
    exchanges.Leave(rank, status);
  }

  Meeting meeting;
  ThreadExchanges exchanges;
};

// Returns Internal unless all calls have one kind and root. A pure function of the calls, so all ranks agree on it.
absl::Status CheckCallsFit(const std::vector<Call>& calls) {
  for (size_t rank = 1; rank < calls.size(); ++rank) {
    if (std::strcmp(calls[rank].name, calls[0].name) != 0 || calls[rank].root != calls[0].root) {
      return absl::InternalError(absl::StrCat("rank ", rank, " called ", calls[rank].name, " with root ",
                                              calls[rank].root, " while rank 0 called ", calls[0].name, " with root ",
                                              calls[0].root));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCount(int sender, int64_t sent, int receiver, int64_t expected) {
  if (sent == expected) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("rank ", sender, " sends ", sent, " bytes, rank ", receiver, " expects ", expected));
}

class ThreadCommunicator : public Communicator {
 public:
  // `threads`: those of all ranks of RunAsRanks.
  ThreadCommunicator(int rank, int size, int threads, std::shared_ptr<Group> group)
      : Communicator(rank, size, threads),
        group_(std::move(group)),
        meeting_(group_->meeting),
        exchanges_(group_->exchanges) {}
  ~ThreadCommunicator() override { group_->Leave(rank(), status_); }

  // Sets the status with which the rank leaves.
  void set_status(const absl::Status& status) { status_ = status; }

  void ReportFailure() override { meeting_.ReportFailure(rank(), true); }
  bool PeerHasFailed() override { return meeting_.PeerHasFailed(); }
  absl::Status TakeFailures(absl::Span<const int>) override {
    meeting_.ReportFailure(rank(), false);
    return absl::OkStatus();
  }

 private:
  absl::Status DoBarrier() override {
    return Together({.name = "Barrier"}, NothingToCheck, [] {});
  }

  absl::Status DoBroadcast(int root, absl::Span<std::byte> bytes) override {
    const auto check = [&] {
      const int64_t count = static_cast<int64_t>(Calls()[root].send.size());
      for (int r = 0; r < size(); ++r) {
        RETURN_IF_ERROR(CheckCount(root, count, r, static_cast<int64_t>(Calls()[r].send.size())));
      }
      return absl::OkStatus();
    };
    return Together({.name = "Broadcast", .root = root, .send = bytes}, check, [&] {
      if (rank() != root) Copy(Calls()[root].send, bytes.data());
    });
  }

  absl::Status DoGatherv(int root, absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                         absl::Span<std::byte> receive) override {
    return Together(
        {.name = "Gatherv", .root = root, .send = send, .receive_counts = counts}, [&] { return CheckGathered(root); },
        [&] {
          if (rank() == root) CopyAll(receive.data());
        });
  }

  absl::Status DoAllgatherv(absl::Span<const std::byte> send, absl::Span<const int64_t> counts,
                            absl::Span<std::byte> receive) override {
    const auto check = [&] {
      for (int receiver = 0; receiver < size(); ++receiver) RETURN_IF_ERROR(CheckGathered(receiver));
      return absl::OkStatus();
    };
    return Together({.name = "Allgatherv", .send = send, .receive_counts = counts}, check,
                    [&] { CopyAll(receive.data()); });
  }

  absl::StatusOr<std::unique_ptr<PendingCollective>> DoStartAlltoallv(
      absl::Span<const std::byte> send, absl::Span<const int64_t> send_counts, absl::Span<std::byte> receive,
      absl::Span<const int64_t> receive_counts) override {
    return exchanges_.Start(rank(), send, send_counts, receive, receive_counts);
  }

  // Every rank adds all ranks' values, a block at a time.
  absl::Status DoSumInAnyOrder(absl::Span<float> values) override {
    constexpr size_t kBlock = 4096;
    std::vector<float> all(kBlock * static_cast<size_t>(size()));
    for (size_t begin = 0; begin < values.size(); begin += kBlock) {
      const absl::Span<float> mine = values.subspan(begin, kBlock);
      const absl::Span<float> gathered = absl::MakeSpan(all.data(), mine.size() * static_cast<size_t>(size()));
      const std::vector<int64_t> counts(static_cast<size_t>(size()), static_cast<int64_t>(mine.size() * sizeof(float)));
      RETURN_IF_ERROR(DoAllgatherv(AsBytes(absl::Span<const float>(mine)), counts, AsWritableBytes(gathered)));
      for (size_t i = 0; i < mine.size(); ++i) {
        mine[i] = gathered[i];
        for (size_t at = i + mine.size(); at < gathered.size(); at += mine.size()) mine[i] += gathered[at];
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Communicator>> DoSplit(int color) override {
    int team_rank = 0, team_size = 0, first = -1;
    const auto find_team = [&] {
      for (int r = 0; r < size(); ++r) {
        if (Calls()[r].color != color) continue;
        if (first < 0) first = r;
        if (r < rank()) ++team_rank;
        ++team_size;
      }
      if (first == rank()) meeting_.teams[first] = std::make_shared<Group>(team_size);
    };
    RETURN_IF_ERROR(Together({.name = "Split", .color = color}, NothingToCheck, find_team));
    return std::make_unique<ThreadCommunicator>(team_rank, team_size, ranks_on_this_machine(), meeting_.teams[first]);
  }

  // Stores `call`, calls Meet, and if all calls match does `work`, while every rank's spans are valid.
  template <typename Check, typename Work>
  absl::Status Together(const Call& call, const Check& check, const Work& work) {
    meeting_.calls[rank()] = call;
    RETURN_IF_ERROR(meeting_.Meet());
    absl::Status fits = CheckCallsFit(meeting_.calls);
    if (fits.ok()) fits = check();
    if (fits.ok()) work();
    RETURN_IF_ERROR(meeting_.Meet());
    return fits;
  }

  static absl::Status NothingToCheck() { return absl::OkStatus(); }

  absl::Status CheckGathered(int receiver) const {
    for (int sender = 0; sender < size(); ++sender) {
      const int64_t sent = static_cast<int64_t>(Calls()[sender].send.size());
      const int64_t expected = Calls()[receiver].receive_counts[sender];
      RETURN_IF_ERROR(CheckCount(sender, sent, receiver, expected));
    }
    return absl::OkStatus();
  }

  void CopyAll(std::byte* to) const {
    for (const Call& peer : Calls()) {
      Copy(peer.send, to);
      to += peer.send.size();
    }
  }

  static void Copy(absl::Span<const std::byte> from, std::byte* to) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }

  const std::vector<Call>& Calls() const { return meeting_.calls; }

  const std::shared_ptr<Group> group_;
  Meeting& meeting_;
  ThreadExchanges& exchanges_;
  absl::Status status_;
};

}  // namespace

absl::Status RunAsRanks(int ranks, const std::function<absl::Status(Communicator&)>& work) {
  CHECK_GE(ranks, 1);
  const auto world = std::make_shared<Group>(ranks);
  std::vector<absl::Status> statuses(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCommunicator communicator(rank, ranks, ranks, world);
      statuses[rank] = work(communicator);
      communicator.set_status(statuses[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok() && !absl::IsUnavailable(status)) return status;
  }
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace reprise
