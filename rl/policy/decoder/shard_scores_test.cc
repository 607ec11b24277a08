#include "rl/policy/decoder/shard_scores.h"

#include <algorithm>
#include <map>

#include "core/parallel/thread_pool.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/decoder/shard_testing.h"

namespace reprise::rl {
namespace {

using testing::ExampleShard;

constexpr float kTemperature = 0.8f;

using Scores = std::map<std::pair<int64_t, int64_t>, std::vector<float>>;

Scores ScoresOf(const models::Model& model, const ExampleShard& shard, int64_t max_rows) {
  Scores scores;
  ShardWorkspace workspace(shard.config);
  ScoreShard(
      model.decoder(), shard.groups, max_rows, kTemperature,
      [&](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float>) {
        EXPECT_TRUE(
            scores.emplace(std::make_pair(group, completion), std::vector<float>(logprob_T.begin(), logprob_T.end()))
                .second);
      },
      &workspace);
  return scores;
}

// The results of training on the same shard.
struct Training {
  Scores scores;
  std::vector<int64_t> expert_count_LE;
};

Training Train(const ExampleShard& shard) {
  Training training;
  std::vector<float> total(static_cast<size_t>(shard.model->layout().total));
  ShardWorkspace workspace(shard.config);
  models::ShardGradient gradient;
  models::StartShard(shard.config, shard.model->layout(), total.data(), nullptr, &gradient);
  const CompletionLoss loss = [&](int64_t group, int64_t completion, const DecisionScores& scores,
                                  const DecisionGradients&) {
    training.scores[{group, completion}].assign(scores.logprob_T.begin(), scores.logprob_T.end());
    return absl::OkStatus();
  };
  const absl::StatusOr<ShardCounts> counts =
      AccumulateShard(shard.model->decoder(), shard.groups, {.temperature = kTemperature}, loss, &workspace, &gradient);
  EXPECT_OK(counts);
  if (counts.ok()) training.expert_count_LE = counts->expert_count_LE;
  return training;
}

TEST(ScoreShardTest, ReturnsTheBitsOfTrainingWhereverBatchesAreCut) {
  const ExampleShard shard;
  const Training training = Train(shard);
  ASSERT_EQ(training.scores.size(), 12u);
  for (int64_t max_rows : {0, 1, 7, 16, 25, 1000}) EXPECT_EQ(ScoresOf(*shard.model, shard, max_rows), training.scores);
}

TEST(ScoreShardTest, NeedsNoTrainingCopiesOfTheWeights) {
  const ExampleShard shard;
  const auto copy = models::Model::Create(shard.config, /*training=*/false);
  std::copy(shard.model->parameters().begin(), shard.model->parameters().end(), copy->mutable_parameters().begin());
  ThreadPool pool(1);
  copy->Refresh(pool);
  EXPECT_EQ(ScoresOf(*copy, shard, 7), ScoresOf(*shard.model, shard, 0));
  copy->mutable_parameters()[100] += 0.5f;  // shows that the equality above can fail
  copy->Refresh(pool);
  EXPECT_NE(ScoresOf(*copy, shard, 7), ScoresOf(*shard.model, shard, 0));
}

TEST(CountShardExpertsTest, CountsWhatTrainingCounts) {
  const ExampleShard shard;
  const Training training = Train(shard);
  ShardWorkspace workspace(shard.config);
  for (int64_t max_rows : {0, 9, 25}) {
    EXPECT_EQ(CountShardExperts(shard.model->decoder(), shard.groups, max_rows, &workspace), training.expert_count_LE);
  }
}

}  // namespace
}  // namespace reprise::rl
