#include "core/comm/testing/conformance.h"

#include <cerrno>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/comm/testing/random_schedule.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::testing {
namespace {

constexpr int64_t kSizes[] = {0, 1, 4, 100, 1000, 10000};

// The byte that rank `from` sends to rank `to` at position i: all messages of a test differ.
std::byte ByteOf(int from, int to, int64_t i) { return static_cast<std::byte>((from * 131 + to * 31 + i * 7) & 0xFF); }

void AppendMessage(int from, int to, int64_t count, std::vector<std::byte>* bytes) {
  for (int64_t i = 0; i < count; ++i) bytes->push_back(ByteOf(from, to, i));
}

// Counts that differ between ranks (0, size, 2 * size, 0, ...), and equal ones.
std::vector<int64_t> CountsOf(int ranks, int64_t size, bool equal) {
  std::vector<int64_t> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(equal ? size : size * (rank % 3));
  return counts;
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

void BarrierReturnsOnEveryRank(Communicator& comm) {
  for (int i = 0; i < 10; ++i) EXPECT_OK(comm.Barrier());
}

void BroadcastReachesEveryRankFromEveryRoot(Communicator& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (int64_t size : kSizes) {
      std::vector<std::byte> expected, bytes(static_cast<size_t>(size));
      AppendMessage(root, 0, size, &expected);
      if (comm.rank() == root) bytes = expected;
      EXPECT_OK(comm.Broadcast(root, absl::MakeSpan(bytes)));
      EXPECT_EQ(bytes, expected) << "root " << root << ", size " << size;
    }
  }
}

void GathervOrdersBytesByRank(Communicator& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (int64_t size : kSizes) {
      const std::vector<int64_t> counts = CountsOf(comm.size(), size, size % 2 == 0);
      std::vector<std::byte> send, expected;
      AppendMessage(comm.rank(), root, counts[comm.rank()], &send);
      std::vector<std::byte> receive(comm.rank() == root ? static_cast<size_t>(Sum(counts)) : 0);
      EXPECT_OK(comm.Gatherv(root, send, counts, absl::MakeSpan(receive)));
      if (comm.rank() != root) continue;
      for (int rank = 0; rank < comm.size(); ++rank) {
        AppendMessage(rank, root, counts[rank], &expected);
      }
      EXPECT_EQ(receive, expected) << "root " << root << ", size " << size;
    }
  }
}

void AllgathervOrdersBytesByRankOnEveryRank(Communicator& comm) {
  for (int64_t size : kSizes) {
    for (bool equal : {true, false}) {
      const std::vector<int64_t> counts = CountsOf(comm.size(), size, equal);
      std::vector<std::byte> send, expected, receive(static_cast<size_t>(Sum(counts)));
      AppendMessage(comm.rank(), 0, counts[comm.rank()], &send);
      for (int rank = 0; rank < comm.size(); ++rank) {
        AppendMessage(rank, 0, counts[rank], &expected);
      }
      EXPECT_OK(comm.Allgatherv(send, counts, absl::MakeSpan(receive)));
      EXPECT_EQ(receive, expected) << "size " << size;
    }
  }
}

void AlltoallvBringsEachPairItsOwnBytes(Communicator& comm) {
  const auto count = [](int64_t size, int from, int to) { return size * ((from + 2 * to) % 3); };
  for (int64_t size : kSizes) {
    std::vector<std::byte> send, expected;
    std::vector<int64_t> send_counts, receive_counts;
    for (int peer = 0; peer < comm.size(); ++peer) {
      send_counts.push_back(count(size, comm.rank(), peer));
      receive_counts.push_back(count(size, peer, comm.rank()));
      AppendMessage(comm.rank(), peer, send_counts.back(), &send);
      AppendMessage(peer, comm.rank(), receive_counts.back(), &expected);
    }
    std::vector<std::byte> receive(expected.size());
    EXPECT_OK(comm.Alltoallv(send, send_counts, absl::MakeSpan(receive), receive_counts));
    EXPECT_EQ(receive, expected) << "size " << size;
  }
}

// Several are in progress at once, and finish in another order than they were started, by Test and by Wait.
void PendingAlltoallvsOvertakeEachOtherAndOtherCollectives(Communicator& comm) {
  const auto count = [](int64_t size, int from, int to) { return size * ((2 * from + to) % 3); };
  struct Exchange {
    std::vector<std::byte> send, expected, receive;
    std::unique_ptr<PendingCollective> pending;
  };
  std::vector<Exchange> exchanges(std::size(kSizes));
  for (size_t i = 0; i < exchanges.size(); ++i) {
    Exchange& exchange = exchanges[i];
    std::vector<int64_t> send_counts, receive_counts;  // destroyed before the exchange is done
    for (int peer = 0; peer < comm.size(); ++peer) {
      send_counts.push_back(count(kSizes[i], comm.rank(), peer));
      receive_counts.push_back(count(kSizes[i], peer, comm.rank()));
      AppendMessage(comm.rank(), peer, send_counts.back(), &exchange.send);
      AppendMessage(peer, comm.rank(), receive_counts.back(), &exchange.expected);
    }
    exchange.receive.resize(exchange.expected.size());
    ASSERT_OK_AND_ASSIGN(exchange.pending, comm.StartAlltoallv(exchange.send, send_counts,
                                                               absl::MakeSpan(exchange.receive), receive_counts));
    int64_t ranks = 1;
    EXPECT_OK(AllreduceSum(comm, absl::MakeSpan(&ranks, 1)));
    EXPECT_EQ(ranks, comm.size());
  }
  for (size_t i = exchanges.size(); i-- > 0;) {
    if (i % 2 == 0) {
      EXPECT_OK(exchanges[i].pending->Wait());
    } else {
      absl::StatusOr<bool> done = false;
      while (done.ok() && !*done) done = exchanges[i].pending->Test();
      EXPECT_OK(done.status());
    }
    EXPECT_EQ(exchanges[i].receive, exchanges[i].expected) << "size " << kSizes[i];
  }
}

