#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/attention.h"
#include "models/decoder/inference.h"
#include "models/decoder/load_balancing.h"
#include "models/decoder/testing/reference_decoder.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

using testing::RandomModel;
using testing::RandomTokens;
using testing::SequenceBatch;
using testing::SmallConfig;

std::vector<float> Hidden(const Activations& activations) {
  const int64_t size = activations.rows() * activations.config().hidden_size;
  return {activations.hidden_TD().data, activations.hidden_TD().data + size};
}

class DecoderVariantTest : public ::testing::TestWithParam<int> {
 protected:
  static DecoderConfig Config() {
    DecoderConfig config = SmallConfig();
    if (GetParam() & 1) config.clip_qkv = 0.8;
    if (GetParam() & 2) config.norm_topk_prob = true;
    if (GetParam() & 4) config.tie_word_embeddings = true;
    if (GetParam() & 8) config.num_key_value_heads = config.num_attention_heads;
    return config;
  }
};

INSTANTIATE_TEST_SUITE_P(EveryField, DecoderVariantTest, ::testing::Values(0, 1, 2, 4, 8, 7, 15));

TEST_P(DecoderVariantTest, ForwardAgreesWithTheReferenceInDouble) {
  const DecoderConfig config = Config();
  const std::unique_ptr<Model> model = RandomModel(config, 5);
  const std::vector<int32_t> tokens = RandomTokens(config, 6, 33);
  Activations activations(config, true);
  Forward(model->decoder(), SequenceBatch(tokens), nullptr, &activations);
  const std::vector<double> parameters(model->parameters().begin(), model->parameters().end());
  const auto reference = testing::ReferenceForward(config, model->layout(), parameters, tokens, 1.0);
  for (size_t i = 0; i < reference.hidden_TD.size(); ++i) {
    ASSERT_NEAR(activations.hidden_TD().data[i], reference.hidden_TD[i], 2e-5) << i;
  }
}

TEST(ForwardTest, ASharedPromptGivesTheBitsOfWholeSequences) {
  const DecoderConfig config = SmallConfig();
  const std::unique_ptr<Model> model = RandomModel(config, 5);
  const std::vector<int32_t> prompt = RandomTokens(config, 1, 9);
  PackedBatch group;
  std::vector<std::vector<int32_t>> completions = {RandomTokens(config, 2, 7), RandomTokens(config, 3, 12)};
  for (const auto& completion : completions) {
    group.segments.push_back({group.rows(), static_cast<int64_t>(completion.size()), 2});
    for (size_t i = 0; i < completion.size(); ++i) {
      group.token_T.push_back(completion[i]);
      group.position_T.push_back(static_cast<int32_t>(prompt.size() + i));
    }
  }
  group.segments.push_back({group.rows(), static_cast<int64_t>(prompt.size()), kNoPrefix});
  for (size_t i = 0; i < prompt.size(); ++i) {
    group.token_T.push_back(prompt[i]);
    group.position_T.push_back(static_cast<int32_t>(i));
  }
  Activations together(config, true), alone(config, true);
  Forward(model->decoder(), group, nullptr, &together);
  const std::vector<float> hidden = Hidden(together);
  const size_t width = static_cast<size_t>(config.hidden_size);
  size_t row = 0;
  for (const auto& completion : completions) {
    std::vector<int32_t> whole = prompt;
    whole.insert(whole.end(), completion.begin(), completion.end());
    Forward(model->decoder(), SequenceBatch(whole), nullptr, &alone);
    const std::vector<float> expected = Hidden(alone);
    for (size_t i = 0; i < completion.size() * width; ++i) {
      ASSERT_EQ(hidden[row * width + i], expected[prompt.size() * width + i]) << i;
    }
    for (size_t i = 0; i < prompt.size() * width; ++i) {
      ASSERT_EQ(hidden[(hidden.size() / width - prompt.size()) * width + i], expected[i]) << i;
    }
    row += completion.size();
  }
}

