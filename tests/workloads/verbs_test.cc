// Promise: every verb serves every workload.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"
#include "tests/workloads/workloads.h"

namespace reprise::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class VerbsTest : public ::testing::TestWithParam<TestedWorkload> {
 protected:
  // Trains the quick run of two steps into `directory`.
  ProcessResult Train(const std::string& directory, const std::vector<std::string>& overrides,
                      const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {GetParam().quick, "--output", directory, "--quiet"};
    for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = RunVerb("train", arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  std::string NewRun(const std::vector<std::string>& overrides = {}, const std::vector<std::string>& flags = {}) {
    const std::string directory = UniqueTemporaryPath();
    Train(directory, overrides, flags);
    return directory;
  }
  // Returns the directory of the quick run, which is trained once for all tests that only read it.
  const std::string& QuickRun() {
    static auto* const runs = new std::map<std::string, std::string>;
    std::string& run = (*runs)[GetParam().quick];
    if (run.empty()) run = NewRun();
    return run;
  }
};

// Returns the paths of the files in a directory and below it.
std::set<std::string> FilesBelow(const std::string& directory) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) paths.insert(std::filesystem::relative(entry.path(), directory).string());
  }
  return paths;
}

void ExpectSameRun(const std::string& a, const std::string& b) {
  EXPECT_TRUE(Contents(a + "/run.h5") == Contents(b + "/run.h5"));
  EXPECT_EQ(MetricsWithoutTimes(a), MetricsWithoutTimes(b));
  EXPECT_EQ(Contents(a + "/model/model.safetensors"), Contents(b + "/model/model.safetensors"));
}

TEST_P(VerbsTest, AStoppedAndResumedRunHasTheBytesOfAnUninterruptedRun) {
  const std::string whole = NewRun({"run.steps=3"}), stopped = NewRun({"run.steps=3"}, {"--stop-after-step", "1"});
  Train(stopped, {"run.steps=3"}, {"--resume"});
  ExpectSameRun(stopped, whole);
}

class EqualRewardsTest : public VerbsTest {};

// So low a temperature draws the same samples. Only completions have a reward function that could be another one.
TEST_P(EqualRewardsTest, TenStepsOfEqualRewardsGiveAdviceThatSuitsTheWorkload) {
  const std::string directory = UniqueTemporaryPath();
  const ProcessResult result = Train(directory, {"run.steps=10", "rollout.temperature=1e-6"});
  const bool has_completions = GetParam().name == "completions";
  EXPECT_THAT(result.err, HasSubstr(std::string("for 10 steps all ") + (has_completions ? "completions" : "episodes") +
                                    " of every prompt have had equal rewards"));
  EXPECT_EQ(result.err.find("algorithm.reward") != std::string::npos, has_completions) << result.err;
}

// Nothing is sampled until there is something to learn from: a step has the groups that the configuration says.
TEST_P(EqualRewardsTest, StepsWhoseGroupsAreAllDroppedEndWithoutAnUpdate) {
  const std::string directory = UniqueTemporaryPath();
  EXPECT_EQ(Train(directory, {"rollout.temperature=1e-6", "algorithm.dynamic_sampling=true"}).exit_code, 0);
  const std::vector<nlohmann::json> lines = JsonLines(Contents(directory + "/metrics.jsonl"));
  ASSERT_EQ(lines.size(), 2);
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("frac_reward_zero_std"), 1);
    EXPECT_EQ(line.at("grad_norm"), 0);
  }
}

TEST_P(VerbsTest, AnExtendedRunHasTheBytesOfARunWithAllStepsFromTheBeginning) {
  const std::string constant = "optimizer.schedule=\"constant\"";
  const std::string at_once = NewRun({constant, "run.steps=4"}), extended = NewRun({constant});
  Train(extended, {constant, "run.steps=4"}, {"--resume"});
  ExpectSameRun(extended, at_once);
}

TEST_P(VerbsTest, ASftAndEvaluationsAreReproducedInBothModesAndFromAnyStep) {
  const std::string file = NewRun({"run.steps=3", "sft.steps=1", "evaluation.every=2", "evaluation.num_prompts=3",
                                   "evaluation.metric_for_best_model=\"eval_reward\""}) +
                           "/run.h5";
  for (const char* mode : {"replay", "regenerate"}) {
    const nlohmann::json verdict = RunForJson("reproduce", {file, "--mode", mode}, 0);
    EXPECT_EQ(verdict["pass"], true) << verdict;
    EXPECT_EQ(verdict["steps_checked"], 4);
    EXPECT_EQ(RunForJson("reproduce", {file, "--mode", mode, "--from-step", "3"}, 0)["steps_checked"], 1);
  }
}

