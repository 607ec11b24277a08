#include "rl/config/check.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/config/quiet_star_check.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

std::string ErrorOf(const Config& config, int64_t ranks = 1) {
  const absl::Status status = CheckConfig(config, ranks);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CheckConfigTest, AcceptsTheDefaultsOnAsManyRanksAsShards) {
  for (int64_t ranks = 1; ranks <= 8; ++ranks) EXPECT_OK(CheckConfig(Config(), ranks));
}

TEST(CheckConfigTest, RejectsMoreRanksThanLogicalShards) {
  Config config;
  config.run.logical_shards = 2;
  EXPECT_EQ(ErrorOf(config, 3),
            "3 ranks for 2 logical shards: a rank owns at least one; start at most 2 ranks, or set run.logical_shards "
            "to 4, which gives a different run with different bits");
  config.run.logical_shards = 1;
  EXPECT_EQ(ErrorOf(config, 2000), "2000 ranks for 1 logical shard: a rank owns at least one; start at most 1 rank");
  EXPECT_EQ(ErrorOf(config, 0), "0 ranks: a run needs at least 1");
}

TEST(CheckConfigTest, RejectsLengthsThatContradictEachOther) {
  Config config;
  config.data.min_length = 6;
  EXPECT_EQ(ErrorOf(config), "data.min_length 6 is more than data.max_length 5");
  config.data.min_length = 5;
  EXPECT_OK(CheckConfig(config, 1));
}

TEST(CheckConfigTest, RejectsCompletionsThatCouldNotEnd) {
  Config config;
  config.rollout.min_new_tokens = 64;
  EXPECT_EQ(ErrorOf(config),
            "rollout.min_new_tokens 64 leaves no room for an end token within rollout.max_completion_length 64");
}

TEST(CheckConfigTest, RejectsActionsThatCouldNotEnd) {
  Config config;
  config.environment.name = "number_guess";
  config.algorithm.reward.functions = "environment";
  config.environment.max_action_length = 4;
  config.rollout.min_new_tokens = 3;
  EXPECT_OK(CheckConfig(config, 1));
  config.rollout.min_new_tokens = 4;
  EXPECT_EQ(ErrorOf(config),
            "rollout.min_new_tokens 4 leaves no room for an end token within environment.max_action_length 4");
  config.environment.max_action_length = 0;
  EXPECT_OK(CheckConfig(config, 1));
}

TEST(CheckConfigTest, RejectsAdaptersWithAValueNetwork) {
  Config config;
  config.lora.r = 4;
  EXPECT_OK(CheckConfig(config, 1));
  SelectPreset("ppo", &config.algorithm);
  EXPECT_OK(CheckConfig(config, 1));
  config.algorithm.has_value_network = true;
  EXPECT_EQ(ErrorOf(config),
            "algorithm.value_model network cannot be combined with lora.r 4: its second model would be trained whole; "
            "set value_model to head, or lora.r to 0");
  config.lora.r = 0;
  EXPECT_OK(CheckConfig(config, 1));
}

TEST(AdaptersOfTest, TakesTheNamedModules) {
  LoraSection lora = {.r = 8, .alpha = 4, .dropout = 0.25, .target_modules = "v_proj down_proj"};
  const models::LoraConfig adapters = AdaptersOf(lora);
  EXPECT_EQ(adapters,
            (models::LoraConfig{
                .r = 8, .alpha = 4, .dropout = 0.25, .targets = {false, false, true, false, false, false, true}}));
  EXPECT_EQ(adapters.scale(), 0.5f);
  EXPECT_EQ(AdaptersOf(LoraSection{.r = 1}).targets, models::LoraConfig().targets);
}

