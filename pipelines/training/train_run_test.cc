#include "pipelines/training/train_run.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "core/comm/testing/thread_communicator.h"
#include "core/digest/sha256.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "kernels/isa/isa.h"
#include "nlohmann/json.hpp"
#include "rl/config/preset_testing.h"

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
  config.sft.steps = 1;
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

// Another algorithm, model and number of threads than SmallRequest's.
TrainRequest OtherRequest(const std::string& name) {
  TrainRequest request = SmallRequest(name);
  rl::Config& config = request.config.config;
  config.run.seed = 9;
  config.run.steps = 3;
  SelectPreset("rloo", &config.algorithm);
  config.model.hidden_size = config.model.intermediate_size = 32;
  config.model.num_hidden_layers = 2;
  config.execution.threads = 2;
  return request;
}

// Of a run: the digests of run.h5 and of the exported weights, and the counts of its last execution.
struct FilesOfRun {
  std::string run, weights;
  nlohmann::json counts;
};
FilesOfRun FilesOf(const TrainRequest& request) {
  const auto read = [&](const std::string& name) {
    std::ifstream file(request.output + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string last, line;
  std::istringstream lines(read("execution.jsonl"));
  while (std::getline(lines, line)) last = line;
  EXPECT_FALSE(read("run.h5").empty() || read("model/model.safetensors").empty());
  return {ToHex(Sha256(read("run.h5"))), ToHex(Sha256(read("model/model.safetensors"))), nlohmann::json::parse(last)};
}

TEST(TrainRunTest, ARunIsTheSameAloneAfterOthersInItsProcessAndInATeamBesideAnother) {
  ASSERT_OK(kernels::InitializeIsa());
  const TrainRequest alone = SmallRequest("alone");
  ASSERT_OK(TrainOn(1, alone));
  const FilesOfRun expected = FilesOf(alone);

  const TrainRequest before = OtherRequest("before"), second = SmallRequest("second");
  ASSERT_OK(RunAsRanks(2, [&](Communicator& comm) -> absl::Status {
    Logger logger({.rank = comm.rank(), .verbosity = Verbosity::kQuiet});
    RETURN_IF_ERROR(TrainRun(before, comm, logger).status());
    return TrainRun(second, comm, logger).status();
  }));
  EXPECT_EQ(FilesOf(second).run, expected.run);
  EXPECT_EQ(FilesOf(second).weights, expected.weights);

  const TrainRequest in_team = SmallRequest("in_team"), beside = OtherRequest("beside"), next = SmallRequest("next");
  ASSERT_OK(RunAsRanks(3, [&](Communicator& world) -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> team, world.Split(world.rank() / 2));
    Logger logger({.rank = team->rank(), .verbosity = Verbosity::kQuiet});
    if (world.rank() < 2) return TrainRun(in_team, *team, logger).status();
    RETURN_IF_ERROR(TrainRun(beside, *team, logger).status());
    return TrainRun(next, *team, logger).status();
  }));
  for (const TrainRequest& request : {in_team, next}) {
    EXPECT_EQ(FilesOf(request).run, expected.run);
    EXPECT_EQ(FilesOf(request).weights, expected.weights);
  }
  EXPECT_EQ(FilesOf(beside).run, FilesOf(before).run);
  // The counts are those of one run.
  EXPECT_EQ(FilesOf(second).counts["wire_bytes"], FilesOf(in_team).counts["wire_bytes"]);
  EXPECT_EQ(FilesOf(second).counts["exchange_bytes"], FilesOf(in_team).counts["exchange_bytes"]);
  EXPECT_GT(FilesOf(second).counts["exchange_bytes"], 0);
}

TEST(TrainRunTest, AFailureEndsTheRunOfItsTeamOnly) {
  ASSERT_OK(kernels::InitializeIsa());
  const TrainRequest good = SmallRequest("good");
  TrainRequest bad = SmallRequest("bad");
  bad.config.config.model.path = ::testing::TempDir() + "/no_model";
  EXPECT_OK(RunAsRanks(4, [&](Communicator& world) -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> team, world.Split(world.rank() / 2));
    Logger logger({.rank = team->rank(), .verbosity = Verbosity::kQuiet});
    const absl::Status status = TrainRun(world.rank() < 2 ? bad : good, *team, logger).status();
    EXPECT_EQ(status.ok(), world.rank() >= 2) << status;
    return world.Barrier();
  }));
  EXPECT_EQ(FilesOf(good).counts["ranks"], 2);
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
