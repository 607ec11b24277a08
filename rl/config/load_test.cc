#include "rl/config/load.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/check.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(LoadConfigTest, GivesTheDefaultsForAnEmptyFile) {
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig resolved, LoadConfig("", "c.toml", {}));
  Config expected;
  EXPECT_EQ(resolved.config, expected);
  EXPECT_EQ(resolved.origins.size(), PresetKeys().size());
  EXPECT_EQ(resolved.origins.at("algorithm.loss_type"), "algorithm.name grpo");
}

TEST(LoadConfigTest, EveryDefaultIsAllowed) {
  Config config;
  config::FieldList fields;
  Visit(fields, config);
  for (const config::Field& field : fields.fields()) EXPECT_OK(field.Set(field.Get())) << field.Name();
}

TEST(LoadConfigTest, HasEveryKeyThatScriptsSet) {
  // The list of the command-line contract.
  const std::vector<std::string> overrides = {
      "run.seed=7",
      "run.steps=3",
      "run.logical_shards=4",
      "run.reduction=exact",
      "model.path=m",
      "model.weights_dtype=float32",
      "model.router_aux_loss_coef=0.5",
      "data.task=sort",
      "data.path=d.jsonl",
      "rollout.num_generations=2",
      "rollout.prompts_per_step=3",
      "rollout.max_completion_length=9",
      "rollout.temperature=0.7",
      "algorithm.name=dapo",
      "algorithm.loss_type=grpo",
      "algorithm.beta=0.1",
      "optimizer.name=adamw",
      "optimizer.learning_rate=1e-3",
      "execution.threads=2",
      "execution.micro_batch_tokens=100",
      "execution.decode_slots=3",
      "execution.activation_checkpointing=true",
      "artifact.digest_every=2",
      "artifact.checkpoint_every=5",
  };
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig resolved, LoadConfig("", "c.toml", overrides));
  Config expected;
  expected.run = {.seed = 7, .steps = 3, .logical_shards = 4, .reduction = Reduction::kExact};
  expected.model.path = "m";
  expected.model.router_aux_loss_coef = 0.5;
  expected.data.task = "sort";
  expected.data.path = "d.jsonl";
  expected.rollout.num_generations = 2;
  expected.rollout.prompts_per_step = 3;
  expected.rollout.max_completion_length = 9;
  expected.rollout.temperature = 0.7;
  expected.algorithm = {.name = "dapo", .loss = {.loss_type = LossType::kGrpo, .epsilon_high = 0.28, .beta = 0.1}};
  expected.optimizer.learning_rate = 1e-3;
  expected.execution.threads = 2;
  expected.execution.micro_batch_tokens = 100;
  expected.execution.decode_slots = 3;
  expected.execution.activation_checkpointing = true;
  expected.artifact = {.digest_every = 2, .checkpoint_every = 5};
  EXPECT_EQ(resolved.config, expected);
  EXPECT_EQ(resolved.origins.size(), overrides.size() + PresetKeys().size() - 2);
}

TEST(LoadConfigTest, RejectsValuesOutOfRangeWithTheirPlace) {
  EXPECT_THAT(LoadConfig("[run]\nlogical_shards = 6\n", "c.toml", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "c.toml:2:18: run.logical_shards is 6; expected a power of two from 1 to 1024"));
  EXPECT_THAT(LoadConfig("", "c.toml", {"rollout.temperature=0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--set rollout.temperature=0: rollout.temperature is 0.0; expected 1e-6 to 1e6"));
  EXPECT_THAT(LoadConfig("", "c.toml", {"run.seed=-1"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("run.seed is -1; expected 0 or more")));
}

TEST(LoadConfigTest, ReadsAgainWhatARunStoresOfLongTexts) {
  const std::string words(60000, 'w');
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig resolved,
                       LoadConfig("[model]\nwords = '''\n" + words + "\n" + words + "'''\n", "c.toml", {}));
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig again, LoadConfig(resolved.canonical, "the run's configuration", {}));
  EXPECT_EQ(again.config, resolved.config);
  EXPECT_EQ(again.digest, resolved.digest);
}

