// Promise: a memory agent begins with the weights and texts that its configuration names, and what does not go together
// is refused.

#include "tests/workloads/memory_agent_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/decoder/parameters.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/weights.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/check.h"
#include "rl/config/load.h"
#include "rl/config/preset_testing.h"
#include "rl/policy/encoder/encoder_policy.h"
#include "rl/run/prepare.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class MemoryAgentModelTest : public ::testing::Test {
 protected:
  // Returns the flat weights that a run with this model.path begins with, which has so many files: config, weights, the
  // tokenizer's two.
  static std::vector<float> FirstWeights(const std::string& path, size_t files) {
    auto parts = PrepareRun(ConfigOf("[run]\nworkload = \"memory_agent\"\n[model]\npath = \"" + path + "\"\n"));
    EXPECT_OK(parts);
    if (!parts.ok()) return {};
    EXPECT_EQ(parts->external_files.size(), files);
    const absl::Span<const float> weights = parts->workload->policy().parameters();
    return {weights.begin(), weights.end()};
  }
  const std::string directory_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(MemoryAgentModelTest, ARunBeginsWithAnExportedPolicyAndItsHead) {
  Config config = AgentConfig();
  SelectPreset("ppo", &config.algorithm);  // has a value function, which is not exported
  auto parts = PrepareRun(config);
  ASSERT_OK(parts);
  ASSERT_OK(parts->workload->Export(PosixFileSystem(), directory_));
  const absl::StatusOr<std::string> json = ReadFile(PosixFileSystem(), directory_ + "/config.json", 1 << 16);
  ASSERT_OK(json);
  EXPECT_THAT(*json, HasSubstr("\"OlmoeModel\""));  // Transformers' class without an lm-head
  const std::unique_ptr<Policy> exported = parts->workload->policy().FrozenCopy();
  const absl::Span<const float> weights = exported->parameters();
  EXPECT_EQ(FirstWeights(directory_, /*files=*/4), std::vector<float>(weights.begin(), weights.end()));
  EXPECT_THAT(parts->workload->Export(PosixFileSystem(), directory_),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("export to an empty directory")));
}

// A digit that only some states have is missed before the first step.
TEST_F(MemoryAgentModelTest, ATokenizerThatCannotWriteEveryStateIsRejected) {
  auto parts = PrepareRun(AgentConfig());
  ASSERT_OK(parts);
  ASSERT_OK(parts->workload->Export(PosixFileSystem(), directory_));
  const std::string path = directory_ + "/tokenizer.json";
  ASSERT_OK_AND_ASSIGN(const std::string tokenizer, ReadFile(PosixFileSystem(), path, 1 << 20));
  const size_t five = tokenizer.find("\"5\":");
  ASSERT_NE(five, tokenizer.npos);
  std::ofstream(path) << tokenizer.substr(0, five) << "\"55\":" << tokenizer.substr(five + 4);
  const auto refused =
      PrepareRun(ConfigOf("[run]\nworkload = \"memory_agent\"\n[model]\npath = \"" + directory_ + "\"\n"));
  EXPECT_THAT(refused.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no token for the byte 0x35")));
  EXPECT_THAT(refused.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("that can write every state")));
}

// A frozen model is read again at the end of a run, and adapters on another one would be exported as if they fitted.
TEST_F(MemoryAgentModelTest, AFrozenModelThatChangedIsRejected) {
  auto parts = PrepareRun(AgentConfig());
  ASSERT_OK(parts);
  ASSERT_OK(parts->workload->Export(PosixFileSystem(), directory_));
  ModelConfig model;
  model.path = directory_;
  ASSERT_OK_AND_ASSIGN(const std::vector<ExternalFile> begun, DigestModelFiles(model));
  EXPECT_OK(RequireUnchangedModel(model, begun));
  std::ofstream(directory_ + "/config.json", std::ios::app) << "\n";
  EXPECT_THAT(RequireUnchangedModel(model, begun),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("model/config.json is another file")));
}

// A head of which a tensor is missing is not taken for that of a language model.
TEST_F(MemoryAgentModelTest, AnIncompleteHeadIsNamed) {
  const Config config = AgentConfig();
  auto parts = PrepareRun(config);
  ASSERT_OK(parts);
  ASSERT_OK(parts->workload->Export(PosixFileSystem(), directory_));
  FlatLayout layout = parts->workload->policy().layout();
  layout.specs.pop_back();
  std::filesystem::remove(directory_ + "/model.safetensors");
  ASSERT_OK(models::SaveWeights(PosixFileSystem(), directory_, layout, parts->workload->policy().parameters()));
  EXPECT_THAT(
      PrepareRun(ConfigOf("[run]\nworkload = \"memory_agent\"\n[model]\npath = \"" + directory_ + "\"\n")).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("action_head.1.bias")));
}

