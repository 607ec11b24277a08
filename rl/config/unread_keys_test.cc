#include "rl/config/unread_keys.h"

#include <functional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/load.h"
#include "rl/config/preset_testing.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorMessage(const std::function<void(Config&)>& choose) {
  Config config;
  choose(config);
  return std::string(CheckKeysAreRead(config).message());
}

TEST(UnreadKeysTest, EveryValueOfARowIsRead) {
  for (const absl::string_view name : AlgorithmNames()) {
    Config config;
    SelectPreset(std::string(name), &config.algorithm);
    EXPECT_OK(CheckKeysAreRead(config)) << name;
  }
}

TEST(UnreadKeysTest, KeysOfFactsNeedFactsAndTheBonusNeedsNotes) {
  const auto message = [](const std::function<void(MemoryConfig&)>& choose) {
    return ErrorMessage([&](Config& config) {
      config.run.workload = "memory_agent";
      choose(config.memory);
    });
  };
  EXPECT_THAT(message([](MemoryConfig& m) { m.store_size = 2; }), HasSubstr("it needs memory.task facts"));
  EXPECT_THAT(message([](MemoryConfig& m) { m.answer_reward = 2; }), HasSubstr("memory.task facts and memory.reward"));
  EXPECT_THAT(message([](MemoryConfig& m) { m.task = MemoryTaskKind::kFacts, m.recall_bonus = 0.2; }),
              HasSubstr("it needs memory.task notes"));
  EXPECT_EQ(message([](MemoryConfig& m) { m.task = MemoryTaskKind::kFacts, m.store_size = 2, m.answer_reward = 2; }),
            "");
}

TEST(UnreadKeysTest, RejectsRewardsThatAllHaveWeightZero) {
  EXPECT_THAT(ErrorMessage([](Config& c) { c.algorithm.reward.weights = "0"; }),
              HasSubstr("so that every reward is 0"));
}

TEST(UnreadKeysTest, RejectsKeysThatDecideNothingInThisRun) {
  EXPECT_EQ(ErrorMessage([](Config& c) { c.artifact.keep_checkpoints = 2; }),
            "artifact.keep_checkpoints is set, but nothing would read it: it needs artifact.checkpoint_every above 0, "
            "or run.extended_at; or remove it");
  for (const auto& set : {+[](Config& c) { c.environment.action_mask = LearnedTokens::kAction; },
                          +[](Config& c) { c.environment.invalid_episodes = InvalidEpisodes::kDrop; }}) {
    EXPECT_THAT(ErrorMessage(set), HasSubstr("it needs environment.name grid_navigation; or remove it"));
  }
  EXPECT_THAT(ErrorMessage([](Config& c) { c.optimizer.preset = "phase_1"; }),
              HasSubstr("it needs optimizer.name muon_grokfast, which a preset sets where the name is not set; or"));
  EXPECT_THAT(ErrorMessage([](Config& c) { c.evaluation.split_seed = 7; }),
              HasSubstr("it needs evaluation.held_out_share above 0, or evaluation.path; or remove it"));
  EXPECT_THAT(ErrorMessage([](Config& c) { c.run.workload = "memory_agent", c.model.tie_word_embeddings = true; }),
              HasSubstr("it needs a run.workload that samples tokens: an encoder has no output layer; or remove it"));
}

TEST(UnreadKeysTest, AKeyOfOtherWorkloadsNamesAllThatReadIt) {
  const auto message = [](const std::function<void(Config&)>& choose) {
    return ErrorMessage([&](Config& config) {
      config.run.workload = "morphogenesis";
      choose(config);
    });
  };
  EXPECT_EQ(message([](Config& c) { c.lora.r = 4; }),
            "lora.r is set, but nothing would read it: it needs run.workload completions, memory_agent or quiet_star; "
            "or remove it");
  EXPECT_THAT(message([](Config& c) { c.data.task = "sort"; }),
              HasSubstr("it needs run.workload completions or quiet_star; or remove it"));
  EXPECT_THAT(message([](Config& c) { c.data.path = "x"; }),
              HasSubstr("it needs run.workload completions; or remove it"));
}