TEST(ForwardCachedTest, PrefillAndDecodeGiveTheBitsOfForward) {
  const DecoderConfig config = SmallConfig();
  const std::unique_ptr<Model> model = RandomModel(config, 5);
  const std::vector<int32_t> tokens = RandomTokens(config, 6, 40);
  Activations whole(config, true), workspace(config, false);
  Forward(model->decoder(), SequenceBatch(tokens), nullptr, &whole);
  const std::vector<float> expected = Hidden(whole);
  const size_t width = static_cast<size_t>(config.hidden_size);

  KeyValueCache prompt(config, 11), own(config, 29);
  size_t done = 0;
  std::vector<int64_t> count_LE = NoExpertCounts(config);
  // The prompt in one run, then runs of 1, 5, 1, ... rows.
  for (size_t rows : {11, 1, 5, 1, 1, 9, 12}) {
    CachedBatch batch;
    batch.runs.push_back({0, static_cast<int64_t>(rows), done == 0 ? &prompt : &own, done == 0 ? nullptr : &prompt});
    for (size_t i = done; i < done + rows; ++i) {
      batch.rows.token_T.push_back(tokens[i]);
      batch.rows.position_T.push_back(static_cast<int32_t>(i));
    }
    ForwardCached(model->decoder(), batch, &workspace, count_LE.data());
    for (size_t i = 0; i < rows * width; ++i) {
      ASSERT_EQ(workspace.hidden_TD().data[i], expected[done * width + i]) << "row " << done << " element " << i;
    }
    done += rows;
  }
  ASSERT_EQ(done, tokens.size());
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto first = count_LE.begin() + layer * config.num_experts;
    EXPECT_EQ(std::accumulate(first, first + config.num_experts, int64_t{0}),
              static_cast<int64_t>(tokens.size()) * config.num_experts_per_tok)
        << "layer " << layer;
  }
  std::vector<int64_t> of_training_LE = NoExpertCounts(config);
  AddExpertCounts(whole, absl::MakeSpan(of_training_LE));
  EXPECT_EQ(count_LE, of_training_LE);
}

// Computes sequences of several lengths on one prompt, then decodes: few rows and many rows, which select different
// divisions of the experts' work.
std::vector<float> HiddenByTeam(const Model& model, const Team& team) {
  const DecoderConfig& config = model.config();
  Activations workspace(config, false);
  KeyValueCache prompt(config, 37);
  std::vector<std::unique_ptr<KeyValueCache>> own;
  std::vector<float> all;
  const auto run = [&](const CachedBatch& batch) {
    ForwardCached(model.decoder(), batch, &workspace, nullptr, team);
    const std::vector<float> hidden = Hidden(workspace);
    all.insert(all.end(), hidden.begin(), hidden.end());
  };
  CachedBatch first;
  first.rows = SequenceBatch(RandomTokens(config, 7, 37));
  first.runs.push_back({0, 37, &prompt, nullptr});
  run(first);
  for (int64_t sequences : {1, 2, 19}) {
    while (static_cast<int64_t>(own.size()) < sequences) own.push_back(std::make_unique<KeyValueCache>(config, 8));
    CachedBatch batch;
    for (int64_t i = 0; i < sequences; ++i) {
      KeyValueCache* const cache = own[i].get();
      batch.runs.push_back({i, 1, cache, &prompt});
      batch.rows.token_T.push_back(static_cast<int32_t>((i * 7 + sequences) % config.vocab_size));
      batch.rows.position_T.push_back(static_cast<int32_t>(37 + cache->count()));
    }
    run(batch);
  }
  return all;
}