TEST(CheckConfigTest, RejectsMoreUpdatesThanAStepCanMake) {
  Config minibatches, punishment, band, entropy;
  minibatches.algorithm.update.num_mini_batches = 9;
  EXPECT_EQ(ErrorOf(minibatches),
            "algorithm.num_mini_batches 9 is more than the 8 prompts of a step (rollout.prompts_per_step); "
            "algorithm.minibatches_of episodes deals completions one by one");
  minibatches.algorithm.update.unit = MinibatchUnit::kEpisode;
  EXPECT_OK(CheckConfig(minibatches, 1));
  minibatches.algorithm.update.num_mini_batches = 65;
  EXPECT_EQ(ErrorOf(minibatches),
            "algorithm.num_mini_batches 65 is more than the 64 completions of a step (rollout.prompts_per_step x "
            "rollout.num_generations)");
  punishment.algorithm.reward.soft_punish_cache = 65;
  EXPECT_EQ(ErrorOf(punishment), "algorithm.soft_punish_cache 65 is more than rollout.max_completion_length 64");
  punishment.algorithm.reward.soft_punish_cache = 64;
  EXPECT_OK(CheckConfig(punishment, 1));
  band.algorithm.kl.schedule = KlSchedule::kBanded, SetBeta(0.1, &band.algorithm);
  band.algorithm.kl.low = band.algorithm.kl.high;
  EXPECT_OK(CheckConfig(band, 1));
  band.algorithm.kl.low = 0.5;
  EXPECT_EQ(ErrorOf(band), "algorithm.kl_low 0.5 is more than algorithm.kl_high 0.1");
  Config proportional;
  proportional.algorithm.kl.schedule = KlSchedule::kProportional, SetBeta(0.1, &proportional.algorithm);
  proportional.rollout.prompts_per_step = 4, proportional.rollout.num_generations = 4;
  proportional.algorithm.kl.horizon = 3.3;
  EXPECT_OK(CheckConfig(proportional, 1));
  proportional.algorithm.kl.horizon = 3.2;
  EXPECT_EQ(ErrorOf(proportional),
            "algorithm.kl_horizon 3.2 would make the weight of the divergence negative in one step of 16 completions "
            "(rollout.prompts_per_step x rollout.num_generations): set it to more than 3.2");
  entropy.algorithm.entropy.floor = 0.5;
  EXPECT_EQ(ErrorOf(entropy), "algorithm.entropy_coef_floor 0.5 is more than algorithm.entropy_coef 0");
}

TEST(CheckConfigTest, AMinibatchHasASizeOrANumberWithinTheStep) {
  Config config;
  config.algorithm.update.mini_batch_size = 8;
  EXPECT_OK(CheckConfig(config, 1));
  config.algorithm.update.num_mini_batches = 2;
  EXPECT_EQ(ErrorOf(config),
            "algorithm.mini_batch_size 8 and algorithm.num_mini_batches 2 are both set, and each decides how a step is "
            "split: remove one of them");
  config.algorithm.update.num_mini_batches = 1;
  config.algorithm.update.mini_batch_size = 9;
  EXPECT_EQ(ErrorOf(config),
            "algorithm.mini_batch_size 9 is more than the 8 prompts of a step (rollout.prompts_per_step); "
            "algorithm.minibatches_of episodes deals completions one by one");
  config.algorithm.update.unit = MinibatchUnit::kEpisode;
  config.algorithm.update.mini_batch_size = 65;
  EXPECT_EQ(ErrorOf(config),
            "algorithm.mini_batch_size 65 is more than the 64 completions of a step (rollout.prompts_per_step x "
            "rollout.num_generations)");
  config.algorithm.update.unit = MinibatchUnit::kDecision;
  config.algorithm.update.mini_batch_size = 64 * 64;
  EXPECT_OK(CheckConfig(config, 1));
  config.algorithm.update.mini_batch_size = 64 * 64 + 1;
  EXPECT_EQ(ErrorOf(config),
            "algorithm.mini_batch_size 4097 is more than the 4096 decisions that a step can have "
            "(rollout.prompts_per_step x rollout.num_generations episodes of at most 64)");
}

TEST(CheckConfigTest, MinibatchesOfDecisionsNeedRatiosOfTokens) {
  Config config;
  SelectPreset("gspo", &config.algorithm);
  config.algorithm.update.unit = MinibatchUnit::kDecision;
  EXPECT_EQ(ErrorOf(config),
            "[algorithm]: minibatches_of decisions cannot be combined with importance_sampling_level sequence, which "
            "needs all tokens of a completion in one update; choose episodes or groups, or change the other key");
}

