#include "pipelines/sweeps/sweep_plan.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/sweep_file.h"
#include "pipelines/sweeps/trials/trial_facts.h"
#include "pipelines/sweeps/trials/trial_name.h"
#include "rapidcheck/gtest.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kBandit[] = R"([run]
workload = "bandit"
steps = 3
[rollout]
prompts_per_step = 8
num_generations = 2
)";

// Writes the file into the tests' directory and returns its path.
std::string Write(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path) << text;
  return path;
}

absl::StatusOr<SweepPlan> Plan(const std::string& text, const KeyEdits& edits = {}) {
  Write("bandit.toml", kBandit);
  return PlanSweep(Write("s.toml", text), edits, /*ranks=*/1);
}

std::vector<std::string> ListTrialNames(const SweepPlan& plan) {
  std::vector<std::string> names;
  for (const Trial& trial : plan.trials) names.push_back(trial.name);
  return names;
}

std::string ProblemIn(const SweepPlan& plan, size_t trial) {
  return ParseTrialProblem(StoredText(plan.trials[trial].config.config), {});
}

// Without the folder of the file, which every place has.
std::string ErrorOf(const std::string& text, const KeyEdits& edits = {}) {
  const std::string message(Plan(text, edits).status().message());
  return absl::StrReplaceAll(message, {{absl::StrCat(::testing::TempDir(), "/s.toml:"), "s.toml:"}});
}

TEST(SweepPlanTest, AGridIsEveryCombinationWithTheLastKeyFastest) {
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(R"(config = "bandit.toml"
[settings]
run.steps = 5
[grid]
algorithm.name = ["grpo", "rloo"]
optimizer.learning_rate = [1e-3, 1e-2]
run.seed = [1, 2]
)"));
  EXPECT_THAT(
      ListTrialNames(plan),
      ElementsAre("00-grpo-lr0.001-seed1", "01-grpo-lr0.001-seed2", "02-grpo-lr0.01-seed1", "03-grpo-lr0.01-seed2",
                  "04-rloo-lr0.001-seed1", "05-rloo-lr0.001-seed2", "06-rloo-lr0.01-seed1", "07-rloo-lr0.01-seed2"));
  EXPECT_THAT(plan.axes, ElementsAre("algorithm.name", "optimizer.learning_rate", "run.seed"));
  EXPECT_THAT(plan.trials[6].settings, ElementsAre("\"rloo\"", "0.01", "1"));
  EXPECT_EQ(plan.trials[6].config.config.algorithm.name, "rloo");
  EXPECT_EQ(plan.trials[6].config.config.run.steps, 5);
  EXPECT_EQ(plan.trials[6].config.config.run.workload, "bandit");
  EXPECT_EQ(plan.trials[0].arm, "grpo-lr0.001");
  EXPECT_EQ(plan.trials[1].arm, "grpo-lr0.001");
  EXPECT_EQ(ProblemIn(plan, 0), ProblemIn(plan, 7));
}

TEST(SweepPlanTest, VariantsMayHaveWorkloadsOfTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(R"([grid]
run.seed = [1, 2]
[[variants]]
name = "choose"
config = "bandit.toml"
grid.bandit.hidden = ["8", ""]
[[variants]]
name = "words"
run.steps = 2
)"));
  EXPECT_THAT(ListTrialNames(plan),
              ElementsAre("00-choose-seed1-hidden8", "01-choose-seed1-hiddennone", "02-choose-seed2-hidden8",
                          "03-choose-seed2-hiddennone", "04-words-seed1", "05-words-seed2"));
  EXPECT_EQ(plan.trials[5].config.config.run.workload, "completions");
  EXPECT_THAT(plan.trials[5].settings, ElementsAre("2", "2", ""));
  EXPECT_EQ(ProblemIn(plan, 0), ProblemIn(plan, 3)) << "the policy's shape is not part of the problem";
  EXPECT_NE(ProblemIn(plan, 0), ProblemIn(plan, 5));
}

TEST(SweepPlanTest, RewardsUnderAnotherPunishmentAreThoseOfAnotherProblem) {
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(R"([grid]
algorithm.missing_eos_penalty = [0.0, 0.5]
algorithm.soft_punish_cache = [0, 2]
algorithm.epsilon = [0.1, 0.2]
)"));
  ASSERT_EQ(plan.trials.size(), 8u);
  std::set<std::string> problems;
  for (size_t i = 0; i < plan.trials.size(); i += 2) {
    problems.insert(ProblemIn(plan, i));
    EXPECT_EQ(ProblemIn(plan, i), ProblemIn(plan, i + 1));
  }
  EXPECT_EQ(problems.size(), 4u);
}