// Its weights are the frozen encoder's with the adapters merged in; these start another run.
TEST_F(MemoryAgentModelTest, ARunWithAdaptersIsExportedMergedAndWithThem) {
  const Config config = AgentConfig("[lora]\nr = 2\ndropout = 0\n");
  auto parts = PrepareRun(config), other = PrepareRun(config);
  ASSERT_OK(parts);
  ASSERT_OK(other);
  Policy& policy = parts->workload->policy();
  EXPECT_LT(policy.layout().total, PrepareRun(AgentConfig())->workload->policy().layout().total);
  for (const ParameterSpec& spec : policy.layout().specs) {
    for (int64_t i = 0; i < spec.size; ++i) {
      policy.mutable_parameters()[spec.offset + i] += 0.01f * static_cast<float>(i % 7 + 1);
    }
  }
  policy.Refresh(*parts->pool);
  ASSERT_OK(parts->workload->Export(PosixFileSystem(), directory_));
  auto merged = PrepareRun(ConfigOf("[run]\nworkload = \"memory_agent\"\n[model]\npath = \"" + directory_ + "\"\n"));
  ASSERT_OK(merged);
  const std::vector<std::vector<int32_t>> texts = {{1, 2, 3, 4, 5}, {7, 6}, {100}};
  const auto logits = [&](const Policy& of) {
    const auto& encoder = static_cast<const EncoderPolicy&>(of);
    return *encoder.Logits(texts, encoder.NewWorkspace({}, Team()).get());
  };
  const std::vector<float> expected = logits(policy), first = logits(merged->workload->policy());
  ASSERT_EQ(first.size(), expected.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i], expected[i], 1e-5) << i;
  EXPECT_NE(logits(other->workload->policy()), expected);
  ASSERT_OK(other->workload->TakeAdapters(directory_ + "/adapter"));
  const ParameterSpec& head = policy.layout().specs[policy.layout().specs.size() - 4];
  EXPECT_EQ(head.name, "action_head.0.weight");
  const auto adapters = [&](const RunParts& of) {
    return of.workload->policy().parameters().first(static_cast<size_t>(head.offset));
  };
  EXPECT_EQ(adapters(*other), adapters(*parts));
  EXPECT_THAT(merged->workload->TakeAdapters(directory_ + "/adapter"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("set lora.r")));
}

TEST_F(MemoryAgentModelTest, ALanguageModelIsReadWithoutItsHead) {
  const Config config = AgentConfig();
  const models::DecoderConfig decoder = FromScratchDecoder(config.model);
  const models::DecoderLayout layout = models::MakeDecoderLayout(decoder);
  std::vector<float> weights(static_cast<size_t>(layout.total));
  models::InitializeParameters(decoder, layout, 3, absl::MakeSpan(weights));
  ASSERT_OK_AND_ASSIGN(const models::Tokenizer tokenizer, LoadTokenizer(config.model));
  ASSERT_OK(models::ExportModel(PosixFileSystem(), directory_, decoder, weights,
                                {tokenizer.json(), tokenizer.config_json()}));
  const std::vector<float> first = FirstWeights(directory_, /*files=*/5);  // also generation_config.json
  const size_t trunk = static_cast<size_t>(models::TrunkLayout(decoder).total);
  ASSERT_GT(first.size(), trunk);
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + static_cast<int64_t>(trunk), weights.begin()));
}

TEST(MemoryAgentConfigTest, ValuesThatDoNotGoTogetherAreRejected) {
  const auto check = [](const std::string& memory) { return CheckConfig(AgentConfig("", memory), 1); };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  Config config = AgentConfig();
  config.memory.stage1_steps = config.memory.stage2_steps = config.memory.stage3_steps = 0;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("give at least one of the stages steps")));
  EXPECT_THAT(check("task_weight = 0\nefficiency_weight = 0\nquality_weight = 0\n"),
              StatusIs(kInvalid, HasSubstr("set at least one of them")));
  EXPECT_THAT(check("failure_reward = 1e-300\n"), StatusIs(kInvalid, HasSubstr("at least 1e-06 in magnitude")));
  EXPECT_OK(check("failure_reward = 0\n"));
  EXPECT_THAT(check("optimal_latency = 2000\n"), StatusIs(kInvalid, HasSubstr("is more than memory.max_latency")));
  config = AgentConfig();
  config.evaluation.num_prompts = 1 << 23;
  config.evaluation.num_generations = 1;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("evaluation.num_prompts 8388608")));
  EXPECT_THAT(LoadConfig("[memory]\nstage1_behaviour = \"greedy\"\n", "c.toml", {}).status(),
              StatusIs(kInvalid, HasSubstr("memory.stage1_behaviour")));
}

