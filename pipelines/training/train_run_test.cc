#include "pipelines/training/train_run.h"

#include <filesystem>

#include "core/comm/testing/thread_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

TrainRequest SmallRequest(const std::string& name) {
  TrainRequest request;
  rl::Config& config = request.config.config;
  config.run.steps = 2;
  config.model.hidden_size = config.model.intermediate_size = 16;
  config.model.num_hidden_layers = 1;
  config.data.max_length = 3;
  config.warm_up.steps = 1;
  config.rollout.prompts_per_step = 4;
  config.rollout.num_generations = 2;
  config.rollout.max_completion_length = 4;
  request.output = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(request.output);
  return request;
}

// Rank 0's result.
absl::StatusOr<std::optional<TrainResult>> TrainOn(int ranks, const TrainRequest& request) {
  absl::StatusOr<std::optional<TrainResult>> result;
  const absl::Status status = RunAsRanks(ranks, [&](Communicator& comm) -> absl::Status {
    Logger logger({.rank = comm.rank(), .verbosity = Verbosity::kQuiet});
    auto own = TrainRun(request, comm, logger);
    if (comm.rank() == 0) result = own;
    EXPECT_FALSE(comm.rank() > 0 && own.ok() && own->has_value());
    return own.status();
  });
  if (!status.ok()) return status;
  return result;
}

TEST(TrainRunTest, ARequestIsTheSameRunOnOneRankOnTwoAndInTwoParts) {
  ASSERT_OK(kernels::InitializeIsa());
  ASSERT_OK_AND_ASSIGN(const std::optional<TrainResult> one, TrainOn(1, SmallRequest("one")));
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->steps, 2);

  TrainRequest request = SmallRequest("two");
  request.stop_after_step = 1;
  ASSERT_OK_AND_ASSIGN(const std::optional<TrainResult> part, TrainOn(2, request));
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->steps, 1);
  EXPECT_NE(part->run_digest, one->run_digest);

  request.stop_after_step = 0;
  request.resume = true;
  ASSERT_OK_AND_ASSIGN(const std::optional<TrainResult> whole, TrainOn(1, request));
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->steps, 2);
  EXPECT_EQ(whole->run_digest, one->run_digest);
  EXPECT_EQ(whole->run_sha256, one->run_sha256);
  EXPECT_EQ(whole->weights_sha256, one->weights_sha256);
}

TEST(TrainRunTest, ACheckWritesNothing) {
  ASSERT_OK(kernels::InitializeIsa());
  TrainRequest request = SmallRequest("checked");
  request.check = true;
  ASSERT_OK_AND_ASSIGN(const std::optional<TrainResult> result, TrainOn(2, request));
  EXPECT_FALSE(result.has_value());
  EXPECT_FALSE(std::filesystem::exists(request.output));
}

TEST(TrainRunTest, AnInterruptedRunCanBeResumed) {
  ASSERT_OK(kernels::InitializeIsa());
  const std::atomic<bool> interrupt = true;
  TrainRequest request = SmallRequest("interrupted");
  request.interrupt = &interrupt;
  EXPECT_THAT(TrainOn(2, request), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopped the run after step 0")));
  request.interrupt = nullptr;
  request.resume = true;
  ASSERT_OK_AND_ASSIGN(const std::optional<TrainResult> result, TrainOn(1, request));
  EXPECT_EQ(result->steps, 2);
}

}  // namespace
}  // namespace reprise