TEST(CheckConfigTest, ABaselineOverTheStepNeedsTwoCompletionsPerStep) {
  Config config;
  SelectPreset("episode_rloo", &config.algorithm);
  config.algorithm.advantage.baseline_over_batch = true;
  config.rollout.num_generations = 1;
  EXPECT_OK(CheckConfig(config, 1));
  config.rollout.prompts_per_step = 1;
  EXPECT_EQ(ErrorOf(config),
            "algorithm.baseline_scope batch compares the completions of a step with each other, but "
            "rollout.prompts_per_step 1 with rollout.num_generations 1 gives a single one: set one of them to 2 or "
            "more");
  SelectPreset("grpo", &config.algorithm);
  EXPECT_EQ(ErrorOf(config),
            "[algorithm]: baseline_scope batch cannot be combined with baseline group_mean; it needs leave_one_out");
}

TEST(CheckConfigTest, ActionsAreCheckedWhereTheyAreJson) {
  Config config;
  config.algorithm.reward.functions = "environment";
  config.environment.invalid_episodes = InvalidEpisodes::kDrop;
  config.environment.name = "grid_navigation";
  EXPECT_OK(CheckConfig(config, 1));
  config.environment.min_action_tokens = 101;
  EXPECT_EQ(ErrorOf(config), "environment.min_action_tokens 101 is more than environment.max_action_tokens 100");
}

TEST(CheckConfigTest, AnEnvironmentNeedsItsReward) {
  Config config;
  config.environment.name = "number_guess";
  EXPECT_EQ(ErrorOf(config).substr(0, 95),
            "algorithm.reward is \"exact_match\", but the rewards of environment.name number_guess are called ");
  config.algorithm.reward.functions = "environment exact_match";
  EXPECT_OK(CheckConfig(config, 1));
  config.data.path = "problems.jsonl";
  EXPECT_EQ(ErrorOf(config), "data.path is set, but environment.name number_guess makes its own tasks: leave it empty");
  config.data.path = "";
  config.rollout.stop = "[\"x\"]";
  EXPECT_EQ(ErrorOf(config),
            "rollout.stop is set, but the actions of environment.name number_guess end with texts of environment.stop: "
            "set that instead");
  config = Config();
  config.algorithm.reward.functions = "environment";
  EXPECT_EQ(ErrorOf(config), "algorithm.reward names environment, but there is none: set environment.name");
}

TEST(CheckConfigTest, RewardsOfTurnsNeedTurnsAndReturnsOfTokens) {
  Config config;
  config.algorithm.reward.by_turn = true;
  SelectPreset("ppo", &config.algorithm);
  EXPECT_EQ(ErrorOf(config), "algorithm.turn_rewards is turn, but there are no turns: set environment.name");
  config.environment.name = "number_guess";
  config.algorithm.reward.functions = "environment";
  for (const char* name : {"ppo", "reinforce_plus_plus", "agemem"}) {
    SelectPreset(name, &config.algorithm);
    EXPECT_OK(CheckConfig(config, 1)) << name;
  }
  config.algorithm.advantage.reward_clip_range = {{-1, 1}};
  EXPECT_EQ(ErrorOf(config).substr(0, 56), "algorithm.reward_clip_range clips an episode's sum of re");
  config.algorithm.advantage.reward_clip_range = std::nullopt;
  for (const char* name : {"grpo", "rloo", "reinforce_plus_plus_baseline"}) {
    SelectPreset(name, &config.algorithm);
    EXPECT_EQ(ErrorOf(config),
              "algorithm.turn_rewards turn cannot be combined with algorithm.name " + std::string(name) +
                  ", whose advantages are per episode: set algorithm.name to ppo, reinforce_plus_plus or agemem, or "
                  "turn_rewards to episode");
  }
}