constexpr char kRandom[] = R"(config = "bandit.toml"
[random]
count = 12
seed = 3
optimizer.learning_rate = {low = 1e-4, high = 1e-1, scale = "log"}
rollout.num_generations = {low = 2, high = 5}
algorithm.name = ["grpo", "rloo"]
)";

TEST(SweepPlanTest, DrawsAreAFunctionOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(kRandom));
  ASSERT_OK_AND_ASSIGN(const SweepPlan again, Plan(kRandom));
  ASSERT_EQ(plan.trials.size(), 12u);
  int small = 0;
  std::set<int64_t> generations;
  for (size_t i = 0; i < plan.trials.size(); ++i) {
    EXPECT_EQ(plan.trials[i].config.canonical, again.trials[i].config.canonical);
    const rl::Config& config = plan.trials[i].config.config;
    EXPECT_GE(config.optimizer.learning_rate, 1e-4);
    EXPECT_LE(config.optimizer.learning_rate, 1e-1);
    small += config.optimizer.learning_rate < 1e-2 ? 1 : 0;
    generations.insert(config.rollout.num_generations);
  }
  EXPECT_EQ(plan.trials[3].name, "03-draw03");
  EXPECT_GT(small, 4) << "the logarithm is uniform: two thirds are below 1e-2";
  EXPECT_THAT(generations, ElementsAre(2, 3, 4, 5));
}

TEST(SweepPlanTest, AnotherSeedDrawsOtherSettings) {
  std::string other = kRandom;
  other.replace(other.find("seed = 3"), 8, "seed = 4");
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(kRandom));
  ASSERT_OK_AND_ASSIGN(const SweepPlan changed, Plan(other));
  EXPECT_NE(plan.trials[0].config.canonical, changed.trials[0].config.canonical);
}

TEST(SweepPlanTest, TheCommandLineSetsKeysOfEveryTrial) {
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan,
                       Plan("config = \"bandit.toml\"\n[grid]\nrun.seed = [1, 2]\n", {.set = {"run.steps=9"}}));
  for (const Trial& trial : plan.trials) EXPECT_EQ(trial.config.config.run.steps, 9);
  EXPECT_EQ(ErrorOf("config = \"bandit.toml\"\n[grid]\nrun.seed = [1, 2]\n", {.set = {"run.seed=9"}}),
            "--set run.seed=9: the sweep varies run.seed; remove the option, or change the file");
  EXPECT_EQ(ErrorOf("[grid]\nrun.seed = [1, 2]\n", {.set = {"run.sed=9"}}),
            "--set run.sed=9: unknown key run.sed; did you mean run.seed?");
}

TEST(SweepPlanTest, MistakesAreReportedWithTheirPlace) {
  const auto grid = [](const std::string& line) { return ErrorOf("config = \"bandit.toml\"\n[grid]\n" + line + "\n"); };
  EXPECT_EQ(grid("run.sed = [1]"), "s.toml:3:5: unknown key run.sed; did you mean run.seed?");
  EXPECT_EQ(grid("rnu.seed = [1]"), "s.toml:3:1: unknown section rnu; did you mean run?");
  EXPECT_EQ(grid("learning_rate = [1]"),
            "s.toml:3:1: learning_rate has no section; did you mean sft.learning_rate or optimizer.learning_rate?");
  EXPECT_EQ(grid("execution.threads = [1, 2]"),
            "s.toml:3:11: execution.threads changes no bit of a run, so that trials cannot differ in it: set it in "
            "[settings], or by --set");
  EXPECT_EQ(grid(""), "s.toml:2:2: the grid is empty: give it keys with lists of values, as run.seed = [1, 2, 3]");
  EXPECT_EQ(grid("run.seed = []"), "s.toml:3:12: run.seed has no values: give one or more");
  EXPECT_EQ(grid("run.seed = [1, 2, 1]"), "s.toml:3:19: run.seed has the value 1 twice: remove one");
  EXPECT_EQ(grid("run.seed = 1"), "s.toml:3:12: run.seed is a value; expected a list of values, as [1, 2, 3]");
  EXPECT_EQ(grid("run.seed = [-1]"), "s.toml:3:13: run.seed is -1; expected 0 or more");
  EXPECT_THAT(grid("algorithm.name = [\"grop\"]"), HasSubstr("s.toml:3:19: algorithm.name is \"grop\"; expected "));
  EXPECT_EQ(ErrorOf("[gird]\nrun.seed = [1]\n"),
            "s.toml:1:2: unknown key \"gird\"; did you mean \"grid\"? Known are: config, settings, grid, variants, "
            "random, compare");
  EXPECT_EQ(ErrorOf("[run]\nsteps = 3\n"),
            "s.toml:1:2: run is a section of a configuration: write [settings.run] for every trial, or [grid] for "
            "several values");
  EXPECT_THAT(ErrorOf("config = \"bandit.toml\"\n"), HasSubstr("s.toml:1:1: the sweep varies nothing"));
  EXPECT_EQ(ErrorOf("[random]\ncount = 2\noptimizer.learning_rate = {low = 1e-2, high = 1e-3}\n"),
            "s.toml:3:47: optimizer.learning_rate: high must be greater than low");
  EXPECT_THAT(ErrorOf("config = \"bandit.toml\"\n[random]\ncount = 9\nalgorithm.name = [\"grpo\", \"rloo\"]\n"),
              HasSubstr("s.toml:3:9: only 2 different draws were found"));
  EXPECT_EQ(ErrorOf("variants = [1]\n"),
            "s.toml:1:13: an element of the list is a value; expected a table, as [[variants]]");
  EXPECT_EQ(ErrorOf("variants = []\n"), "s.toml:1:1: there are no variants: give one, or remove the list");
  EXPECT_EQ(ErrorOf("[grid]\nrun.seed = [1]\n[random]\ncount = 1\nrun.seed = [1, 2]\n"),
            "s.toml:2:5: run.seed is varied in [random] as well: remove one");
  EXPECT_EQ(ErrorOf("[settings]\nrun.seed = 3\n[grid]\nrun.seed = [1, 2]\n"),
            "s.toml:2:12: [settings] sets run.seed, which [grid] varies: remove one");
  EXPECT_EQ(ErrorOf("[settings]\nrun.seed = 3\n[random]\ncount = 1\nrun.seed = [1, 2]\n"),
            "s.toml:2:12: [settings] sets run.seed, which [random] varies: remove one");
}

