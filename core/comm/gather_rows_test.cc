#include "core/comm/gather_rows.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "core/comm/self_communicator.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Row {
  int64_t rank = 0;
  bool is_odd = false;
  std::optional<double> value = {};
  std::vector<int32_t> count_T = {};

  void ForEachMember(auto visit) { visit(rank), visit(is_odd), visit(value), visit(count_T); }
  bool operator==(const Row&) const = default;
};

std::vector<Row> RowsOn(int rank) {
  std::vector<Row> rows;
  for (int i = 0; i < rank; ++i) {
    rows.push_back({rank, i % 2 == 1, i == 0 ? std::nullopt : std::optional(0.5 * i), std::vector<int32_t>(i, rank)});
  }
  return rows;
}

TEST(GatherRowsTest, TheRowsOfAllRanksAreInTheOrderOfTheRanks) {
  std::vector<Row> expected;
  for (int rank = 0; rank < 4; ++rank) {
    for (Row& row : RowsOn(rank)) expected.push_back(row);
  }
  ASSERT_EQ(expected.size(), 6u);
  const absl::Status status = RunAsRanks(4, [&](Communicator& comm) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<Row> all, AllgatherRows(comm, RowsOn(comm.rank())));
    EXPECT_EQ(all, expected);
    ASSIGN_OR_RETURN(const std::vector<Row> on_one, GatherRows(comm, 1, RowsOn(comm.rank())));
    EXPECT_EQ(on_one, comm.rank() == 1 ? expected : std::vector<Row>());
    return absl::OkStatus();
  });
  EXPECT_OK(status);
}

TEST(GatherRowsTest, NumbersAndVectorsAreRowsToo) {
  SelfCommunicator comm;
  EXPECT_THAT(AllgatherRows(comm, std::vector<double>{1.5, -2}).value(), ElementsAre(1.5, -2));
  EXPECT_THAT(AllgatherRows(comm, std::vector<std::vector<double>>{{1}, {}, {2, 3}}).value(),
              ElementsAre(ElementsAre(1), IsEmpty(), ElementsAre(2, 3)));
  EXPECT_THAT(AllgatherRows(comm, std::vector<double>()).value(), IsEmpty());
}

}  // namespace
}  // namespace reprise