// The message for these settings, which are separated by spaces.
std::string MessageFor(const std::string& settings) {
  const std::vector<std::string> overrides = absl::StrSplit(settings, ' ');
  const absl::StatusOr<ResolvedConfig> resolved = LoadConfig("", "c.toml", overrides);
  return std::string((resolved.ok() ? CheckKeysAreRead(resolved->config) : resolved.status()).message());
}

TEST(UnreadKeysTest, RejectsAnUnreadKeyWithItsCondition) {
  EXPECT_EQ(MessageFor("algorithm.normalize_advantages=true"),
            "algorithm.normalize_advantages is set, but nothing would read it: it needs algorithm.baseline "
            "leave_one_out; or remove it");
  EXPECT_EQ(MessageFor("model.path=m model.num_hidden_layers=3"),
            "model.num_hidden_layers is set, but nothing would read it: it needs a model from scratch, without "
            "model.path, whose config.json says it; or remove it");
  const std::pair<const char*, const char*> cases[] = {
      {"algorithm.gamma=0.9", "algorithm.gamma is set"},
      {"algorithm.value_model=network", "needs algorithm.baseline"},
      {"algorithm.name=rloo algorithm.scale_rewards=group", "algorithm.scale_rewards is set"},
      {"algorithm.name=rloo algorithm.scale_rewards=batch", "algorithm.scale_rewards is set"},
      {"algorithm.minibatches_of=decisions", "needs algorithm.num_mini_batches above 1, or a mini_batch_size"},
      {"algorithm.name=agemem algorithm.baseline=step_leave_one_out algorithm.scale_rewards=group",
       "other than leave_one_out, step_leave_one_out, step_none or value"},
      {"algorithm.name=agemem algorithm.scale_rewards=group algorithm.reward=process process.command=cat "
       "algorithm.lone_sample_keeps_reward=true",
       "algorithm.lone_sample_keeps_reward is set"},
      {"run.workload=memory_agent memory.stage2_steps=0 memory.stage2_behaviour=guided",
       "needs memory.stage2_steps above 0"},
      {"algorithm.beta1=1", "needs algorithm.baseline optimal"},
      {"lora.alpha=1", "needs lora.r above 0"},
      {"algorithm.beta2=1", "needs algorithm.clip regression"},
      {"algorithm.entropy_target=1", "use_adaptive_entropy true"},
      {"algorithm.use_adaptive_entropy=true algorithm.entropy_coef=1 algorithm.entropy_coef_decay=0.5",
       "without use_adaptive_entropy"},
      {"algorithm.name=gmpo algorithm.importance_sampling_level=sequence",
       "algorithm.importance_sampling_level is set"},
      {"optimizer.warmup_start=0.5", "needs optimizer.warmup_steps or"},
      {"optimizer.schedule=constant optimizer.min_lr_rate=0.5", "needs optimizer.schedule linear or cosine"},
      {"optimizer.weight_decay_on=matrices", "needs optimizer.weight_decay above 0"},
      {"optimizer.warmup_steps=5 optimizer.warmup_ratio=0.1",
       "optimizer.warmup_steps is set, but nothing would read it: it needs optimizer.warmup_ratio 0"},
      {"algorithm.name=opo algorithm.dual_clip=3",
       "algorithm.dual_clip is set, but nothing would read it: it needs algorithm.clip two_sided"},
      {"algorithm.name=ppo algorithm.use_bias_correction_kl=false", "algorithm.use_bias_correction_kl"},
      {"algorithm.sync_ref_model=true", "algorithm.beta above 0"},
      {"algorithm.kl_schedule=proportional", "that becomes nonzero"},
      {"algorithm.aggregation=turn_mean", "environment.name"},
      {"execution.process_restarts=3", "(process.command)"},
      {"environment.max_turns=3", "environment.max_turns is set"},
      {"environment.name=number_guess environment.kinds=5", "environment.name grid_navigation"}};
  for (const auto& [settings, message] : cases) EXPECT_THAT(MessageFor(settings), HasSubstr(message)) << settings;
}

