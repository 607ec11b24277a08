#include "pipelines/watchdog/judge.h"

#include <functional>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

constexpr double kSeconds = 10, kLimit = 30;

// What a rank does at a time; a process that does not run changes nothing.
struct Doing {
  int64_t calls = 0;
  bool active = false;
  bool runs = true;
};
using Behaviour = std::function<Doing(int rank, double now)>;

struct Found {
  int by = 0;
  Hang hang;
  double at = 0;
};

// Judges of several ranks, at a simulated time.
class Simulation {
 public:
  explicit Simulation(int ranks) : heartbeats_(static_cast<size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      judges_.emplace_back(kSeconds, rank, ranks);
      heartbeats_[rank].rank = rank;
    }
    for (Judge& judge : judges_) {
      judge.WatchOthers([this](int rank) { return heartbeats_[rank]; }, 0);
    }
  }

  // Runs until a judge finds hang, or `end`.
  std::optional<Found> Run(const Behaviour& behaviour, double end) {
    while (now_ < end) {
      now_ += judges_[0].Tick();
      for (size_t rank = 0; rank < judges_.size(); ++rank) {
        const Doing doing = behaviour(static_cast<int>(rank), now_);
        if (!doing.runs) continue;
        heartbeats_[rank].beat += 1;
        heartbeats_[rank].calls = doing.calls;
        const auto hang = judges_[rank].CheckHeartbeats(
            now_, {.phases = 1, .calls = doing.calls, .active = doing.active, .limit = kLimit});
        if (hang) return Found{static_cast<int>(rank), *hang, now_};
      }
    }
    return std::nullopt;
  }

  void Jump(double seconds) { now_ += seconds; }
  Judge& judge(int rank) { return judges_[rank]; }
  Heartbeat& heartbeat(int rank) { return heartbeats_[rank]; }

 private:
  std::vector<Judge> judges_;
  std::vector<Heartbeat> heartbeats_;
  double now_ = 0;
};

Doing Working(double now) { return {.calls = static_cast<int64_t>(now / 3)}; }

TEST(JudgeTest, FindsNothingWhileAllRanksAdvance) {
  Simulation world(6);
  EXPECT_FALSE(world.Run([](int, double now) { return Working(now); }, 3600).has_value());
}

TEST(JudgeTest, FindsAnEndlessLoopWithinTheLimitAndBlamesTheRankItself) {
  Simulation world(4);
  const auto found = world.Run(
      [](int rank, double now) {
        if (now < 100) return Working(now);
        return Doing{.calls = rank == 2 ? 33 : 34};  // the others wait for it in a collective
      },
      1000);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->by, 2);
  EXPECT_EQ(found->hang.kind, Hang::kHung);
  EXPECT_GT(found->at, 100 + kLimit / 2);
  EXPECT_LE(found->at, 102 + kLimit);
}

TEST(JudgeTest, FindsThatAllRanksWaitForEachOther) {
  Simulation world(3);
  const auto found = world.Run([](int, double now) { return now < 100 ? Working(now) : Doing{.calls = 34}; }, 1000);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->hang.kind, Hang::kHung);
  EXPECT_LE(found->at, 102 + kLimit);
}

// Rank 1 computes for ten minutes, which its signs of life show; the others wait all the time.
TEST(JudgeTest, WaitsForASlowRankThatLives) {
  Simulation world(7);
  EXPECT_FALSE(world
                   .Run(
                       [](int rank, double now) {
                         if (rank != 1 || now > 700) return Doing{.calls = now > 701 ? 300 + Working(now).calls : 34};
                         return Doing{.calls = 33, .active = true};
                       },
                       900)
                   .has_value());
}

TEST(JudgeTest, FindsAStoppedRankWithinTenSecondsInAnyPhase) {
  for (const int stopped : {0, 3, 11}) {
    Simulation world(12);
    const auto found = world.Run(
        [&](int rank, double now) {
          Doing doing = Working(now);
          doing.active = true;
          doing.runs = rank != stopped || now < 100;
          return doing;
        },
        1000);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->hang.kind, Hang::kSilent);
    EXPECT_EQ(found->hang.rank, stopped);
    EXPECT_LT(found->at, 108);
  }
}

TEST(JudgeTest, FindsALostHostWhoseRanksWouldWatchEachOther) {
  Simulation world(12);
  const auto found = world.Run(
      [](int rank, double now) { return Doing{.calls = 1, .active = true, .runs = rank / 6 == 0 || now < 50}; }, 1000);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->hang.kind, Hang::kSilent);
  EXPECT_GE(found->hang.rank, 6);
}

TEST(JudgeTest, CountsNoTimeInWhichTheWholeJobWasSuspended) {
  Simulation world(4);
  const Behaviour working = [](int, double) { return Doing{.calls = 5, .active = true}; };
  for (int times = 0; times < 5; ++times) {
    world.Run(working, 50);
    world.Jump(3600);
    // The processes are not continued at the same moment, and hang for a part of the limit.
    EXPECT_FALSE(world
                     .Run(
                         [&](int rank, double now) {
                           return Doing{.calls = 5, .active = rank > 1, .runs = rank < 3 || now > 3640 * (times + 1)};
                         },
                         0)
                     .has_value());
  }
  const double attended = world.judge(0).attended();
  EXPECT_LT(attended, 400);
}

TEST(JudgeTest, GivesRanksTimeThatContinueLaterThanOthers) {
  Simulation world(3);
  EXPECT_FALSE(world.Run([](int, double now) { return Working(now); }, 100).has_value());
  world.Jump(500);
  EXPECT_FALSE(world
                   .Run(
                       [](int rank, double now) {
                         Doing doing = Working(now);
                         doing.runs = rank != 2 || now > 650;
                         return doing;
                       },
                       900)
                   .has_value());
}

// The suspension does not count as an interval between two heartbeats, which would make the limit longer.
TEST(JudgeTest, FindsAStoppedRankAsFastAfterASuspensionAsBefore) {
  Simulation world(3);
  const Behaviour working = [](int, double now) { return Working(now); };
  EXPECT_FALSE(world.Run(working, 100).has_value());
  world.Jump(500);
  EXPECT_FALSE(world.Run(working, 700).has_value());
  const auto found = world.Run(
      [](int rank, double now) {
        Doing doing = Working(now);
        doing.runs = rank != 1;
        return doing;
      },
      900);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(found->at, 708);
}

TEST(JudgeTest, DoesNotMissARankThatHasLeft) {
  Simulation world(2);
  world.Run([](int, double now) { return Working(now); }, 20);
  world.heartbeat(1).state = Heartbeat::kGone;
  EXPECT_FALSE(world
                   .Run(
                       [](int rank, double now) {
                         Doing doing = Working(now);
                         doing.active = true;
                         doing.runs = rank == 0;
                         return doing;
                       },
                       200)
                   .has_value());
}

TEST(JudgeTest, GivesARankThatHasNotBegunAMinute) {
  Simulation world(2);
  world.heartbeat(1).state = Heartbeat::kGone;
  const auto found = world.Run([](int rank, double) { return Doing{.active = true, .runs = rank == 0}; }, 200);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->at, 60, 2);
}

}  // namespace
}  // namespace reprise