TEST(LoadConfigTest, RejectsTextsThatWouldBeTooLongWhereARunStoresThem) {
  const std::string lines(600000, '\n');
  EXPECT_THAT(LoadConfig("[process]\ncommand = '''" + lines + "'''\n", "c.toml", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in the form that a run stores; at most 1048576 are allowed: shorten its texts")));
}

TEST(CanonicalConfigTest, HasTheAlgorithmsOwnValuesOfTheKeysThatTheRunReads) {
  const auto lines_of = [](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> overrides = {"algorithm.name=" + name};
    overrides.insert(overrides.end(), more.begin(), more.end());
    const absl::StatusOr<ResolvedConfig> resolved = LoadConfig("", "c.toml", overrides);
    EXPECT_OK(resolved);
    return std::vector<std::string>(absl::StrSplit(resolved->canonical, '\n'));
  };
  const std::vector<std::string> grpo = lines_of("grpo", {}), rloo = lines_of("rloo", {});
  for (const char* line : {"algorithm.clip = \"two_sided\"", "algorithm.baseline = \"group_mean\"",
                           "algorithm.scale_rewards = \"group\"", "algorithm.epsilon = 0.2", "algorithm.beta = 0.0"}) {
    EXPECT_THAT(grpo, Contains(line));
  }
  EXPECT_THAT(grpo, Not(Contains(StartsWith("algorithm.kl_estimator"))));  // beta is 0
  EXPECT_THAT(rloo, Contains("algorithm.kl_estimator = \"k1\""));
  EXPECT_THAT(rloo, Not(Contains(StartsWith("algorithm.scale_rewards"))));
  // What an algorithm would choose by itself is the same run if it is set.
  EXPECT_EQ(lines_of("grpo", {"algorithm.clip=two_sided", "algorithm.epsilon_high=0.2"}), grpo);
  EXPECT_NE(lines_of("grpo", {"algorithm.clip=none"}), grpo);
}

// Text and configuration are one-to-one: a key has no value at which it is left out.
TEST(CanonicalConfigTest, HasEverySemanticKeyThatTheRunReadsAndNoOther) {
  for (const char* overrides : {"run.seed=1", "lora.r=2", "optimizer.name=muon_grokfast", "run.workload=memory_agent",
                                "run.workload=quiet_star", "run.workload=morphogenesis", "environment.name=countdown",
                                "sft.steps=3", "algorithm.name=ppo"}) {
    ASSERT_OK_AND_ASSIGN(ResolvedConfig resolved, LoadConfig("", "c.toml", {overrides}));
    config::FieldList fields;
    Visit(fields, resolved.config);
    for (const config::Field& field : fields.fields()) {
      const bool is_listed = absl::StrContains("\n" + resolved.canonical, "\n" + field.Name() + " = ");
      const bool is_read = field.kind == config::Kind::kSemantic && field.FirstUnmet() == nullptr;
      EXPECT_EQ(is_listed, is_read) << field.Name() << " with " << overrides;
    }
    ASSERT_OK_AND_ASSIGN(const ResolvedConfig again, LoadConfig(resolved.canonical, "canonical", {}));
    EXPECT_EQ(again.config, resolved.config) << overrides;
    EXPECT_EQ(again.canonical, resolved.canonical) << overrides;
  }
}

TEST(CanonicalConfigTest, ChangesWithSemanticKeysAndNotWithExecutionKeys) {
  Config config;
  const std::string canonical = CanonicalConfig(config);
  config.run.extended_at = "10";
  EXPECT_THAT(CanonicalConfig(config), HasSubstr("run.extended_at = \"10\"\n"));
  config.run.extended_at = "";
  config.execution.threads = 3;
  EXPECT_EQ(CanonicalConfig(config), canonical);
  config.run.seed = 3;
  EXPECT_NE(CanonicalConfig(config), canonical);
}

// The order of the names, and a name that is repeated, mean nothing.
TEST(CanonicalConfigTest, TargetModulesAreASet) {
  const auto load = [](const std::string& modules) {
    const std::vector<std::string> overrides = {"lora.r=2", "lora.target_modules=\"" + modules + "\""};
    const absl::StatusOr<ResolvedConfig> resolved = LoadConfig("", "c.toml", overrides);
    EXPECT_OK(resolved);
    return *resolved;
  };
  const ResolvedConfig two = load("v_proj down_proj");
  EXPECT_THAT(two.canonical, HasSubstr("lora.target_modules = \"v_proj down_proj\"\n"));
  for (const char* same : {"down_proj v_proj", "v_proj down_proj v_proj"}) {
    EXPECT_EQ(load(same).digest, two.digest) << same;
    EXPECT_EQ(AdaptersOf(load(same).config.lora), AdaptersOf(two.config.lora)) << same;
  }
  EXPECT_NE(load("v_proj").digest, two.digest);
  EXPECT_EQ(load("down_proj up_proj gate_proj o_proj v_proj k_proj q_proj").digest,
            load(LoraSection().target_modules).digest);
}

TEST(CanonicalConfigTest, IsAConfigurationOfTheSameRun) {
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig first,
                       LoadConfig("[rollout]\ntemperature = 0.7\n[data]\npath = \"a \\\"b\\\"\"\n", "c.toml", {}));
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig second, LoadConfig(first.canonical, "canonical", {}));
  EXPECT_EQ(second.config, first.config);
  EXPECT_EQ(second.canonical, first.canonical);
  EXPECT_EQ(second.digest, first.digest);
  EXPECT_EQ(first.digest, Sha256(first.canonical));
}