TEST(UnreadKeysTest, ATermWithoutARatioMakesOneUpdate) {
  for (const std::string name : {"reinforce", "episode_rloo", "remax", "opo"}) {
    const std::string settings = "algorithm.name=" + name + " algorithm.";
    EXPECT_THAT(MessageFor(settings + "num_iterations=2"),
                HasSubstr("algorithm.num_iterations is set, but nothing would read it: it needs a term with a ratio"));
    EXPECT_THAT(MessageFor(settings + "num_mini_batches=2"), HasSubstr("algorithm.num_mini_batches is set"));
    EXPECT_THAT(MessageFor(settings + "mini_batch_size=2"), HasSubstr("algorithm.mini_batch_size is set"));
  }
}

// Such a row makes four iterations by itself.
TEST(UnreadKeysTest, SeveralIterationsNeedATermWithARatio) {
  for (const char* name : {"ppo", "agemem"}) {
    const auto choose = [&](Config& c) { SelectPreset(name, &c.algorithm), SetClip(Clip::kReinforce, &c.algorithm); };
    EXPECT_EQ(ErrorMessage(choose),
              "algorithm.clip reinforce has no ratio to the sampling policy, which differs from the policy after the "
              "first of 4 iterations: set algorithm.num_iterations to 1");
    EXPECT_EQ(ErrorMessage([&](Config& c) { choose(c), c.algorithm.update.num_iterations = 1; }), "");
  }
}

TEST(UnreadKeysTest, RejectsKeysOfSftsAndThoughtsWhoseConditionFails) {
  EXPECT_THAT(ErrorMessage([](Config& c) { c.optimizer.warmup_form = WarmupForm::kToPeak; }),
              HasSubstr("needs optimizer.warmup_steps or"));
  EXPECT_THAT(ErrorMessage([](Config& c) {
                c.optimizer.warmup_steps = 5, c.optimizer.warmup_form = WarmupForm::kDelay,
                c.optimizer.warmup_start = 0.5;
              }),
              HasSubstr("a warmup_form other than delay"));
  EXPECT_THAT(ErrorMessage([](Config& c) { c.algorithm.advantage.value_of_turns = true; }),
              HasSubstr("needs algorithm.baseline value"));
  for (const auto choose : std::vector<void (*)(Config&)>{[](Config& c) { c.quiet_star.injection_interval = 5; },
                                                          [](Config& c) { c.quiet_star.mixing_heads = 4; },
                                                          [](Config& c) { c.quiet_star.values_train_decoder = true; },
                                                          [](Config& c) { c.quiet_star.theater.ablation = 0.1; },
                                                          [](Config& c) { c.quiet_star.baking_examples = 5; }}) {
    EXPECT_THAT(ErrorMessage([&](Config& c) {
                  c.run.workload = "quiet_star";
                  choose(c);
                }),
                HasSubstr("but nothing would read it"));
  }
  EXPECT_EQ(ErrorMessage([](Config& c) {
              c.run.workload = "quiet_star", c.quiet_star.positions = ThoughtPositions::kDifficult,
              c.quiet_star.injection_interval = 5;
              c.rollout.top_p = 0.9, c.execution.decode_slots = 4;
            }),
            "");
}

TEST(UnreadKeysTest, RejectsKeysWhoseSectionHasNoReader) {
  const auto expect_refused = [](const std::function<void(Config&)>& choose, absl::string_view message) {
    EXPECT_THAT(ErrorMessage(choose), HasSubstr(std::string(message)));
  };
  constexpr absl::string_view kDrawn = " is set, but nothing would read it: it needs generated tasks";
  expect_refused([](Config& c) { c.environment.name = "countdown", c.data.task = "sort"; }, kDrawn);
  expect_refused([](Config& c) { c.environment.name = "number_guess", c.data.min_length = 2; }, kDrawn);
  expect_refused([](Config& c) { c.data.path = "problems.jsonl", c.data.max_length = 2; }, kDrawn);
  expect_refused([](Config& c) { c.data.path = "problems.jsonl", c.data.alphabet_size = 4; }, kDrawn);
  expect_refused([](Config& c) { c.data.task = "addition", c.data.alphabet_size = 4; }, kDrawn);
  expect_refused([](Config& c) { c.sft.prompts_per_step = 4; }, "needs sft.steps above 0");
  expect_refused([](Config& c) { c.sft.learning_rate = 4; }, "needs sft.steps above 0");
  expect_refused([](Config& c) { c.rollout.truncation_side = TruncationSide::kRight; },
                 "needs rollout.max_prompt_length above 0");
  expect_refused([](Config& c) { c.evaluation.keep_best = false; }, "needs evaluation.every above 0");
  expect_refused([](Config& c) { c.evaluation.metric_for_best_model = "eval_reward"; }, "needs evaluation.every");
  expect_refused(
      [](Config& c) { c.evaluation.every = 2, c.evaluation.keep_best = false, c.evaluation.greater_is_better = false; },
      "with keep_best or early_stopping");
  expect_refused([](Config& c) { c.evaluation.early_stopping_threshold = 0.1; }, "needs evaluation.every above 0");
}