// Where a step is compared by what it earns itself, one reward at the end would be compared with the zeros of others.
TEST(CheckConfigTest, StepsThatEarnNothingAreNotComparedByTheirOwnRewards) {
  Config config;
  SelectPreset("agemem", &config.algorithm);
  EXPECT_EQ(ErrorOf(config),
            "algorithm.name agemem with algorithm.gamma 0 compares each step by what it earns itself, but "
            "algorithm.turn_rewards episode gives one reward at the end of an episode: set algorithm.gamma to 1, or "
            "algorithm.name to grpo, which gives every step of an episode its reward");
  config.algorithm.advantage.gamma = 1;
  EXPECT_OK(CheckConfig(config, 1));
  config = Config();
  SelectPreset("agemem", &config.algorithm);
  config.run.workload = "memory_agent";
  EXPECT_OK(CheckConfig(config, 1));  // memory.reward composite
  config.memory.reward = MemoryReward::kAgemem;
  EXPECT_THAT(ErrorOf(config), HasSubstr("but memory.reward agemem gives one reward at the end of an episode"));
}

TEST(CheckConfigTest, AClipOfSumsNamesWhatGivesRewardsDuringAnEpisode) {
  const auto error = [](const std::function<void(Config&)>& choose) {
    Config config;
    SelectPreset("ppo", &config.algorithm), config.algorithm.advantage.reward_clip_range = {{-1, 1}};
    choose(config);
    return ErrorOf(config);
  };
  constexpr char kClips[] = "algorithm.reward_clip_range clips an episode's sum of rewards, which ";
  constexpr char kRemedy[] = " does not use: remove one of them";
  EXPECT_EQ(error([](Config& c) {
              c.environment.name = "number_guess", c.algorithm.reward.functions = "environment";
              c.algorithm.reward.by_turn = true;
            }),
            absl::StrCat(kClips, "algorithm.turn_rewards turn", kRemedy));
  EXPECT_EQ(error([](Config& c) { c.run.workload = "quiet_star"; }),
            absl::StrCat(kClips, "run.workload quiet_star", kRemedy));
  EXPECT_EQ(error([](Config& c) { c.run.workload = "morphogenesis"; }),
            absl::StrCat(kClips, "morphogenesis.reward", kRemedy));
  EXPECT_EQ(error([](Config& c) { c.run.workload = "memory_agent"; }),
            absl::StrCat(kClips, "memory.reward composite", kRemedy));
}

TEST(CheckConfigTest, TheBoundsOfTheEntropyCoefficientAreInOrder) {
  Config config;
  config.algorithm.entropy.adaptive = true;
  config.algorithm.entropy.min = 0.25;
  config.algorithm.entropy.max = 0.125;
  EXPECT_EQ(ErrorOf(config), "algorithm.entropy_coef_min 0.25 is more than algorithm.entropy_coef_max 0.125");
  config.algorithm.entropy.min = 0.125;
  EXPECT_OK(CheckConfig(config, 1));
  config.algorithm.entropy.entropy_coef = 0.125;
  EXPECT_OK(CheckConfig(config, 1));
  config.algorithm.entropy.entropy_coef = 0.5;
  EXPECT_EQ(
      ErrorOf(config),
      "algorithm.entropy_coef 0.5 is more than algorithm.entropy_coef_max 0.125, which use_adaptive_entropy keeps "
      "to");
  config.algorithm.entropy = {.entropy_coef = 2};  // above the default of entropy_coef_max, which is not read
  EXPECT_OK(CheckConfig(config, 1));
}

TEST(CheckConfigTest, AProcessNeedsACommandAndAnEnvironmentOrReward) {
  Config config;
  config.process.command = "cat";
  EXPECT_EQ(ErrorOf(config),
            "process.command is set, but neither environment.name nor algorithm.reward is process: it would not be "
            "used");
  config.algorithm.reward.functions = "process";
  EXPECT_OK(CheckConfig(config, 1));
  config.environment.name = "process", config.algorithm.reward.functions = "environment",
  config.data.path = "problems.jsonl";
  EXPECT_OK(CheckConfig(config, 1));
  config.environment.name = "", config.algorithm.reward.functions = "process", config.data.path = "";
  config.algorithm.advantage.baseline = Baseline::kGreedy;
  EXPECT_EQ(
      ErrorOf(config),
      "algorithm.baseline greedy plays episodes that are not stored, so that a replay would have to call the "
      "external process of process.command again: choose another baseline, or an environment and rewards without a "
      "process");
  config.algorithm.advantage.baseline = AlgorithmConfig().advantage.baseline;
  SelectPreset("a2po", &config.algorithm);
  EXPECT_EQ(ErrorOf(config).substr(0, 52), "algorithm.baseline optimal plays episodes that are n");
  config.algorithm = FindAlgorithm("remax").value();
  config.algorithm.reward.functions = "environment";
  config.environment.name = "process";
  EXPECT_EQ(ErrorOf(config).substr(0, 51), "algorithm.baseline greedy plays episodes that are n");
  config.process.command = "";
  config.environment.name = "countdown";
  EXPECT_OK(CheckConfig(config, 1));
  config = {};
  config.algorithm.reward.functions = "process";
  config.algorithm.advantage.baseline = AlgorithmConfig().advantage.baseline;
  config.process.command = "";
  EXPECT_EQ(ErrorOf(config), "algorithm.reward names process, but process.command is empty: set it");
}

