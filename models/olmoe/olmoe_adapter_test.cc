#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/olmoe/olmoe_model.h"
#include "models/olmoe/weights.h"

namespace reprise::models {
namespace {

using reprise::testing::GoldenModels;
using reprise::testing::GoldensDirectory;
using reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;
constexpr char kText[] = "operation: pending; step: 0";

class OlmoeAdapterTest : public ::testing::Test {
 protected:
  OlmoeAdapterTest() { std::filesystem::remove_all(directory_); }

  OlmoeModel Loaded(Backend backend = Backend::kTrainable) {
    OlmoeModel model(pool_);
    EXPECT_OK(model.Load(base_, backend));
    return model;
  }

  // Changes every parameter of the decoder.
  static void Disturb(OlmoeModel& model) {
    for (MutableTensor& tensor : model.Parameters()) {
      if (absl::StartsWith(tensor.name, "action_head.")) continue;
      for (float& value : tensor.values) value = 0.5f * value + 0.01f;
    }
    model.Refresh();
  }

  // Returns a model whose adapters change its outputs.
  OlmoeModel WithAdapters() {
    OlmoeModel model = Loaded();
    EXPECT_OK(model.AddLoraAdapter({.r = 2, .alpha = 4}));
    Disturb(model);
    return model;
  }

  const std::string base_ = GoldensDirectory() + "/models/" + GoldenModels().at(0);
  const std::string directory_ = ::testing::TempDir() + "/olmoe_adapter";
  ThreadPool pool_{2};
};

TEST_F(OlmoeAdapterTest, NeedsALoadedTrainableModel) {
  OlmoeModel model(pool_);
  EXPECT_THAT(model.SaveLoraAdapter(directory_), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_THAT(model.LoadLoraAdapter(directory_), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_THAT(model.AddLoraAdapter({.r = 2}), StatusIs(kFailedPrecondition, "Model not loaded"));
  EXPECT_FALSE(model.Info().has_lora);
  model = Loaded(Backend::kInference);
  EXPECT_THAT(model.AddLoraAdapter({.r = 2}), StatusIs(kFailedPrecondition, HasSubstr("the trainable backend")));
  model = Loaded();
  EXPECT_THAT(model.SaveLoraAdapter(directory_), StatusIs(kFailedPrecondition, HasSubstr("has no adapters: call")));
  EXPECT_THAT(model.AddLoraAdapter({.r = 0}), StatusIs(kInvalidArgument, "lora.r is 0; it must be at least 1"));
  EXPECT_THAT(model.AddLoraAdapter({.r = 4000}), StatusIs(kInvalidArgument, HasSubstr("set lora.r to at most")));
  EXPECT_THAT(model.LoadLoraAdapter(directory_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("adapter_config.json")));
  EXPECT_FALSE(model.Info().has_lora);
}

TEST_F(OlmoeAdapterTest, NewAdaptersChangeNoOutputAndAreTheParameters) {
  OlmoeModel model = Loaded();
  const std::vector<float> before = *model.Encode(kText);
  const int64_t whole = model.Info().parameters;
  ASSERT_OK(model.AddLoraAdapter({.r = 2}));
  EXPECT_EQ(*model.Encode(kText), before);
  EXPECT_TRUE(model.Info().has_lora);
  EXPECT_LT(model.Info().parameters, whole);
  EXPECT_THAT(model.Parameters()[0].name, HasSubstr("layers.0.self_attn.q_proj.lora_A.weight"));
  Disturb(model);
  EXPECT_NE(*model.Encode(kText), before);
  ASSERT_OK(model.AddLoraAdapter({.r = 3}));  // of the same decoder
  EXPECT_EQ(*model.Encode(kText), before);
}

// Not before memory is taken: the limit holds for both copies together.
TEST_F(OlmoeAdapterTest, AdaptersForWhichThereIsNoMemoryAreRefused) {
  ASSERT_OK(WithAdapters().SaveLoraAdapter(directory_));
  const int64_t whole = MemoryOf(Loaded().model()->config(), /*training=*/true);
  OlmoeModel model(pool_, {.memory_bytes = whole - 1});
  EXPECT_THAT(model.Load(base_), StatusIs(kInvalidArgument, AllOf(HasSubstr("and the limit is "), HasSubstr(base_))));
  model = OlmoeModel(pool_, {.memory_bytes = whole + whole / 2});
  ASSERT_OK(model.Load(base_));
  const std::vector<float> before = *model.Encode(kText);
  const auto refused = StatusIs(kInvalidArgument, AllOf(HasSubstr(" GiB that are in use"), HasSubstr("the limit is ")));
  EXPECT_THAT(model.AddLoraAdapter({.r = 2}), refused);
  EXPECT_THAT(model.LoadLoraAdapter(directory_), refused);
  EXPECT_FALSE(model.Info().has_lora);
  EXPECT_EQ(*model.Encode(kText), before);
  model = OlmoeModel(pool_, {.memory_bytes = 3 * whole});
  ASSERT_OK(model.Load(base_));
  EXPECT_OK(model.AddLoraAdapter({.r = 2}));
  EXPECT_OK(model.LoadLoraAdapter(directory_));
}

TEST_F(OlmoeAdapterTest, SavedAdaptersAreLoadedWithTheModelOrAfterIt) {
  const OlmoeModel model = WithAdapters();
  const std::vector<float> expected = *model.Encode(kText);
  ASSERT_OK(model.SaveLoraAdapter(directory_));
  OlmoeModel after = Loaded();
  ASSERT_OK(after.AddLoraAdapter({.r = 5, .targets = {true}}));
  ASSERT_OK(after.LoadLoraAdapter(directory_));
  EXPECT_EQ(*after.Encode(kText), expected);
  OlmoeModel with(pool_);
  ASSERT_OK(with.Load(base_, Backend::kTrainable, directory_));
  EXPECT_EQ(*with.Encode(kText), expected);
  EXPECT_TRUE(with.Info().has_lora);
  EXPECT_EQ(with.Info().warning, "");
  ASSERT_OK(with.Load(base_, Backend::kInference, directory_));
  EXPECT_FALSE(with.Info().has_lora);
  EXPECT_THAT(with.Info().warning, AllOf(HasSubstr(directory_), HasSubstr("are ignored")));
  EXPECT_THAT(model.SaveLoraAdapter(directory_), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("adapter_")));
  std::filesystem::remove(directory_ + "/adapter_model.safetensors");
  EXPECT_THAT(after.LoadLoraAdapter(directory_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("adapter_model")));
  EXPECT_EQ(*after.Encode(kText), expected);
}

TEST_F(OlmoeAdapterTest, ACopyAndAStateDictHaveTheAdapters) {
  OlmoeModel model = WithAdapters();
  const std::vector<float> expected = *model.Encode(kText);
  const OlmoeModel copy = model.Copy();
  EXPECT_EQ(*copy.Encode(kText), expected);
  Disturb(model);
  EXPECT_NE(*model.Encode(kText), expected);
  EXPECT_EQ(*copy.Encode(kText), expected);
  ASSERT_OK(model.LoadStateDict(copy.GetStateDict()));
  EXPECT_EQ(*model.Encode(kText), expected);
}

}  // namespace
}  // namespace reprise::models