TEST(SweepPlanTest, AnInvalidTrialIsNamed) {
  EXPECT_THAT(ErrorOf("config = \"bandit.toml\"\n[grid]\nmodel.hidden_size = [8, 16]\n"),
              HasSubstr("s.toml: trial 00-hs8: "));
  EXPECT_THAT(Plan("config = \"missing.toml\"\n[grid]\nrun.seed = [1]\n"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("s.toml:1:10: ")));
  EXPECT_THAT(ErrorOf("config = \"bandit.toml\"\n[settings]\nrun.reduction = \"fast\"\n[grid]\nrun.seed = [1]\n"),
              HasSubstr("s.toml: trial 00-seed1: run.reduction is \"fast\""));
}

TEST(SweepPlanTest, ASettingIsForTheTrialsThatReadIt) {
  const auto text = [](const std::string& of_first) {
    return absl::StrCat("[settings]\nexecution.process_time_limit = 7.5\nrun.steps = 4\n[[variants]]\nname = \"a\"\n",
                        of_first, "[[variants]]\nname = \"b\"\nconfig = \"bandit.toml\"\n");
  };
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(text("algorithm.reward = \"process\"\nprocess.command = \"cat\"\n")));
  EXPECT_EQ(plan.trials[0].config.config.execution.process_time_limit, 7.5);
  EXPECT_EQ(plan.trials[1].config.config.execution.process_time_limit, rl::Config().execution.process_time_limit);
  EXPECT_EQ(plan.trials[1].config.config.run.steps, 4);
  EXPECT_THAT(ErrorOf(text("")),
              HasSubstr("s.toml:2:32: execution.process_time_limit is set, but nothing would read it: it needs "));
}

TEST(SweepPlanTest, TheMetricMustBeOneThatATrialCanHave) {
  const auto error = [](const std::string& metric, const std::string& settings = "") {
    return ErrorOf(absl::StrCat("config = \"bandit.toml\"\n[compare]\nmetric = \"", metric, "\"\n[settings]\n",
                                settings, "[grid]\nrun.seed = [1, 2]\n"));
  };
  EXPECT_EQ(
      error("rewrad"),
      "s.toml:3:10: unknown metric \"rewrad\"; did you mean \"reward\"? docs/algorithms.md and docs/evaluation.md "
      "list all");
  EXPECT_EQ(error("memory/operations"),
            "s.toml:3:10: no trial has the metric \"memory/operations\": it needs run.workload memory_agent");
  EXPECT_EQ(error("eval_reward"),
            "s.toml:3:10: no trial has the metric \"eval_reward\": none makes evaluations; set evaluation.every");
  const std::string evaluates = "evaluation.every = 1\nevaluation.num_generations = 4\n";
  EXPECT_THAT(error("eval_pass@5", evaluates), HasSubstr("unknown metric \"eval_pass@5\"; did you mean \"eval_pass@"));
  for (const char* const metric : {"reward", "rewards/bandit/mean", "bandit/regret", "grad_norm"}) {
    EXPECT_EQ(error(metric), "");
  }
  for (const char* const metric : {"eval_pass@4", "eval_pass@4_low", "eval_greedy_accuracy"}) {
    EXPECT_EQ(error(metric, evaluates), "");
  }
}