TEST(PresetTest, GivesTheKeysThatAreNotSet) {
  ASSERT_OK_AND_ASSIGN(
      const ResolvedConfig resolved,
      LoadConfig("[optimizer]\npreset = \"phase_3_v1\"\ngrokfast_lambda = 2\n", "c.toml", {"optimizer.momentum=0.9"}));
  Config expected;
  expected.optimizer = {.name = OptimizerName::kMuonGrokfast, .preset = "phase_3_v1", .learning_rate = 5e-4};
  expected.optimizer.momentum = 0.9, expected.optimizer.ns_steps = 3, expected.optimizer.grokfast_alpha = 0.95;
  expected.optimizer.grokfast_lambda = 2, expected.optimizer.qk_clip_threshold = 25;
  EXPECT_EQ(resolved.config.optimizer, expected.optimizer);
  EXPECT_EQ(Beta(resolved.config.algorithm), 0.1);
  EXPECT_EQ(resolved.origins.at("optimizer.learning_rate"), "optimizer.preset phase_3_v1");
  EXPECT_EQ(resolved.origins.at("algorithm.beta"), "optimizer.preset phase_3_v1");
  EXPECT_EQ(resolved.origins.at("optimizer.grokfast_lambda"), "c.toml:3");
  EXPECT_EQ(resolved.origins.at("optimizer.momentum"), "--set");
}

// The values of docs/optimizers.md (Presets): learning rate, lambda, threshold, and the divergence's weight where it
// has one.
TEST(PresetTest, EachHasTheValuesOfItsPhase) {
  struct Values {
    const char* name;
    double learning_rate, lambda, threshold, beta;
  };
  for (const Values& phase : {Values{"phase_1", 1e-3, 0.3, 30, 0}, Values{"phase_3", 5e-4, 0.1, 25, 0.1},
                              Values{"phase_3_v1", 5e-4, 0.1, 25, 0.1}, Values{"phase_5", 1e-3, 2, 30, 0},
                              Values{"phase_6", 1e-4, 0.2, 30, 0}, Values{"phase_7", 5e-4, 0.15, 28, 0.05}}) {
    ASSERT_OK_AND_ASSIGN(
        const ResolvedConfig resolved,
        LoadConfig("", "c.toml", std::vector<std::string>{std::string("optimizer.preset=") + phase.name}));
    const OptimizerConfig& optimizer = resolved.config.optimizer;
    EXPECT_EQ(optimizer.name, OptimizerName::kMuonGrokfast);
    EXPECT_EQ(optimizer.learning_rate, phase.learning_rate) << phase.name;
    EXPECT_EQ(optimizer.grokfast_lambda, phase.lambda) << phase.name;
    EXPECT_EQ(optimizer.qk_clip_threshold, phase.threshold) << phase.name;
    EXPECT_EQ(Beta(resolved.config.algorithm), phase.beta) << phase.name;
  }
  EXPECT_THAT(LoadConfig("[optimizer]\npreset = \"phase_2\"\n", "c.toml", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "c.toml:2:10: optimizer.preset is \"phase_2\"; expected \"\", \"phase_1\", \"phase_3\", "
                       "\"phase_3_v1\", \"phase_5\", \"phase_6\" or \"phase_7\""));
}

TEST(PresetTest, LeavesKeysAloneThatTheRunDoesNotRead) {
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig growth,
                       LoadConfig("", "c.toml", {"optimizer.preset=phase_3", "run.workload=morphogenesis"}));
  EXPECT_EQ(growth.config.optimizer.qk_clip_threshold, 0);
  EXPECT_EQ(growth.config.optimizer.learning_rate, 5e-4);
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig adapters,
                       LoadConfig("", "c.toml", {"optimizer.preset=phase_3", "lora.r=2"}));
  EXPECT_EQ(adapters.config.optimizer.qk_clip_threshold, 0);
}

// Were the preset's name there, it would be filled in again over what is not set.
TEST(PresetTest, WhatIsStoredAreItsValues) {
  ASSERT_OK_AND_ASSIGN(
      const ResolvedConfig preset,
      LoadConfig("", "c.toml", {"optimizer.preset=phase_7", "optimizer.qk_clip_threshold=0", "algorithm.beta=0"}));
  ASSERT_OK_AND_ASSIGN(
      const ResolvedConfig values,
      LoadConfig("", "c.toml",
                 {"optimizer.name=muon_grokfast", "optimizer.learning_rate=5e-4", "optimizer.grokfast_lambda=0.15"}));
  EXPECT_EQ(preset.canonical, values.canonical);
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig again, LoadConfig(preset.canonical, "canonical", {}));
  EXPECT_EQ(again.digest, preset.digest);
  EXPECT_EQ(again.config.optimizer.qk_clip_threshold, 0);
}

TEST(PrintConfigTest, IsAConfigurationThatGivesTheSameValues) {
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig first,
                       LoadConfig("[execution]\nthreads = 5\n", "c.toml", {"optimizer.schedule=cosine"}));
  const std::string text = PrintConfig(first);
  EXPECT_THAT(text, HasSubstr("# c.toml:2\n"));
  EXPECT_THAT(text, HasSubstr("# --set\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("epsilon_high = 0.2 +# algorithm.name grpo\n"));
  ASSERT_OK_AND_ASSIGN(const ResolvedConfig second, LoadConfig(text, "printed.toml", {}));
  EXPECT_EQ(second.config, first.config);
}

}  // namespace
}  // namespace reprise::rl