TEST(MemoryAgentConfigTest, FactsNeedAThirdStageAndAShortTermMemoryThatForgets) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_OK(CheckConfig(FactsConfig(), 1));
  Config config = FactsConfig();
  config.memory.stage3_steps = 0;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("memory.task facts is about the third stage")));
  config = FactsConfig();
  config.memory.buffer_size = 1;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("set optimal_retrieved below buffer_size")));
  config = FactsConfig();
  config.memory.context_window = kFactsLongestMessage - 1;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("memory.context_window 36 cuts off messages")));
  config = FactsConfig();
  config.memory.reward = MemoryReward::kAgemem, SelectPreset("grpo", &config.algorithm);
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("memory.max_rounds 8 is less than the 14")));
  config = FactsConfig();
  config.memory.buffer_size = 5;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("memory.buffer_size 5 may hold a fact")));
  config = FactsConfig();
  config.memory.context_window = 161;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(kInvalid, HasSubstr("memory.context_window 161 may hold a summary")));
}

TEST(MemoryAgentConfigTest, AModelThatCannotReadStatesIsRejectedOrWarnedAbout) {
  Config config = AgentConfig();
  config.model.max_position_embeddings = 8;
  auto parts = PrepareRun(config);
  ASSERT_OK(parts);
  ASSERT_FALSE(parts->warnings.empty());
  EXPECT_THAT(parts->warnings[0], HasSubstr("positions (model.max_position_embeddings)"));
  config = AgentConfig();
  config.model.vocab_size = 100;
  EXPECT_THAT(PrepareRun(config).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("model.vocab_size")));
  config = AgentConfig();
  config.model.hidden_size = 1, config.model.num_attention_heads = config.model.num_key_value_heads = 1;
  EXPECT_FALSE(PrepareRun(config).ok());
}

TEST(MemoryAgentConfigTest, WarnsOfExplorationThatIsLearnedWithoutCorrection) {
  const auto warnings = [](const std::string& more, const std::string& memory) {
    auto parts = PrepareRun(AgentConfig(more, memory));
    EXPECT_OK(parts);
    return parts.ok() ? parts->warnings : std::vector<std::string>();
  };
  ASSERT_EQ(warnings("", "").size(), 2u);  // of stages 1 and 2
  EXPECT_THAT(warnings("", "")[0], HasSubstr("memory.stage1_behaviour draws operations that the policy would not"));
  EXPECT_TRUE(warnings("[algorithm]\nimportance_correction = \"token_truncate\"\n", "").empty());
  EXPECT_TRUE(warnings("", "stage1_behaviour = \"policy\"\nstage2_behaviour = \"policy\"\n").empty());
}

// Where an episode has one reward at its end, no step earns anything itself.
TEST(MemoryAgentConfigTest, RewardsAtTheEndAreNotComparedStepByStep) {
  const auto check = [](const std::string& algorithm, const std::string& memory) {
    return CheckConfig(AgentConfig("[algorithm]\n" + algorithm, memory), 1);
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(check("name = \"agemem\"\n", "reward = \"agemem\"\n"),
              StatusIs(kInvalid, HasSubstr("memory.reward agemem gives one reward at the end of an episode")));
  EXPECT_OK(check("name = \"agemem\"\ngamma = 1\n", "reward = \"agemem\"\n"));
  EXPECT_OK(check("name = \"grpo\"\n", "reward = \"agemem\"\n"));
  EXPECT_OK(check("name = \"agemem\"\n", ""));
  EXPECT_THAT(check("name = \"agemem\"\nreward_clip_range = \"-1 1\"\n", ""),
              StatusIs(kInvalid, HasSubstr("which memory.reward composite does not use")));
}

TEST(MemoryAgentConfigTest, AGroupOfOneIsRejected) {
  Config config = AgentConfig("[algorithm]\nname = \"agemem\"\n");
  config.rollout.num_generations = 1;
  EXPECT_THAT(CheckConfig(config, 1), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("set it to 2 or more")));
}

TEST(MemoryAgentConfigTest, StoresOnlyTheKeysThatItReads) {
  const std::string canonical = CanonicalConfig(AgentConfig());
  EXPECT_NE(canonical.find("\nmemory.stage3_behaviour = \"policy\"\n"), std::string::npos) << canonical;
  for (const char* other : {"bandit.", "data.", "environment.", "rollout.top_k", "algorithm.reward "}) {
    EXPECT_EQ(canonical.find(other), std::string::npos) << other;
  }
  EXPECT_EQ(CanonicalConfig(ConfigOf("")).find("memory."), std::string::npos);
}

}  // namespace
}  // namespace reprise::rl
