// Changes all parameters while they are packed: each is changed once, and the packed copy has the change.

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/corruption.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

struct Case {
  const char* name;
  void (*choose)(DecoderConfig& config);
};

class RefreshTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Each, RefreshTest,
                         ::testing::Values(Case{"plain", [](DecoderConfig&) {}},
                                           Case{"tied", [](DecoderConfig& c) { c.tie_word_embeddings = true; }},
                                           Case{"bf16", [](DecoderConfig& c) { c.bf16_weights = true; }},
                                           // More than one block per matrix, many for the lm-head.
                                           Case{"wide",
                                                [](DecoderConfig& c) {
                                                  c.intermediate_size = 1100;
                                                  c.vocab_size = 5001;
                                                }},
                                           Case{"head", [](DecoderConfig& c) { c.value_model = ValueModel::kHead; }},
                                           Case{"network",
                                                [](DecoderConfig& c) { c.value_model = ValueModel::kNetwork; }}),
                         [](const auto& test) { return test.param.name; });

TEST_P(RefreshTest, ChangesEveryParameterOnceAndPacksTheChange) {
  DecoderConfig config = testing::SmallConfig();
  GetParam().choose(config);
  const std::unique_ptr<Model> model = testing::RandomModel(config, 3);
  const absl::Span<float> parameters = model->mutable_parameters();
  std::vector<int> changes(parameters.size());
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::mutex mutex;
    model->Refresh(pool, [&](int64_t first, int64_t size) {
      for (int64_t i = first; i < first + size; ++i) parameters[i] *= 0.5f;
      const std::lock_guard lock(mutex);
      for (int64_t i = first; i < first + size; ++i) ++changes[i];
    });
    EXPECT_EQ(FindCorruption(*model, testing::SequenceBatch(testing::RandomTokens(config, 5, 11))), "");
  }
  EXPECT_EQ(changes, std::vector<int>(parameters.size(), 2));
}

// A tied embedding is part of a matrix: its rounded copy must wait for the last of its changes, which is slow here.
TEST(RefreshTiedTest, EmbeddingsInBf16AreThoseAfterTheChange) {
  DecoderConfig config = testing::SmallConfig();
  config.tie_word_embeddings = config.bf16_weights = true;
  config.vocab_size = 20001;
  const std::unique_ptr<Model> model = testing::RandomModel(config, 3);
  const absl::Span<float> parameters = model->mutable_parameters();
  const ParameterSpec& embedding = model->layout().specs[model->layout().embedding];
  ThreadPool pool(3);
  model->Refresh(pool, [&](int64_t first, int64_t size) {
    if (first + size == embedding.offset + embedding.size) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (int64_t i = first; i < first + size; ++i) parameters[i] *= 0.7f;
  });
  EXPECT_EQ(FindCorruption(*model, testing::SequenceBatch(testing::RandomTokens(config, 5, 11))), "");
}

TEST(RefreshEncoderTest, ChangesTheTensorsOfHeadsTooAndPacksNoLmHead) {
  for (const bool bf16 : {false, true}) {
    DecoderConfig config = testing::SmallConfig();
    config.bf16_weights = bf16;
    config.tie_word_embeddings = true;  // does not matter to an encoder
    DecoderLayout layout = TrunkLayout(config);
    layout.Append("head.weight", {3, config.hidden_size}, ParameterKind::kHead);
    layout.Append("head.bias", {3}, ParameterKind::kVector);
    const std::unique_ptr<Model> model = Model::CreateEncoder(config, layout, /*training=*/true);
    EXPECT_FALSE(model->config().tie_word_embeddings);
    InitializeParameters(config, model->layout(), 3, model->mutable_parameters());
    std::vector<int> changes(model->parameters().size());
    ThreadPool pool(3);
    std::mutex mutex;
    model->Refresh(pool, [&](int64_t first, int64_t size) {
      for (int64_t i = first; i < first + size; ++i) model->mutable_parameters()[i] *= 0.5f;
      const std::lock_guard lock(mutex);
      for (int64_t i = first; i < first + size; ++i) ++changes[i];
    });
    EXPECT_EQ(changes, std::vector<int>(changes.size(), 1));
    EXPECT_EQ(FindCorruption(*model, testing::SequenceBatch(testing::RandomTokens(config, 5, 11))), "");
    model->mutable_parameters()[layout.specs[layout.final_norm - 1].offset] = 2.0f;  // the last expert's down_proj
    EXPECT_EQ(FindCorruption(*model, testing::SequenceBatch(testing::RandomTokens(config, 5, 11))),
              "model.layers.1.mlp.experts.4.down_proj.weight, whose packed copy for the kernels differs");
  }
}

}  // namespace
}  // namespace reprise::models