TEST_P(VerbsTest, CompareFindsWhatDiffers) {
  const std::string run = QuickRun();
  EXPECT_EQ(RunVerb("compare", {run, NewRun()}).out, "identical\n");
  const nlohmann::json seeds = RunForJson("compare", {run, NewRun({"run.seed=2"})}, 1);
  EXPECT_EQ(seeds["differences"].size(), 1);
  EXPECT_EQ(seeds["first_divergence"]["step"], 1);
  const nlohmann::json rates = RunForJson("compare", {run, NewRun({"optimizer.learning_rate=0.5"})}, 1);
  EXPECT_EQ(rates["first_divergence"]["step"], 1);
  EXPECT_EQ(rates["first_divergence"]["stage"], "weights");
}

TEST_P(VerbsTest, InspectShowsTheRunAndAStep) {
  const std::string run = QuickRun();
  const nlohmann::json shown = RunForJson("inspect", {run}, 0);
  EXPECT_EQ(shown["training_steps"], 2);
  EXPECT_THAT(RunVerb("inspect", {run}).out,
              StartsWith("run digest        sha256:" + shown["run_digest"].get<std::string>() + "\n"));
  EXPECT_EQ(RunForJson("inspect", {run, "--step", "2"}, 0)["step"], 2);
  EXPECT_THAT(RunVerb("inspect", {run, "--step", "2"}).out, HasSubstr("\nmetrics"));
  EXPECT_EQ(RunVerb("inspect", {run, "--step", "3"}).exit_code, 64);
}