TEST(CheckConfigTest, RejectsGroupsOfOneWithAGroupBaseline) {
  Config config;
  config.rollout.num_generations = 1;
  EXPECT_EQ(ErrorOf(config),
            "rollout.num_generations is 1, and algorithm.baseline group_mean with algorithm.scale_rewards group "
            "compares the completions of a prompt with each other: set it to 2 or more, or algorithm.name to ppo, "
            "reinforce or reinforce_plus_plus");
  for (const char* name : {"rloo", "opo", "dr_grpo", "reinforce_plus_plus_baseline", "agemem"}) {
    SelectPreset(name, &config.algorithm);
    EXPECT_NE(ErrorOf(config).find("compares the completions"), std::string::npos) << name;
  }
  for (const char* name : {"ppo", "reinforce", "remax", "reinforce_plus_plus"}) {
    SelectPreset(name, &config.algorithm);
    EXPECT_OK(CheckConfig(config, 1)) << name;
  }
  config.algorithm.dynamic_sampling = true;
  EXPECT_NE(ErrorOf(config).find("algorithm.dynamic_sampling"), std::string::npos);
  config.algorithm = {.name = "grpo"};
  config.algorithm.advantage.lone_sample_keeps_reward = true;
  EXPECT_OK(CheckConfig(config, 1));
}

TEST(CheckConfigTest, LimitsTheCompletionsOfAStep) {
  Config config;
  config.rollout.prompts_per_step = 1 << 12;
  config.rollout.num_generations = 1 << 12;
  EXPECT_OK(CheckConfig(config, 1));
  ++config.rollout.num_generations;
  EXPECT_EQ(ErrorOf(config),
            "rollout.prompts_per_step 4096 with rollout.num_generations 4097 are 16781312 completions a step; at most "
            "16777216");
}

TEST(CheckConfigTest, ChecksTheShapeOfAModelFromScratch) {
  Config config;
  config.model.num_attention_heads = 5;
  EXPECT_EQ(ErrorOf(config), "[model]: hidden_size 64 is not a multiple of num_attention_heads 5");
  config = Config();
  config.rollout.max_completion_length = 256;
  EXPECT_EQ(ErrorOf(config),
            "rollout.max_completion_length 256 leaves no room for a prompt within model.max_position_embeddings 256");
}

TEST(CheckConfigTest, TakesTheShapeFromTheCheckpointWhenThereIsOne) {
  Config config;
  config.model.path = "models/olmoe";
  config.model.num_attention_heads = 5;
  config.rollout.max_completion_length = 4096;
  EXPECT_OK(CheckConfig(config, 1));
}

TEST(CheckConfigTest, AllowsARunToBeShortenedToAnyLength) {
  Config config;
  config.optimizer.warmup_steps = 10;
  config.artifact.checkpoint_every = 10;
  config.execution.log_every = 10;
  for (int64_t steps : {0, 1, 9}) {
    config.run.steps = steps;
    EXPECT_OK(CheckConfig(config, 1)) << steps;
  }
}

TEST(FromScratchDecoderTest, IsTheDecodersOwnDefaultByDefault) {
  EXPECT_EQ(FromScratchDecoder(ModelConfig()), models::DecoderConfig());
}

