// Compares what training computes of generated completions with what was recorded while they were sampled: the same
// bits.

#include <optional>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/generation/draw_token.h"
#include "models/generation/generate.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/decoder/shard_scores.h"

namespace reprise::rl {
namespace {

using models::GenerateOptions;
using models::GenerateResult;
using models::SampledCompletion;
using models::SampledTurn;
using models::testing::RandomModel;
using models::testing::RandomTokens;
using models::testing::SmallConfig;

struct Fixture {
  models::DecoderConfig config = SmallConfig();
  std::unique_ptr<models::Model> model = RandomModel(config, 3);
  std::vector<std::vector<int32_t>> tokens;
  std::vector<models::Prompt> prompts;
  GenerateOptions options;

  Fixture() {
    for (uint64_t p = 0; p < 5; ++p) tokens.push_back(RandomTokens(config, 20 + p, 3 + static_cast<int64_t>(p)));
    for (size_t p = 0; p < tokens.size(); ++p) prompts.push_back({tokens[p], p});
    options.num_generations = 4;
    options.max_completion_length = 10;
    options.end_tokens = {1, 5, 9, 12};
    options.sampling.temperature = 0.8f;
    options.seed = 77;
    options.step = 2;
  }

  GenerateResult Run() {
    ThreadPool pool(2);
    return models::Generate(model->decoder(), prompts, options, pool);
  }

  const SampledCompletion& At(const GenerateResult& sampled, int64_t group, int64_t completion) const {
    return sampled.completions[group * options.num_generations + completion];
  }

  std::vector<TrainingGroup> Groups(const GenerateResult& sampled) const {
    std::vector<TrainingGroup> groups;
    for (int64_t p = 0; p < static_cast<int64_t>(prompts.size()); ++p) {
      groups.push_back({tokens[p], {}});
      for (int64_t g = 0; g < options.num_generations; ++g) {
        groups.back().completion_G.push_back(At(sampled, p, g).tokens);
      }
    }
    return groups;
  }

  // Calls compare(completion, its scores) for each completion of a training pass, and compares the routes.
  template <typename Compare>
  void Train(const GenerateResult& sampled, Compare compare) {
    std::vector<float> total(static_cast<size_t>(model->layout().total));
    ShardWorkspace workspace(config);
    models::ShardGradient gradient;
    models::StartShard(config, model->layout(), total.data(), nullptr, &gradient);
    const absl::StatusOr<ShardCounts> counts = AccumulateShard(
        model->decoder(), Groups(sampled), {.temperature = options.sampling.temperature},
        [&](int64_t group, int64_t completion, const DecisionScores& scores, const DecisionGradients&) {
          compare(At(sampled, group, completion), scores);
          return absl::OkStatus();
        },
        &workspace, &gradient);
    ASSERT_OK(counts.status());
    EXPECT_EQ(counts->expert_count_LE, sampled.expert_count_LE);
  }
};

// top_k, top_p and min_new_tokens, one by one and together.
std::vector<GenerateOptions> Restricted(GenerateOptions options) {
  options.reports_behaviour = true;
  std::vector<GenerateOptions> all(4, options);
  all[0].sampling.top_k = 5;
  all[1].sampling.top_p = 0.7f;
  all[2].min_new_tokens = 4;
  all[3].sampling.top_k = 9, all[3].sampling.top_p = 0.8f, all[3].min_new_tokens = 3;
  return all;
}

TEST(GeneratedScoresTest, TrainingLogitsGiveTheBehaviourThatWasRecorded) {
  Fixture fixture;
  for (const GenerateOptions& options : Restricted(fixture.options)) {
    fixture.options = options;
    const GenerateResult sampled = fixture.Run();
    for (const int64_t max_rows : {0, 7}) {
      ShardWorkspace workspace(fixture.config);
      int64_t compared = 0;
      ShowShardLogits(
          fixture.model->decoder(), fixture.Groups(sampled), max_rows,
          [&](int64_t group, int64_t completion, int64_t token, absl::Span<float> logits) {
            const SampledCompletion& expected = fixture.At(sampled, group, completion);
            kernels::SamplingWorkspace room;
            const size_t t = static_cast<size_t>(token);
            EXPECT_EQ(models::BehaviourLogprob(options, token, expected.tokens[t], logits, &room),
                      expected.behaviour_logprobs[t])
                << group << " " << completion << " " << token;
            ++compared;
          },
          &workspace);
      int64_t tokens = 0;
      for (const SampledCompletion& completion : sampled.completions) {
        tokens += static_cast<int64_t>(completion.tokens.size());
      }
      EXPECT_EQ(compared, tokens);
    }
  }
}

void ExpectWhatTrainingRecomputes(Fixture& fixture) {
  fixture.Train(fixture.Run(), [](const SampledCompletion& expected, const DecisionScores& scores) {
    for (size_t t = 0; t < scores.logprob_T.size(); ++t) {
      EXPECT_EQ(scores.logprob_T[t], expected.logprobs[t]) << t;
      EXPECT_EQ(scores.entropy_T[t], expected.entropies[t]) << t;
    }
  });
}

TEST(GeneratedScoresTest, TrainingRecomputesLogProbabilitiesAndRoutes) {
  Fixture fixture;
  ExpectWhatTrainingRecomputes(fixture);
}

// Longer than the panels of a cache and the segments of a sum are.
TEST(GeneratedScoresTest, TrainingRecomputesTheLogProbabilitiesOfLongCompletionsToo) {
  Fixture fixture;
  fixture.config.max_position_embeddings = 640;
  fixture.model = RandomModel(fixture.config, 3);
  fixture.prompts.resize(2);
  fixture.options.num_generations = 2;
  fixture.options.max_completion_length = 600;
  fixture.options.end_tokens.clear();
  fixture.options.slots = 3;
  ExpectWhatTrainingRecomputes(fixture);
}

// A partner whose observation is the whole action and one more token. It ends the episode after an action that ends
// with 9. An action is complete at token 7.
class Echo : public models::Partner {
 public:
  bool CompletesAction(absl::Span<const int32_t> action) const override { return action.back() == 7; }

  absl::StatusOr<std::optional<std::vector<int32_t>>> Answer(int64_t, absl::Span<const int32_t> action,
                                                             bool complete) override {
    if (action.back() == 9) return std::nullopt;
    std::vector<int32_t> observation(action.begin(), action.end());
    observation.push_back(complete ? 2 : 3);
    return observation;
  }
};

TEST(GeneratedScoresTest, TrainingRecomputesTheLogProbabilitiesOfTheActionsOfEpisodes) {
  Fixture fixture;
  fixture.options.max_completion_length = 24;
  fixture.options.max_action_length = 5;
  Echo partner;
  ThreadPool pool(2);
  ASSERT_OK_AND_ASSIGN(const GenerateResult sampled, models::GenerateEpisodes(fixture.model->decoder(), fixture.prompts,
                                                                              fixture.options, partner, pool));
  fixture.Train(sampled, [](const SampledCompletion& expected, const DecisionScores& scores) {
    size_t t = 0;
    for (const SampledTurn& turn : expected.turn_K) {
      t += static_cast<size_t>(turn.observation_tokens);
      for (int64_t i = 0; i < turn.action_tokens; ++i, ++t) EXPECT_EQ(scores.logprob_T[t], expected.logprobs[t]);
    }
  });
}

}  // namespace
}  // namespace reprise::rl