void AllreduceSumAndMaxMatchTheirClosedForms(Communicator& comm) {
  const int64_t ranks = comm.size();
  for (int64_t size : kSizes) {
    std::vector<int64_t> sum, max, expected_sum, expected_max;
    for (int64_t i = 0; i < size; ++i) {
      sum.push_back(comm.rank() + i);
      max.push_back(i % 2 == 0 ? comm.rank() - i : -comm.rank() - i);
      expected_sum.push_back(ranks * (ranks - 1) / 2 + ranks * i);
      expected_max.push_back(i % 2 == 0 ? ranks - 1 - i : -i);
    }
    EXPECT_OK(AllreduceSum(comm, absl::MakeSpan(sum)));
    EXPECT_OK(AllreduceMax(comm, absl::MakeSpan(max)));
    EXPECT_EQ(sum, expected_sum);
    EXPECT_EQ(max, expected_max);
  }
}

// The values are integers, so that the order does not matter.
void SumInAnyOrderAddsAllRanks(Communicator& comm) {
  const int ranks = comm.size();
  for (int64_t size : kSizes) {
    std::vector<float> values, expected;
    for (int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(comm.rank() + i % 100));
      expected.push_back(static_cast<float>(ranks * (ranks - 1) / 2 + ranks * (i % 100)));
    }
    EXPECT_OK(comm.SumInAnyOrder(absl::MakeSpan(values)));
    EXPECT_EQ(values, expected);
  }
}

void StringsOfAnySizeKeepTheirRanks(Communicator& comm) {
  const auto text = [](int rank) {
    return std::string(static_cast<size_t>(rank * 100), static_cast<char>('a' + rank));
  };
  std::vector<std::string> expected;
  for (int rank = 0; rank < comm.size(); ++rank) expected.push_back(text(rank));
  ASSERT_OK_AND_ASSIGN(const auto all, AllgatherBytes(comm, text(comm.rank())));
  EXPECT_EQ(all, expected);
  for (int root = 0; root < comm.size(); ++root) {
    ASSERT_OK_AND_ASSIGN(const auto gathered, GatherBytes(comm, root, text(comm.rank())));
    EXPECT_EQ(gathered, comm.rank() == root ? expected : std::vector<std::string>());
    ASSERT_OK_AND_ASSIGN(const auto received, BroadcastBytes(comm, root, text(comm.rank())));
    EXPECT_EQ(received, text(root));
  }
}

void AgreeOkIsOkOnlyWhenAllRanksAre(Communicator& comm) {
  EXPECT_OK(AgreeOk(comm, absl::OkStatus()));
  for (int first = 0; first < comm.size(); ++first) {
    // All ranks from `first` on fail, each with its own error; all ranks must return the error of `first`.
    const absl::Status mine =
        comm.rank() < first ? absl::OkStatus() : FileError(ENOSPC, "write", absl::StrCat("file", comm.rank()));
    const absl::Status agreed = AgreeOk(comm, mine);
    const std::string prefix = comm.size() > 1 ? absl::StrCat("rank ", first, ": ") : "";
    EXPECT_EQ(agreed.message(), absl::StrCat(prefix, "cannot write file", first, ": No space left on device"));
    EXPECT_EQ(agreed.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(IsFileError(agreed));
  }
}

void AgreeOkHandsOutValuesOnlyWhenAllRanksHaveThem(Communicator& comm) {
  ASSERT_OK_AND_ASSIGN(const int rank, AgreeOk(comm, absl::StatusOr<int>(comm.rank())));
  EXPECT_EQ(rank, comm.rank());
  absl::StatusOr<int> last_fails = comm.rank();
  if (comm.rank() == comm.size() - 1) last_fails = absl::InvalidArgumentError("no task");
  EXPECT_THAT(AgreeOk(comm, last_fails), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("no task")));
}

void RandomSchedulesAreRightAndRepeatable(Communicator& comm) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const uint64_t first = RunRandomSchedule(comm, seed, /*calls=*/60);
    EXPECT_EQ(RunRandomSchedule(comm, seed, /*calls=*/60), first) << "seed " << seed;
    EXPECT_NE(RunRandomSchedule(comm, seed + 1000, /*calls=*/60), first) << "seed " << seed;
  }
}