TEST(ForwardCachedTest, ATeamGivesTheBitsOfOneThread) {
  const std::unique_ptr<Model> model = RandomModel(SmallConfig(), 5);
  const std::vector<float> alone = HiddenByTeam(*model, Team());
  for (int threads : {1, 2, 3, 16}) {
    ThreadPool pool(threads);
    const std::vector<float> shared = HiddenByTeam(*model, Team(pool));
    ASSERT_EQ(shared.size(), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(shared[i], alone[i]) << threads << " threads, element " << i;
  }
}

// By obvious code: the largest of the causal products of rotated queries and keys.
std::vector<double> LargestLogits(const Activations& activations) {
  const DecoderConfig& config = activations.config();
  const int64_t width = config.head_width(), group = config.num_attention_heads / config.num_key_value_heads;
  std::vector<double> largest;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const kernels::Rows& qkv = activations.layer(layer).qkv_TC;
    for (int64_t head = 0; head < config.num_attention_heads; ++head) {
      double most = -1e30;
      for (int64_t t = 0; t < activations.rows(); ++t) {
        for (int64_t s = 0; s <= t; ++s) {
          double dot = 0;
          for (int64_t i = 0; i < width; ++i) {
            dot += static_cast<double>(qkv[t][head * width + i]) *
                   static_cast<double>(qkv[s][config.hidden_size + head / group * width + i]);
          }
          most = std::max(most, dot / std::sqrt(static_cast<double>(width)));
        }
      }
      largest.push_back(most);
    }
  }
  return largest;
}

TEST(AttentionClipTest, TheLargestLogitsAreThoseOfAllRowsHoweverTheyAreComputed) {
  const DecoderConfig config = SmallConfig();
  const std::unique_ptr<Model> model = RandomModel(config, 5);
  const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 33));
  Activations activations(config, true), less(config, true, /*recompute=*/true);
  Forward(model->decoder(), batch, nullptr, &activations);
  Forward(model->decoder(), batch, nullptr, &less);
  const std::vector<double> expected = LargestLogits(activations);
  ASSERT_EQ(activations.largest_logit_LH().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(activations.largest_logit_LH()[i], expected[i], 1e-5) << i;
  EXPECT_EQ(activations.largest_logit_LH(), less.largest_logit_LH());
  Activations sampling(config, false);
  EXPECT_TRUE(sampling.largest_logit_LH().empty());
}

// In a model of one layer the clip does not change the states that the logits are of.
TEST(AttentionClipTest, TheLargestLogitOfAHeadFallsToTheThreshold) {
  DecoderConfig config = SmallConfig();
  config.num_hidden_layers = 1;
  for (const int64_t key_heads : {4, 2, 1}) {
    config.num_key_value_heads = key_heads;
    const std::unique_ptr<Model> model = RandomModel(config, 5);
    const PackedBatch batch = SequenceBatch(RandomTokens(config, 6, 33));
    const auto largest = [&] {
      Activations activations(config, true);
      Forward(model->decoder(), batch, nullptr, &activations);
      return std::vector<float>(activations.largest_logit_LH().begin(), activations.largest_logit_LH().end());
    };
    const std::vector<float> before = largest();
    std::vector<float> sorted = before;
    std::sort(sorted.begin(), sorted.end());
    const float threshold = (sorted[1] + sorted[2]) / 2;  // two heads have more
    ThreadPool pool(1);
    EXPECT_EQ(ClipAttention(config, model->layout(), before, threshold, model->mutable_parameters()), 2);
    model->Refresh(pool);
    const std::vector<float> after = largest();
    const int64_t group = 4 / key_heads;
    for (int64_t key_head = 0; key_head < key_heads; ++key_head) {
      float least = 1;  // the strictest factor of the group
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        least = std::min(least, threshold / before[head]);
      }
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
        const size_t h = static_cast<size_t>(head);
        const float own = std::min(1.0f, threshold / before[h]);
        EXPECT_NEAR(after[h], before[h] * std::sqrt(own * least), 1e-5f * before[h]) << key_heads << " " << head;
        EXPECT_LE(after[h], std::max(threshold * 1.00001f, before[h]));
      }
    }
    EXPECT_EQ(ClipAttention(config, model->layout(), before, 1e9, model->mutable_parameters()), 0);
    EXPECT_EQ(largest(), after);
  }
}

}  // namespace
}  // namespace reprise::models
