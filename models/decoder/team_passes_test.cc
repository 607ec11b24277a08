// The passes of training give the same bits, whatever threads divide their work.

#include <cstring>
#include <vector>

#include "core/parallel/helpers.h"
#include "gtest/gtest.h"
#include "models/decoder/decoder.h"
#include "models/decoder/scoring.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

constexpr float kTemperature = 0.7f;

// Wide enough that rows, columns, outputs, heads, experts and the vocabulary (of three segments) can all be divided.
DecoderConfig WideConfig(bool clips) {
  DecoderConfig config = testing::SmallConfig();
  config.hidden_size = 192;
  config.num_attention_heads = 6;
  config.num_key_value_heads = 3;
  config.intermediate_size = 72;
  config.num_experts = 7;
  config.num_experts_per_tok = 2;
  config.vocab_size = 1100;
  config.max_position_embeddings = 128;
  if (clips) config.clip_qkv = 0.8;
  return config;
}

struct Passes {
  std::vector<float> gradient, logprobs;
};

// Runs three batches of one shard, so that chains continue from one call to the next; the second batch has no rows.
Passes RunPasses(const Model& model, bool recompute, const Team& team) {
  const DecoderConfig& config = model.config();
  Passes passes;
  passes.gradient.assign(static_cast<size_t>(model.layout().total), 0.0f);
  std::vector<float> open(passes.gradient.size());
  ShardGradient gradient;
  StartShard(config, model.layout(), passes.gradient.data(), open.data(), &gradient);
  const AuxiliaryGradient auxiliary_E(static_cast<size_t>(config.num_experts), 0.05f);
  for (const int64_t rows : {101, 0, 120}) {
    const std::vector<int32_t> tokens = testing::RandomTokens(config, static_cast<uint64_t>(rows), rows);
    Activations activations(config, /*training=*/true, recompute);
    Forward(model.decoder(), testing::SequenceBatch(tokens), nullptr, &activations, team);
    ScoredRows scored;
    std::vector<float> weights, dentropy;
    for (int64_t t = 0; t + 1 < rows; ++t) {
      scored.Add(t, &tokens[t + 1], 1);
      weights.push_back(0.3f * static_cast<float>(t % 5) - 0.5f);
      dentropy.push_back(0.1f * static_cast<float>(t % 3) - 0.1f);
    }
    ScoreBuffers buffers;
    ScoreForward(model.decoder(), activations, scored, kTemperature, &buffers, team);
    passes.logprobs.insert(passes.logprobs.end(), buffers.logprob.begin(), buffers.logprob.begin() + scored.targets());
    std::vector<float> dhidden_TD(static_cast<size_t>(rows * config.hidden_size));
    const bool last = rows == 120;
    ScoreBackward(model.decoder(), activations, scored, {.dlogprob = weights.data(), .dentropy_S = dentropy.data()},
                  &buffers, dhidden_TD.data(), {&gradient, nullptr, last}, team);
    Backward(model.decoder(), auxiliary_E, &activations, nullptr, dhidden_TD.data(), {&gradient, nullptr, last}, team);
  }
  return passes;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class TeamPassesTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(ClippedOrNot, TeamPassesTest, ::testing::Bool());

TEST_P(TeamPassesTest, HaveTheSameBitsForATeamOfAnySize) {
  const auto model = testing::RandomModel(WideConfig(GetParam()), 3);
  for (const bool recompute : {false, true}) {
    const Passes alone = RunPasses(*model, recompute, Team());
    for (const int threads : {2, 3, 5}) {
      ThreadPool pool(threads);
      const Passes shared = RunPasses(*model, recompute, Team(pool));
      EXPECT_TRUE(SameBits(alone.gradient, shared.gradient)) << threads;
      EXPECT_TRUE(SameBits(alone.logprobs, shared.logprobs)) << threads;
    }
  }
}

TEST(TeamPassesOfAdaptersTest, HaveTheSameBitsForATeamOfAnySize) {
  DecoderConfig config = WideConfig(false);
  config.lora.r = 5;
  const auto model = testing::RandomModel(config, 3);
  for (const bool recompute : {false, true}) {
    const Passes alone = RunPasses(*model, recompute, Team());
    for (const int threads : {2, 5}) {
      ThreadPool pool(threads);
      const Passes shared = RunPasses(*model, recompute, Team(pool));
      EXPECT_TRUE(SameBits(alone.gradient, shared.gradient)) << threads;
      EXPECT_TRUE(SameBits(alone.logprobs, shared.logprobs)) << threads;
    }
  }
}

TEST_P(TeamPassesTest, HaveTheSameBitsWhenIdleWorkersHelp) {
  const auto model = testing::RandomModel(WideConfig(GetParam()), 3);
  const Passes alone = RunPasses(*model, false, Team());
  ThreadPool pool(3);
  Helpers helpers(pool);
  std::vector<Passes> shared(3);
  // The first round has two shards for three workers, the second has one.
  for (const int shards : {2, 1}) {
    helpers.Run([&](int worker) {
      if (worker < shards) shared[worker] = RunPasses(*model, false, Team(helpers, worker));
    });
    for (int shard = 0; shard < shards; ++shard) {
      EXPECT_TRUE(SameBits(alone.gradient, shared[shard].gradient)) << shard;
      EXPECT_TRUE(SameBits(alone.logprobs, shared[shard].logprobs)) << shard;
    }
  }
}

}  // namespace
}  // namespace reprise::models