TEST(UnreadKeysTest, AcceptsKeysWhoseSectionHasAReader) {
  const auto expect_read = [](const std::function<void(Config&)>& choose) { EXPECT_EQ(ErrorMessage(choose), ""); };
  expect_read([](Config& c) { c.data.task = "sort", c.data.alphabet_size = 4, c.data.max_length = 7; });
  expect_read([](Config& c) { c.environment.name = "process", c.data.min_length = 2; });
  expect_read([](Config& c) { c.sft.steps = 1, c.sft.prompts_per_step = 4, c.sft.learning_rate = 1; });
  expect_read([](Config& c) { c.rollout.max_prompt_length = 9, c.rollout.truncation_side = TruncationSide::kRight; });
  expect_read([](Config& c) { c.evaluation.num_prompts = 9, c.evaluation.held_out_share = 0.5; });  // verb evaluate
  expect_read([](Config& c) { c.evaluation.every = 2, c.evaluation.greater_is_better = false; });
  expect_read([](Config& c) {
    c.evaluation.every = 2, c.evaluation.early_stopping_patience = 1, c.evaluation.early_stopping_threshold = 0.1;
  });
}

TEST(UnreadKeysTest, AcceptsKeysWhoseConditionHolds) {
  const auto expect_read = [](const std::function<void(Config&)>& choose) { EXPECT_EQ(ErrorMessage(choose), ""); };
  expect_read([](Config& c) { SelectPreset("rloo", &c.algorithm), c.algorithm.advantage.normalize_advantages = true; });
  expect_read([](Config& c) { SelectPreset("reinforce_plus_plus", &c.algorithm), c.algorithm.advantage.gamma = 0.9; });
  expect_read([](Config& c) { SetBeta(0.1, &c.algorithm), c.algorithm.reference.sync = true; });
  expect_read([](Config& c) {
    SelectPreset("a2po", &c.algorithm), c.algorithm.reference.sync = true, c.algorithm.optimal.beta1 = 1;
  });
  expect_read([](Config& c) {
    SelectPreset("a2po", &c.algorithm), c.algorithm.update.num_iterations = 2, c.algorithm.loss.regression_beta = 1;
  });
  expect_read([](Config& c) {
    SelectPreset("gmpo", &c.algorithm), SetEpsilon(0.3, &c.algorithm), c.algorithm.loss.epsilon_high = 0.5;
  });
  expect_read([](Config& c) {
    SelectPreset("reinforce", &c.algorithm), SetClip(Clip::kNone, &c.algorithm), c.algorithm.update.num_iterations = 2;
  });
  expect_read([](Config& c) { c.algorithm.entropy.adaptive = true, c.algorithm.entropy.max = 0.5; });
  expect_read([](Config& c) { c.algorithm.kl.schedule = KlSchedule::kBanded, c.algorithm.kl.target = 0.1; });
  expect_read([](Config& c) { c.environment.name = "countdown", c.environment.numbers = 4; });
  for (const char* baseline : {"step_group_mean", "step_leave_one_out", "step_none"}) {
    expect_read([&](Config& c) {
      c.algorithm.advantage.baseline = ParseBaseline(baseline).value(), c.algorithm.advantage.gamma = 0.9;
    });
  }
  expect_read([](Config& c) {
    SelectPreset("agemem", &c.algorithm), c.algorithm.advantage.gamma = 1,
                                          c.algorithm.advantage.scale_rewards = ScaleRewards::kGroup,
                                          c.algorithm.advantage.ddof = 0;
    c.algorithm.advantage.advantage_epsilon = 0.1;
  });
  expect_read([](Config& c) { c.algorithm.advantage.gamma = 1; });  // grpo's own, which it does not read
  expect_read([](Config& c) {
    c.algorithm.update.mini_batch_size = 16, c.algorithm.update.unit = MinibatchUnit::kDecision,
    c.algorithm.update.target_kl = 0.1;
  });
}

