#include "core/parallel/helpers.h"

#include <atomic>
#include <set>
#include <vector>

#include "core/parallel/team.h"
#include "core/parallel/thread_pool.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(HelpersTest, EveryPieceOfEveryTaskIsDoneOnceWhoeverHelps) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    Helpers helpers(pool);
    for (int round = 0; round < 200; ++round) {
      const int64_t tasks = round % 5, pieces = round % 7;
      std::vector<std::atomic<int>> visits(static_cast<size_t>(tasks * pieces));
      std::atomic<int64_t> next{0};
      helpers.Run([&](int worker) {
        for (int64_t task; (task = next.fetch_add(1)) < tasks;) {
          for (int repeat = 0; repeat < 3; ++repeat) {
            std::vector<std::atomic<int>> mine(static_cast<size_t>(pieces));
            Team(helpers, worker).ForEach(pieces, [&](int64_t index, int member) {
              ASSERT_TRUE(member >= 0 && member < threads);
              ++mine[index];
            });
            // When the call returns, all pieces are done and their writes are visible.
            for (int64_t i = 0; i < pieces; ++i) visits[task * pieces + i] += mine[i].load();
          }
        }
      });
      for (const auto& visit : visits) ASSERT_EQ(visit.load(), 3);
    }
  }
}

TEST(HelpersTest, WorkersWithoutATaskDoPiecesOfTheLastTask) {
  ThreadPool pool(3);
  Helpers helpers(pool);
  std::vector<std::atomic<int>> pieces_of(3);
  helpers.Run([&](int worker) {
    if (worker == 1) {
      const Team team(helpers, worker);
      while (team.threads() < 3) {
      }
      // Each piece waits until all three have started, which takes three workers.
      std::atomic<int> begun{0};
      team.ForEach(3, [&](int64_t, int member) {
        ++pieces_of[member];
        ++begun;
        while (begun < 3) {
        }
      });
    }
  });
  for (const auto& pieces : pieces_of) EXPECT_EQ(pieces.load(), 1);
}

TEST(HelpersTest, TheCallerCallsMeanwhileWhileItHasNothingToHelpWith) {
  ThreadPool pool(2);
  Helpers helpers(pool);
  std::atomic<bool> called{false};
  helpers.Run(
      [&](int worker) {
        if (worker == 1) {
          while (!called) {
          }
        }
      },
      [&] { called = true; });
  EXPECT_TRUE(called);
}

TEST(HelpersTest, NoHelperIsAvailableWhileAllHaveTasks) {
  ThreadPool pool(4);
  Helpers helpers(pool);
  EXPECT_EQ(Team(helpers, 2).threads(), 1);
}

}  // namespace
}  // namespace reprise
