#include "core/comm/checked_communicator.h"

#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/testing/conformance.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::ConformanceCase;
using ::reprise::testing::ConformanceCases;
using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

class CheckedConformanceTest : public ::testing::TestWithParam<std::tuple<int, ConformanceCase>> {};

TEST_P(CheckedConformanceTest, Holds) {
  const auto& [ranks, conformance_case] = GetParam();
  EXPECT_OK(RunAsRanks(ranks, [run = conformance_case.run](Communicator& comm) {
    CheckedCommunicator checked(comm);
    run(checked);
    return absl::OkStatus();
  }));
}

INSTANTIATE_TEST_SUITE_P(All, CheckedConformanceTest,
                         ::testing::Combine(::testing::Values(1, 2, 5), ::testing::ValuesIn(ConformanceCases())),
                         [](const auto& test) {
                           return absl::StrCat(std::get<1>(test.param).name, "On", std::get<0>(test.param), "Ranks");
                         });

// Runs `work` on three checked ranks and expects the same Internal error, which contains `text`, on each.
void ExpectFound(const std::function<absl::Status(Communicator&)>& work, const std::string& text) {
  std::mutex mutex;
  std::vector<absl::Status> status_R(3);
  RunAsRanks(3, [&](Communicator& comm) {
    CheckedCommunicator checked(comm);
    const absl::Status status = work(checked);
    const std::lock_guard<std::mutex> lock(mutex);
    status_R[comm.rank()] = status;
    return status;
  }).IgnoreError();
  for (const absl::Status& status : status_R) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, HasSubstr(text)));
    EXPECT_EQ(status, status_R[0]);
  }
}

absl::Status Alltoall(Communicator& comm) {
  const std::vector<int64_t> counts(static_cast<size_t>(comm.size()), 4);
  const std::vector<std::byte> send(4 * counts.size());
  std::vector<std::byte> receive(send.size());
  return comm.Alltoallv(send, counts, absl::MakeSpan(receive), counts);
}

TEST(CheckedCommunicatorTest, NamesBothCallsThatDifferInKind) {
  ExpectFound(
      [](Communicator& comm) -> absl::Status {
        if (const absl::Status met = comm.Barrier(); !met.ok()) return met;
        return comm.rank() == 2 ? Alltoall(comm) : comm.Barrier();
      },
      "rank 0 is in its call 2, Barrier, rank 2 in its call 2, Alltoallv");
}

TEST(CheckedCommunicatorTest, NamesBothCallsThatDifferInRootOrSize) {
  ExpectFound(
      [](Communicator& comm) {
        std::byte bytes[8] = {};
        return comm.Broadcast(comm.rank() == 1 ? 1 : 0, absl::MakeSpan(bytes));
      },
      "rank 0 is in its call 1, Broadcast with root 0 of 8 bytes, rank 1 in its call 1, Broadcast with root 1");
  ExpectFound(
      [](Communicator& comm) {
        std::vector<float> values(comm.rank() == 2 ? 3 : 4);
        return comm.SumInAnyOrder(absl::MakeSpan(values));
      },
      "SumInAnyOrder of 16 bytes, rank 2 in its call 1, SumInAnyOrder of 12 bytes");
}

TEST(CheckedCommunicatorTest, NamesTheRankThatLeftACallOut) {
  ExpectFound(
      [](Communicator& comm) -> absl::Status {
        for (int call = comm.rank() == 1 ? 1 : 0; call < 3; ++call) {
          const absl::Status done = call == 0 ? Alltoall(comm) : comm.Barrier();
          if (!done.ok()) return done;
        }
        return absl::OkStatus();
      },
      "rank 0 is in its call 1, Alltoallv, rank 1 in its call 1, Barrier");
}

}  // namespace
}  // namespace reprise