// The sweep's file may be given by any path; those in it and in the configuration lead to the same files.
TEST(SweepPlanTest, PathsAreRelativeToTheFileThatHasThem) {
  const std::string directory = JoinPath(::testing::TempDir(), "");
  std::filesystem::create_directory(directory + "inner");
  Write("inner/words.toml", "[data]\npath = \"of_config.jsonl\"\n");
  const auto paths = [&](const std::string& text, const KeyEdits& edits = {}) {
    const absl::StatusOr<SweepPlan> plan = Plan(text, edits);
    EXPECT_OK(plan);
    std::vector<std::string> of_trials;
    if (plan.ok()) {
      for (const Trial& trial : plan->trials) of_trials.push_back(trial.config.config.data.path);
    }
    return of_trials;
  };
  const std::string base = "config = \"inner/words.toml\"\n", seeds = "[grid]\nrun.seed = [1]\n";
  EXPECT_THAT(paths(base + seeds), ElementsAre(directory + "inner/of_config.jsonl"));
  EXPECT_THAT(paths(base + seeds, {.set = {"data.path=mine.jsonl"}}), ElementsAre("mine.jsonl"));
  EXPECT_THAT(paths(base + "[settings]\ndata.path = \"own.jsonl\"\n" + seeds), ElementsAre(directory + "own.jsonl"));
  const std::string grid = "[grid]\ndata.path = [\"x/a.jsonl\", \"/b.jsonl\"]\n";
  EXPECT_THAT(paths(base + grid), ElementsAre(directory + "x/a.jsonl", "/b.jsonl"));
  ASSERT_OK_AND_ASSIGN(const SweepPlan plan, Plan(base + grid));
  EXPECT_THAT(plan.trials[0].settings, ElementsAre("\"x/a.jsonl\"")) << "as it is written, wherever the file is";
  EXPECT_THAT(ListTrialNames(plan), ElementsAre("00-x_a.jsonl", "01-path_b.jsonl"));
}

TEST(SweepPlanTest, TwoTrialsWithTheSameConfigurationAreRejected) {
  EXPECT_EQ(ErrorOf("config = \"bandit.toml\"\n[[variants]]\nname = \"a\"\n[[variants]]\nname = \"b\"\n"
                    "algorithm.name = \"grpo\"\n"),
            "s.toml:4:1: trials 00-a and 01-b have the same configuration: remove one");
}

// A file with a character changed, removed or doubled is a sweep or an error with a place, never a crash.
RC_GTEST_PROP(ParseSweepTest, AnyTextIsASweepOrAnErrorWithAPlace, ()) {
  std::string text = absl::StrCat(kRandom, "[grid]\nrun.seed = [1, 2]\n[[variants]]\nname = \"a\"\nrun.steps = 3\n");
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const size_t place = *rc::gen::inRange<size_t>(0, text.size());
    const std::string character(1, *rc::gen::elementOf(std::string("[]{}=.,\"'\n# a1-")));
    text.replace(place, *rc::gen::inRange<size_t>(0, 2), *rc::gen::element(character, std::string()));
  }
  const absl::StatusOr<SweepFile> file = ParseSweep(text, "d/s.toml");
  RC_ASSERT(file.ok() || absl::StartsWith(file.status().message(), "d/s.toml:"));
}

TEST(TrialNameTest, ShortNamesStayDifferent) {
  EXPECT_THAT(ShortNames({"optimizer.learning_rate", "run.seed", "algorithm.beta"}), ElementsAre("lr", "seed", "beta"));
  EXPECT_THAT(ShortNames({"optimizer.learning_rate", "sft.learning_rate"}),
              ElementsAre("optimizer_learning_rate", "sft_learning_rate"));
  EXPECT_THAT(ShortNames({"a.long_range", "b.linear_rise"}), ElementsAre("long_range", "linear_rise"));
}

TEST(TrialNameTest, ValuesBecomeNamesOfFolders) {
  EXPECT_EQ(ShortSetting("lr", config::Value(1e-6)), "lr1e-6");
  EXPECT_EQ(ShortSetting("beta", config::Value(2.0)), "beta2");
  EXPECT_EQ(ShortSetting("name", config::Value(std::string("grpo"))), "grpo");
  EXPECT_EQ(ShortSetting("hidden", config::Value(std::string("64 64"))), "hidden64_64");
  EXPECT_EQ(ShortSetting("path", config::Value(std::string("a/../b"))), "a_.._b");
  EXPECT_EQ(ShortSetting("ln", config::Value(true)), "ln_true");
  EXPECT_EQ(TrialName(7, 1000, "x"), "007-x");
  EXPECT_EQ(TrialName(7, 8, ""), "07");
  EXPECT_EQ(TrialName(0, 1, std::string(80, 'a')).size(), 83u);
}

}  // namespace
}  // namespace reprise