TEST(ChosenKeysTest, AreThoseOfAnotherValueThanTheirDefaultOrTheirAlgorithms) {
  const auto chosen = [](const std::vector<std::string>& overrides) {
    const absl::StatusOr<ResolvedConfig> resolved = LoadConfig("", "c.toml", overrides);
    EXPECT_OK(resolved);
    return ChosenKeys(resolved->config);
  };
  EXPECT_THAT(chosen({}), ElementsAre());
  EXPECT_THAT(chosen({"algorithm.loss_type=sapo"}), ElementsAre("algorithm.loss_type"));
  EXPECT_THAT(chosen({"algorithm.loss_type=dapo", "algorithm.clip=two_sided"}), ElementsAre());  // its own
  // An upper bound that is not set follows the lower one.
  EXPECT_THAT(chosen({"algorithm.epsilon=0.1"}), ElementsAre("algorithm.epsilon"));
  EXPECT_THAT(chosen({"run.seed=2", "algorithm.name=ppo", "algorithm.beta=0"}),
              ElementsAre("run.seed", "algorithm.name", "algorithm.beta"));
}

// Arguments as for LoadConfig: the file's text and the overrides of the command line.
absl::StatusOr<std::string> Warnings(absl::string_view file, const std::vector<std::string>& overrides) {
  const absl::StatusOr<ResolvedConfig> resolved = LoadConfig(file, "c.toml", overrides);
  if (!resolved.ok()) return resolved.status();
  const absl::StatusOr<std::vector<std::string>> warnings = CheckRunIsLongEnough(resolved->config, resolved->origins);
  if (!warnings.ok()) return warnings.status();
  return absl::StrJoin(*warnings, "\n");
}

TEST(CheckRunIsLongEnoughTest, RejectsASftLongerThanTheRunUnlessTheRunWasOnlyShortened) {
  constexpr char kFile[] = "[run]\nsteps = 20\n[optimizer]\nwarmup_steps = 10\n";
  constexpr char kMessage[] =
      "optimizer.warmup_steps 10 is more than run.steps 5: the learning rate does not reach optimizer.learning_rate";
  EXPECT_EQ(Warnings(kFile, {}).value(), "");
  EXPECT_EQ(Warnings(kFile, {"run.steps=10"}).value(), "");
  EXPECT_EQ(Warnings(kFile, {"run.steps=5"}).value(), kMessage);
  EXPECT_EQ(Warnings(kFile, {"run.steps=0"}).value(), "");  // nothing is trained
  EXPECT_THAT(Warnings(kFile, {"optimizer.warmup_steps=21"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "optimizer.warmup_steps 21 is more than run.steps 20: the learning rate does not reach "
                       "optimizer.learning_rate; set it to at most run.steps, or optimizer.warmup_ratio to a share of "
                       "them"));
  EXPECT_FALSE(Warnings(kFile, {"run.steps=5", "optimizer.warmup_steps=10"}).ok());
  EXPECT_FALSE(Warnings("[run]\nsteps = 5\n[optimizer]\nwarmup_steps = 10\n", {}).ok());
}

TEST(CheckRunIsLongEnoughTest, WarnsOfEvaluationsThatNeverCome) {
  constexpr char kFile[] = "[run]\nsteps = 20\n[evaluation]\nevery = 20\n";
  EXPECT_EQ(Warnings(kFile, {}).value(), "");
  EXPECT_EQ(Warnings(kFile, {"run.steps=0"}).value(), "");
  EXPECT_EQ(
      Warnings(kFile, {"run.steps=19"}).value(),
      "evaluation.every 20 is more than run.steps 19: no evaluation follows a training step; the verb evaluate can "
      "make one later");
}

}  // namespace
}  // namespace reprise::rl