TEST_P(VerbsTest, ValidateSaysOk) {
  const ProcessResult result = RunVerb("validate", {GetParam().quick, "--ranks", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, EndsWith("ok\n"));
}

TEST_P(VerbsTest, EvaluateGivesTheMetricsThatTheRunRecorded) {
  const std::string run = NewRun({"evaluation.every=1", "evaluation.num_prompts=5", "evaluation.num_generations=3"});
  const std::vector<nlohmann::json> lines = JsonLines(Contents(run + "/metrics.jsonl"));
  ASSERT_EQ(lines.size(), 2);
  for (const int64_t step : {1, 2}) {
    const nlohmann::json reported = RunForJson("evaluate", {run, "--step", std::to_string(step)}, 0);
    EXPECT_EQ(reported["step"], step);
    const nlohmann::json& recorded = lines[static_cast<size_t>(step) - 1];
    EXPECT_EQ(reported.at("eval_reward"), recorded.at("eval_reward"));
  }
}

TEST_P(VerbsTest, ExportWritesTheRunsOwnModelByteForByte) {
  const std::string run = QuickRun(), output = UniqueTemporaryPath();
  EXPECT_EQ(RunForJson("export", {run, "--output", output}, 0)["step"], 2);
  const std::set<std::string> files = FilesBelow(run + "/model");
  EXPECT_EQ(FilesBelow(output), files);
  for (const std::string& file : files)
    EXPECT_EQ(Contents(output + "/" + file), Contents(run + "/model/" + file)) << file;
  RunForJson("export", {run, "--step", "1", "--output", UniqueTemporaryPath()}, 0);
}

TEST_P(VerbsTest, ARunStartsFromTheWeightsOfAnother) {
  const std::string first = QuickRun(), next = NewRun({}, {"--init-from", first});
  EXPECT_FALSE(Contents(first + "/run.h5") == Contents(next + "/run.h5"));
  EXPECT_EQ(RunForJson("reproduce", {next + "/run.h5", "--init-from", first}, 0)["pass"], true);
  EXPECT_EQ(RunVerb("reproduce", {next + "/run.h5"}).exit_code, 64);
}

FOR_EACH_WORKLOAD(VerbsTest);
FOR_EACH_WORKLOAD(EqualRewardsTest);

// Their exports have the adapters in a directory of their own, beside the merged model.
INSTANTIATE_TEST_SUITE_P(Adapters, VerbsTest,
                         ::testing::Values(TestedWorkload{"completions", {}, "tests/workloads/quick_adapters.toml"},
                                           TestedWorkload{"memory_agent", {}, "tests/workloads/quick_facts.toml"},
                                           TestedWorkload{
                                               "quiet_star", {}, "tests/workloads/quick_thinking_adapters.toml"}),
                         [](const auto& info) { return WorkloadName(info); });

// The steps of an SFT phase that has converged are left out of the run, which is resumed, extended and reproduced as
// any.
TEST(ConvergedSftTest, StepsThatWereNotTakenAreLeftOut) {
  const auto train = [](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"tests/workloads/quick_quiet_star.toml", "--quiet"};
    for (const char* set :
         {"sft.steps=40", "sft.learning_rate=3e-2", "quiet_star.counted=answer", "quiet_star.plain_share=1",
          "quiet_star.baking_convergence=0.3", "quiet_star.baking_window=3", "optimizer.schedule=constant"}) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = RunVerb("train", arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  const std::string whole = UniqueTemporaryPath(), stopped = UniqueTemporaryPath();
  train({"--output", whole, "--set", "run.steps=3"});
  const std::vector<nlohmann::json> lines = JsonLines(Contents(whole + "/metrics.jsonl"));
  const int64_t taken = static_cast<int64_t>(lines.size()) - 3;
  ASSERT_GE(taken, 3);
  ASSERT_LT(taken, 40);
  EXPECT_EQ(lines[static_cast<size_t>(taken) - 1].at("sft/steps_not_taken"), 40 - taken);
  EXPECT_EQ(lines[taken].at("global_step"), 41);
  train({"--output", stopped, "--set", "run.steps=2", "--stop-after-step", "1"});
  train({"--output", stopped, "--set", "run.steps=2", "--resume"});
  train({"--output", stopped, "--set", "run.steps=3", "--resume"});
  EXPECT_TRUE(Contents(whole + "/run.h5") == Contents(stopped + "/run.h5"));
  EXPECT_EQ(Contents(whole + "/model/model.safetensors"), Contents(stopped + "/model/model.safetensors"));
  const std::string count = std::to_string(taken + 3), last = "step " + count + "/" + count;
  EXPECT_THAT(RunVerb("reproduce", {whole + "/run.h5"}).err, HasSubstr(last));
  for (const std::string& run : {whole, stopped}) {
    for (const char* mode : {"replay", "regenerate"}) {
      const nlohmann::json verdict = RunForJson("reproduce", {run + "/run.h5", "--mode", mode}, 0);
      EXPECT_EQ(verdict["pass"], true) << verdict;
      EXPECT_EQ(verdict["steps_checked"], taken + 3);
    }
  }
  EXPECT_EQ(RunForJson("inspect", {whole}, 0)["training_steps"], 3);
}

TEST(ThoughtInspectionTest, AStepShowsThoughtsAsTextAtTheirPositionsWithTheirRewards) {
  const std::string run = UniqueTemporaryPath();
  ASSERT_EQ(RunVerb("train", {"tests/workloads/quick_quiet_star.toml", "--output", run, "--quiet"}).exit_code, 0);
  const std::string shown = RunVerb("inspect", {run, "--step", "1"}).out;
  EXPECT_THAT(shown, StartsWith("text 0 \""));
  EXPECT_THAT(shown, HasSubstr(" behind \"=\"\n    sample 0 \""));
  EXPECT_THAT(shown, ::testing::ContainsRegex("    sample 1 \".+\" reward -?[0-9.]+, advantage -?[0-9.]+\n"));
}

TEST(ThoughtEvaluationTest, TextsAreHeldOutWhereAShareIs) {
  for (const std::string share : {"0", "0.25"}) {
    const std::string run = UniqueTemporaryPath(), set = "evaluation.held_out_share=" + share;
    std::vector<std::string> train = {"tests/workloads/quick_quiet_star.toml", "--output", run, "--quiet"};
    train.insert(train.end(), {"--set", "evaluation.every=1", "--set", "evaluation.num_prompts=5", "--set", set});
    ASSERT_EQ(RunVerb("train", train).exit_code, 0);
    EXPECT_EQ(RunForJson("evaluate", {run}, 0)["held_out"], share != "0");
    EXPECT_THAT(RunVerb("evaluate", {run + "/model"}),
                FailsWith("evaluate", 64,
                          run + "/model: this is the policy of a quiet_star run, with heads beside its language model, "
                                "which evaluate reads from runs alone: give the run as TARGET, its run.h5 or the "
                                "directory with it"));
    const std::string shown = RunVerb("evaluate", {run}).out;
    EXPECT_THAT(shown, StartsWith(share == "0" ? "5 problems, 8 samples of each, by the weights of step 2\n"
                                                 "  (separate draws: with evaluation.held_out_share 0, training may "
                                                 "have used the same problems)\n"
                                               : "5 held-out problems, "));
    const std::string next = UniqueTemporaryPath();
    train[2] = next;
    train.insert(train.end(), {"--init-from", run});
    ASSERT_EQ(RunVerb("train", train).exit_code, 0);
    EXPECT_EQ(RunForJson("evaluate", {next}, 0)["held_out"], false);  // of the first run, that is not known
    // The sampled tokens include control characters.
    const auto is_raw = [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f); };
    EXPECT_TRUE(std::none_of(shown.begin(), shown.end(), is_raw)) << shown;
  }
}

// The model that a run exports is measured as its own weights are.
TEST(MemoryAgentExportTest, IsEvaluatedOnTheTaskOfItsRun) {
  const std::string config = "tests/workloads/quick_memory_agent.toml", run = UniqueTemporaryPath();
  const std::vector<std::string> evaluated = {"--set", "evaluation.num_prompts=5", "--set",
                                              "evaluation.num_generations=3"};
  ASSERT_EQ(RunVerb("train", {config, "--output", run, "--quiet"}).exit_code, 0);
  EXPECT_THAT(RunVerb("evaluate", {run + "/model", "--config", "configs/quickstart.toml"}),
              FailsWith("evaluate", 64,
                        run + "/model: this is the policy of a memory agent, an encoder with an action head, and no "
                              "language model; give its run as TARGET, or the configuration of its run by --config"));
  const auto report = [&](std::vector<std::string> target) {
    target.insert(target.end(), evaluated.begin(), evaluated.end());
    return RunForJson("evaluate", target, 0);
  };
  const nlohmann::json of_run = report({run}), of_model = report({run + "/model"});
  EXPECT_EQ(of_model.at("eval_stage1_greedy_reward"), of_run.at("eval_stage1_greedy_reward"));
  EXPECT_EQ(of_model.at("step"), 0);
  EXPECT_EQ(report({run + "/model", "--config", config}), of_model);
}

// Its shape is in the configuration of its run.
TEST(NetworkExportTest, IsEvaluatedFromItsRunAlone) {
  const std::string bandit = "tests/workloads/quick_bandit.toml", growth = "tests/workloads/quick_morphogenesis.toml";
  for (const std::string& config : {bandit, growth}) {
    const std::string run = UniqueTemporaryPath(), model = run + "/model";
    ASSERT_EQ(RunVerb("train", {config, "--output", run, "--quiet"}).exit_code, 0);
    const auto refusal = FailsWith("evaluate", 64,
                                   model + ": with run.workload " + (config == bandit ? "bandit" : "morphogenesis") +
                                       ", evaluate reads runs and no model directory: give the run as TARGET, its "
                                       "run.h5 or the directory with it");
    EXPECT_THAT(RunVerb("evaluate", {model}), refusal);
    EXPECT_THAT(RunVerb("evaluate", {model, "--config", config}), refusal);
  }
}

TEST(GrowthWeightsTest, OfAnotherShapeAreRejectedAndOfAnotherTaskGiveAWarning) {
  const std::string config = "tests/workloads/quick_morphogenesis.toml", run = UniqueTemporaryPath();
  ASSERT_EQ(RunVerb("train", {config, "--output", run, "--quiet"}).exit_code, 0);
  EXPECT_THAT(
      RunVerb("train", {config, "--output", run + "-2", "--init-from", run, "--set", "morphogenesis.hidden=4"}).err,
      HasSubstr("give this run the model of that one: its keys of [morphogenesis] that shape the controller"));
  const ProcessResult other =
      RunVerb("train", {config, "--output", run + "-3", "--init-from", run, "--set", "morphogenesis.task=tinystories",
                        "--set", "morphogenesis.width=8", "--set", "morphogenesis.block_size=8"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("that run has another morphogenesis.task, so its weights have another meaning"));
}

// A run of one workload reads no key of another, and says so before it advises anything else about the key.
TEST(OtherWorkloadsTest, KeysThatTheWorkloadDoesNotReadAreRejected) {
  const std::string config = "tests/workloads/quick_bandit.toml", run = UniqueTemporaryPath();
  ASSERT_EQ(RunVerb("train", {config, "--output", run, "--quiet"}).exit_code, 0);
  for (const std::string key : {"environment.name=countdown", "algorithm.turn_rewards=turn", "process.command=true"}) {
    const ProcessResult result = RunVerb("validate", {config, "--set", key});
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err, HasSubstr("nothing would read it: it needs run.workload completions; or remove it"));
  }
  for (const std::string set : {"evaluation.path=x", "evaluation.held_out_share=0.5", "execution.decode_slots=3"}) {
    EXPECT_THAT(RunVerb("evaluate", {run, "--set", set}),
                FailsWith("evaluate", 64,
                          "--set " + set.substr(0, set.find('=')) +
                              ": run.workload bandit does not read it: remove the option"));
  }
  EXPECT_THAT(
      RunVerb("train", {config, "--output", run + "-2", "--init-from", run, "--set", "bandit.hidden=\"16\""}).err,
      HasSubstr("give this run the model of that one: its [bandit]"));
}

}  // namespace
}  // namespace reprise::testing
