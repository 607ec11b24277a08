#include "core/parallel/team.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(TeamTest, TheCallerAloneWorksInOrder) {
  std::vector<int64_t> order;
  Team().ForEach(4, [&](int64_t index, int worker) {
    EXPECT_EQ(worker, 0);
    order.push_back(index);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(TeamTest, RangesCoverEverythingOnceAndAreNoSmallerThanRequested) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 5, 16, 17, 100}) {
      for (int64_t least : {1, 4, 50}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        std::atomic<int> ranges{0};
        Team(pool).ForRanges(count, least, [&](int64_t begin, int64_t end) {
          ++ranges;
          EXPECT_TRUE(end - begin >= least || end - begin == count) << begin << " to " << end << " of " << count;
          for (int64_t i = begin; i < end; ++i) ++visits[i];
        });
        EXPECT_LE(ranges.load(), threads);
        for (const auto& visit : visits) EXPECT_EQ(visit.load(), 1);
      }
    }
  }
}

}  // namespace
}  // namespace reprise