// Ways to divide ranks into teams: of one rank, of all, odd and even, pairs of neighbours.
constexpr int (*kColors[])(int rank) = {
    [](int rank) { return rank; },
    [](int) { return 7; },
    [](int rank) { return 1 - rank % 2; },
    [](int rank) { return rank / 2; },
};

// The parent's ranks in this rank's team.
std::vector<std::string> MembersOf(const Communicator& comm, int (*color)(int rank)) {
  std::vector<std::string> members;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (color(rank) == color(comm.rank())) members.push_back(absl::StrCat(rank));
  }
  return members;
}

void SplitKeepsTheOrderOfRanks(Communicator& comm) {
  for (const auto color : kColors) {
    ASSERT_OK_AND_ASSIGN(const auto team, comm.Split(color(comm.rank())));
    const std::vector<std::string> members = MembersOf(comm, color);
    EXPECT_EQ(team->size(), static_cast<int>(members.size()));
    EXPECT_EQ(members.at(static_cast<size_t>(team->rank())), absl::StrCat(comm.rank()));
    EXPECT_EQ(team->ranks_on_this_machine(), comm.size());
    ASSERT_OK_AND_ASSIGN(const auto gathered, AllgatherBytes(*team, absl::StrCat(comm.rank())));
    EXPECT_EQ(gathered, members);
  }
}

// Teams make different calls, and different numbers of them; a team's own teams and the parent work in between.
void TeamsAreIndependent(Communicator& comm) {
  for (const auto color : kColors) {
    const int mine = color(comm.rank());
    ASSERT_OK_AND_ASSIGN(const auto team, comm.Split(mine));
    RunRandomSchedule(*team, /*seed=*/static_cast<uint64_t>(mine), /*calls=*/10 * (mine + 1));
    ASSERT_OK_AND_ASSIGN(const auto alone, team->Split(team->rank()));
    EXPECT_EQ(alone->size(), 1);
    RunRandomSchedule(*alone, /*seed=*/9, /*calls=*/team->rank());
    RunRandomSchedule(comm, /*seed=*/10, /*calls=*/5);
    RunRandomSchedule(*team, /*seed=*/11, /*calls=*/5);
    EXPECT_EQ(team->traffic().collectives > 0, team->size() > 1);
  }
}

// The last team fails twice; the others and the parent never see it.
void AFailureInATeamConcernsThatTeamOnly(Communicator& comm) {
  const int last = (comm.size() - 1) / 2;
  const int color = comm.rank() / 2;
  ASSERT_OK_AND_ASSIGN(const auto team, comm.Split(color));
  const bool fails = color == last && team->rank() == team->size() - 1;
  for (int i = 0; i < 2; ++i) {
    const absl::Status agreed = AgreeOk(*team, fails ? FileError(ENOSPC, "write", "run.h5") : absl::OkStatus());
    EXPECT_EQ(agreed.ok(), color != last);
    EXPECT_EQ(IsFileError(agreed), color == last);
    EXPECT_FALSE(comm.PeerHasFailed());
    EXPECT_OK(AgreeOk(comm, absl::OkStatus()));
  }
  EXPECT_FALSE(team->PeerHasFailed());
}

constexpr ConformanceCase kCases[] = {
    {"BarrierReturnsOnEveryRank", BarrierReturnsOnEveryRank},
    {"BroadcastReachesEveryRankFromEveryRoot", BroadcastReachesEveryRankFromEveryRoot},
    {"GathervOrdersBytesByRank", GathervOrdersBytesByRank},
    {"AllgathervOrdersBytesByRankOnEveryRank", AllgathervOrdersBytesByRankOnEveryRank},
    {"AlltoallvBringsEachPairItsOwnBytes", AlltoallvBringsEachPairItsOwnBytes},
    {"PendingAlltoallvsOvertakeEachOtherAndOtherCollectives", PendingAlltoallvsOvertakeEachOtherAndOtherCollectives},
    {"AllreduceSumAndMaxMatchTheirClosedForms", AllreduceSumAndMaxMatchTheirClosedForms},
    {"SumInAnyOrderAddsAllRanks", SumInAnyOrderAddsAllRanks},
    {"StringsOfAnySizeKeepTheirRanks", StringsOfAnySizeKeepTheirRanks},
    {"AgreeOkIsOkOnlyWhenAllRanksAre", AgreeOkIsOkOnlyWhenAllRanksAre},
    {"AgreeOkHandsOutValuesOnlyWhenAllRanksHaveThem", AgreeOkHandsOutValuesOnlyWhenAllRanksHaveThem},
    {"RandomSchedulesAreRightAndRepeatable", RandomSchedulesAreRightAndRepeatable},
    {"SplitKeepsTheOrderOfRanks", SplitKeepsTheOrderOfRanks},
    {"TeamsAreIndependent", TeamsAreIndependent},
    {"AFailureInATeamConcernsThatTeamOnly", AFailureInATeamConcernsThatTeamOnly},
};

}  // namespace

absl::Span<const ConformanceCase> ConformanceCases() { return kCases; }

}  // namespace reprise::testing
