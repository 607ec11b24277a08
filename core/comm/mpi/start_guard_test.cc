#include "core/comm/mpi/start_guard.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::ExitedWithCode;

using Exit = void (*)(int);

// What a library that calls _exit gets.
Exit ExitOfLibraries() { return reinterpret_cast<Exit>(::dlsym(RTLD_DEFAULT, "_exit")); }

TEST(StartGuardDeathTest, AnEndOfTheProcessIsAnErrorThatAllowsARetry) {
  const auto end_guarded = [](Exit end) {
    const StartGuard guard("MPI did not start");
    end(1);
  };
  EXPECT_EXIT(end_guarded(ExitOfLibraries()), ExitedWithCode(75), "^reprise: error: MPI did not start\n$");
  EXPECT_EXIT(end_guarded(std::exit), ExitedWithCode(75), "^reprise: error: MPI did not start\n$");
}

TEST(StartGuardDeathTest, WithoutAGuardTheCodeIsThatOfTheCaller) {
  EXPECT_EXIT(ExitOfLibraries()(3), ExitedWithCode(3), "^$");
  const auto end_after_guard = [](Exit end) {
    {
      const StartGuard guard("MPI did not start");
    }
    end(3);
  };
  EXPECT_EXIT(end_after_guard(ExitOfLibraries()), ExitedWithCode(3), "^$");
  EXPECT_EXIT(end_after_guard(std::exit), ExitedWithCode(3), "^$");
}

TEST(StartGuardTest, AChildProcessEndsAsItWantsTo) {
  const StartGuard guard("MPI did not start");
  const pid_t child = ::fork();
  if (child == 0) ExitOfLibraries()(3);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace reprise
