#include "core/comm/mpi/world.h"

#include <mpi.h>

#include <map>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

bool MpiIsInitialized() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

// These tests run in this order in one process, which no launcher started.
TEST(WorldTest, SingleProcessNeverCallsMpi) {
  for (int ranks : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Communicator> world, StartWorld(ranks));
    EXPECT_EQ(world->rank(), 0);
    EXPECT_EQ(world->size(), 1);
    EXPECT_OK(FinishWorld(std::move(world)));
    EXPECT_FALSE(MpiIsInitialized());
  }
}

TEST(WorldTest, RefusesMoreRanksThanWereStartedAndExplainsHowToStartThem) {
  EXPECT_THAT(StartWorld(3),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("expected 3 ranks but MPI started 1")));
  EXPECT_TRUE(MpiIsInitialized());
  EXPECT_OK(FinishWorld(nullptr));
}

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<Launch> ReadFrom(const std::map<std::string, std::string>& variables) {
  return ReadLaunch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ReadLaunchTest, FindsNoLauncherInAnEmptyEnvironment) {
  ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom({}));
  EXPECT_FALSE(launch.has_mpi);
  EXPECT_EQ(launch.tasks, 0);
}

TEST(ReadLaunchTest, UsesTheRanksOfMpirunAndNotTheDaemonsThatSlurmCounts) {
  ASSERT_OK_AND_ASSIGN(const Launch launch,
                       ReadFrom({{"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_RANK", "3"}, {"SLURM_STEP_NUM_TASKS", "2"}}));
  EXPECT_TRUE(launch.has_mpi);
  EXPECT_EQ(launch.tasks, 8);
}

TEST(ReadLaunchTest, UsesTheTasksOfSrunWithPmix) {
  ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}));
  EXPECT_TRUE(launch.has_mpi);
  EXPECT_EQ(launch.tasks, 4);
}

TEST(ReadLaunchTest, DoesNotUseMpiInABatchScriptOrOneTaskOfSrun) {
  ASSERT_OK_AND_ASSIGN(const Launch batch, ReadFrom({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
  EXPECT_FALSE(batch.has_mpi);
  ASSERT_OK_AND_ASSIGN(const Launch one, ReadFrom({{"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(one.has_mpi);
}

TEST(ReadLaunchTest, RefusesSeveralTasksWithoutAnMpiPlugIn) {
  EXPECT_THAT(ReadFrom({{"SLURM_STEP_NUM_TASKS", "4"}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--mpi=pmix")));
}

}  // namespace
}  // namespace reprise
