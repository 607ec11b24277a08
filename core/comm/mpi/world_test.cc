#include "core/comm/mpi/world.h"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/status/conditions.h"
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

// Executes StartWorld in a process of its own that has these variables, and exits with 0 or the error's code.
void StartIn(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const absl::Status status = StartWorld(0).status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(ExitCodeOf(status));
}

TEST(WorldDeathTest, AnMpiThatCannotStartIsASentenceAndNoVerdict) {
  EXPECT_EXIT(StartIn({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_MCA_pml", "nothing"}}), ::testing::ExitedWithCode(75),
              "reprise: error: MPI did not start: srun needs --mpi=pmix");
}

// MPI that finds no server makes a world of one.
TEST(WorldDeathTest, ALauncherThatThisMpiDoesNotKnowIsRefused) {
  EXPECT_EXIT(StartIn({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), ::testing::ExitedWithCode(64),
              "expected 2 ranks but MPI started 1: .* or unset PMI_SIZE if it is that of another program");
  EXPECT_EXIT(StartIn({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "another"}}), ::testing::ExitedWithCode(64),
              "expected at least 2 ranks but MPI started 1: start the program with mpirun -n N");
}

TEST(WorldTest, RefusesMoreRanksThanWereStartedAndExplainsHowToStartThem) {
  EXPECT_THAT(StartWorld(3),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("expected 3 ranks but MPI started 1")));
  EXPECT_TRUE(MpiIsInitialized());
  EXPECT_OK(FinishWorld(nullptr));
}

absl::StatusOr<Launch> ReadFrom(const std::map<std::string, std::string>& variables) {
  return ReadLaunch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ReadLaunchTest, AnEmptyEnvironmentIsOneProcess) {
  ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom({}));
  EXPECT_EQ(launch.tasks, 1);
}

TEST(ReadLaunchTest, UsesTheRanksOfMpirunAndNotTheDaemonsThatSlurmCounts) {
  ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom({{"OMPI_COMM_WORLD_SIZE", "8"},
                                                      {"PMIX_RANK", "3"},
                                                      {"PMIX_NAMESPACE", "728104961"},
                                                      {"SLURM_STEP_NUM_TASKS", "2"}}));
  EXPECT_EQ(launch.tasks, 8);
  EXPECT_EQ(launch.says, "OMPI_COMM_WORLD_SIZE");
}

TEST(ReadLaunchTest, UsesTheTasksOfSrunWithPmix) {
  ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}));
  EXPECT_EQ(launch.tasks, 4);
  EXPECT_EQ(launch.says, "SLURM_STEP_NUM_TASKS");
}

// Each of these environments has ranks, of steps of one task or of programs that started or submitted this one.
TEST(ReadLaunchTest, OneProcessNeedsNoMpiWhateverItInherits) {
  const std::map<std::string, std::string> pmix = {{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}};
  const std::map<std::string, std::string> pmi = {{"PMI_RANK", "0"}, {"PMI_FD", "11"}};
  const std::vector<std::map<std::string, std::string>> additions = {
      {{"SLURM_STEP_NUM_TASKS", "1"}},
      {{"SLURM_STEP_NUM_TASKS", "1"},
       {"SLURM_NTASKS", "4"},
       {"SLURM_PROCID", "0"},
       {"SLURM_JOB_ID", "8"}},  // a batch script
      {{"PMI_SIZE", "1"}},
      {{"SLURM_STEP_NUM_TASKS", "1"}, {"PMI_SIZE", "1"}},
      {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "728104961"}},
      {{"OMPI_COMM_WORLD_SIZE", "8"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}, {"SLURM_STEP_NUM_TASKS", "1"}},
  };
  for (std::map<std::string, std::string> environment : additions) {
    for (const auto& inherited : {pmix, pmi, {}}) {
      if (environment.contains("PMI_SIZE") && !inherited.contains("PMI_RANK")) continue;
      environment.insert(inherited.begin(), inherited.end());
      ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom(environment));
      EXPECT_EQ(launch.tasks, 1) << ::testing::PrintToString(environment);
    }
  }
  ASSERT_OK_AND_ASSIGN(const Launch batch, ReadFrom({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
  EXPECT_EQ(batch.tasks, 1);
}

TEST(ReadLaunchTest, SeveralProcessesAreNeverOneWhateverTheyInherit) {
  const std::map<std::string, std::string> of_one_rank = {{"OMPI_COMM_WORLD_SIZE", "1"},
                                                          {"PMIX_NAMESPACE", "728104961"}};
  for (const auto& launcher : std::vector<std::map<std::string, std::string>>{
           {{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}},
           {{"SLURM_STEP_NUM_TASKS", "4"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"PMIX_RANK", "2"}},
           {{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}},
           {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}}) {
    for (const auto& inherited : {of_one_rank, {}}) {
      std::map<std::string, std::string> environment = launcher;
      environment.insert(inherited.begin(), inherited.end());
      ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom(environment));
      EXPECT_EQ(launch.tasks, 4) << ::testing::PrintToString(environment);
    }
  }
}

TEST(ReadLaunchTest, AsksMpiWhereTheLauncherSaysNoSize) {
  ASSERT_OK_AND_ASSIGN(const Launch launch, ReadFrom({{"PMIX_RANK", "2"}}));
  EXPECT_EQ(launch.tasks, 0);
  EXPECT_EQ(launch.least_tasks, 3);
}

TEST(ReadLaunchTest, RefusesSeveralTasksWithoutAnMpiPlugIn) {
  EXPECT_THAT(ReadFrom({{"SLURM_STEP_NUM_TASKS", "4"}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--mpi=pmix")));
}

}  // namespace
}  // namespace reprise