TEST(CheckConfigTest, RejectsFactorsOfLearningRatesThatAreNone) {
  Config config;
  config.optimizer.learning_rate_factors = R"({"v_head.*": 10})";
  EXPECT_OK(CheckConfig(config, 1));
  config.optimizer.learning_rate_factors = R"({"v_head.*": -1})";
  EXPECT_THAT(CheckConfig(config, 1),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("optimizer.learning_rate_factors: /v_head.*: -1")));
}

TEST(FromScratchDecoderTest, TakesEveryKeyOver) {
  ModelConfig model;
  model.vocab_size = 101;
  model.hidden_size = 102;
  model.intermediate_size = 103;
  model.num_hidden_layers = 104;
  model.num_attention_heads = 105;
  model.num_key_value_heads = 106;
  model.num_experts = 107;
  model.num_experts_per_tok = 108;
  model.max_position_embeddings = 109;
  model.rope_theta = 110;
  model.rms_norm_eps = 0.5;
  model.norm_topk_prob = true;
  model.tie_word_embeddings = true;
  model.initializer_range = 111;
  model.clip_qkv = 112;
  model.router_aux_loss_coef = 0;
  models::DecoderConfig decoder;
  decoder.vocab_size = 101;
  decoder.hidden_size = 102;
  decoder.intermediate_size = 103;
  decoder.num_hidden_layers = 104;
  decoder.num_attention_heads = 105;
  decoder.num_key_value_heads = 106;
  decoder.num_experts = 107;
  decoder.num_experts_per_tok = 108;
  decoder.max_position_embeddings = 109;
  decoder.rope_theta = 110;
  decoder.rms_norm_eps = 0.5;
  decoder.norm_topk_prob = true;
  decoder.tie_word_embeddings = true;
  decoder.initializer_range = 111;
  decoder.clip_qkv = 112;
  decoder.router_aux_loss_coef = 0;
  EXPECT_EQ(FromScratchDecoder(model), decoder);
}

TEST(CheckConfigTest, TextsOfThoughtsAndExamplesOfTheSftFitThePositions) {
  Config config;
  config.run.workload = "quiet_star";
  config.data.task = "lookup";
  config.data.min_length = config.data.max_length = 40;
  config.data.alphabet_size = 5;
  config.quiet_star.max_thought_length = 4;
  config.model.max_position_embeddings = 64;
  config.sft.steps = 1;
  // 20 characters, 39 letters on the way, each behind a mark, and two delimiters.
  EXPECT_THAT(CheckPositions(config, 99), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("an example of the SFT phase, a text of [data] with a "
                                                             "thought in it, can have 100 tokens, more than the "
                                                             "model's 99 positions")));
  EXPECT_OK(CheckPositions(config, 100));
  config.sft.steps = 0;
  EXPECT_OK(CheckPositions(config, 99));
  config.quiet_star.anti_theater = true;
  config.quiet_star.theater.continuation_tokens = 300;
  EXPECT_THAT(CheckPositions(config, 325),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("can have 326 tokens")));
  EXPECT_OK(CheckPositions(config, 326));
}

TEST(CheckConfigTest, ACountdownsNumbersAreBounded) {
  Config config;
  config.environment.name = "countdown";
  config.algorithm.reward.functions = "environment";
  config.environment.largest = 500'000;
  EXPECT_OK(CheckConfig(config, 1));
  config.environment.largest = 500'001;
  EXPECT_EQ(
      ErrorOf(config),
      "environment.largest 500001: the sum of two numbers of a countdown has six digits at most: set it to 500000 "
      "or less");
}

TEST(CheckConfigTest, ATopKThatLeavesOutNoTokenIsWarnedOf) {
  Config config;
  config.rollout.top_k = 129;
  EXPECT_EQ(WarningOfTopK(config.rollout, 128),
            "rollout.top_k 129 is more than the model's 128 tokens, so that all of them are drawn from, as with 0");
  EXPECT_EQ(WarningOfTopK(config.rollout, 129), "");
  EXPECT_EQ(WarningOfTopK({}, 128), "");
}

}  // namespace
}  // namespace reprise::rl
