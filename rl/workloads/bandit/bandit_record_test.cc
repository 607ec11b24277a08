#include "rl/workloads/bandit/bandit_record.h"

#include <algorithm>
#include <any>
#include <functional>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/record/divergence.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 3;

Config TestConfig() {
  Config config;
  config.bandit.features = 3;
  config.bandit.actions = 4;
  config.bandit.masked_share = 0.5;
  config.rollout.prompts_per_step = 2;
  config.rollout.num_generations = 2;
  return config;
}

// A step of training in which the best action is chosen everywhere.
StepRecord StepOf(const Config& config) {
  const BanditWorld world(config.bandit, kSeed);
  StepRecord record;
  record.phase = Phase::kTraining;
  record.step = 5;
  for (int64_t prompt = 0; prompt < config.rollout.prompts_per_step; ++prompt) {
    record.task_P.push_back(BanditTask(world, Purpose::kTask, record.step, prompt));
    for (int64_t sample = 0; sample < config.rollout.num_generations; ++sample) {
      record.episode_N.push_back(BanditEpisode(record.task_P.back(), sample, GetProblem(record.task_P.back()).best));
      EpisodeRecord& episode = record.episode_N.back();
      episode.logprobs = {-0.5f};
      episode.rewards_F = {1.0};
      episode.reward = 1;
    }
  }
  return record;
}

StepTables MakeTables(const StepRecord& record) {
  StepTables step = {record.phase, record.step, BanditTables(record)};
  for (StreamTable& results : ResultTables(record, /*has_counts=*/false)) step.tables.push_back(std::move(results));
  return step;
}

int32_t Forbidden(const BanditProblem& problem) {
  return static_cast<int32_t>(std::find(problem.allowed_A.begin(), problem.allowed_A.end(), 0) -
                              problem.allowed_A.begin());
}

BanditProblem& Problem(StepRecord& record, size_t prompt) {
  return *std::any_cast<BanditProblem>(&record.task_P[prompt].content);
}

TEST(BanditRecordTest, IsReadAsItWasWritten) {
  const Config config = TestConfig();
  const StepTables step = MakeTables(StepOf(config));
  ASSERT_OK(CheckBanditTables(config, step));
  const StepRecord read = RecordOfTables(BanditWorld(config.bandit, kSeed), step);
  const auto difference = FirstDivergence(BanditSchema(config), step, MakeTables(read), {}, Digests::kWhereBoth);
  EXPECT_FALSE(difference.has_value()) << difference->ToString();
}

TEST(BanditRecordTest, CorruptionIsRejectedWithItsPlace) {
  struct Case {
    std::function<void(StepRecord&)> corrupt;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](StepRecord& r) { r.task_P[1].prompt = 2; }, "it is not the next prompt"},
      {[](StepRecord& r) { r.task_P.push_back(r.task_P[0]), r.task_P.back().prompt = 2; }, "not the next prompt"},
      {[](StepRecord& r) { Problem(r, 0).feature_F.pop_back(); }, "its features are not bandit.features"},
      {[](StepRecord& r) { Problem(r, 0).feature_F[0] = 1.0f / 0.0f; }, "its features are not bandit.features"},
      {[](StepRecord& r) { Problem(r, 1).allowed_A = {1, 0, 0, 0}; }, "its allowed actions are not at least two"},
      {[](StepRecord& r) { Problem(r, 1).allowed_A = {1, 0, 0, 0, 1}; }, "its allowed actions are not at least two"},
      {[](StepRecord& r) { Problem(r, 1).best = Forbidden(Problem(r, 1)); }, "its best action is not allowed"},
      {[](StepRecord& r) { r.episode_N[3].sample = 0; }, "it is not the next sample of its problem"},
      {[](StepRecord& r) { r.episode_N.pop_back(); }, "it lacks an episode"},
      {[](StepRecord& r) { r.episode_N.push_back(r.episode_N[3]); }, "it belongs to no problem"},
      {[](StepRecord& r) { r.episode_N[0] = BanditEpisode(r.task_P[0], 0, 77); }, "its action is not allowed"},
      {[](StepRecord& r) { r.episode_N[0] = BanditEpisode(r.task_P[0], 0, -1); }, "its action is not allowed"},
      {[](StepRecord& r) { r.episode_N[1].logprobs.clear(); }, "it has not exactly one log-probability"},
      {[](StepRecord& r) { r.episode_N[1].ref_logprobs = {0, 0}; }, "under the reference"},
      {[](StepRecord& r) { r.episode_N[1].rewards_F.push_back(1); }, "it has another number of rewards"},
      {[](StepRecord& r) { r.episode_N[2].advantage = 1e19; }, "a number is out of bounds"},
      {[](StepRecord& r) { r.episode_N[2].rewards_F[0] = 0.0 / 0.0; }, "a number is out of bounds"},
  };
  const Config config = TestConfig();
  for (const Case& each : cases) {
    StepRecord record = StepOf(config);
    each.corrupt(record);
    EXPECT_THAT(CheckBanditTables(config, MakeTables(record)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(each.message)))
        << each.message;
  }
}

}  // namespace
}  // namespace reprise::rl
