// Evaluations that call an external process: its replies are stored, as in training.

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "data/artifact/testing/rewrite.h"
#include "data/tables/table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/environments/outside.h"

namespace reprise::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Evaluating(std::vector<std::string> more = {}) {
  more.insert(more.end(), {"evaluation.every=1", "evaluation.on_start=true", "evaluation.num_prompts=5",
                           "evaluation.num_generations=2", "evaluation.metric_for_best_model=\"eval_reward\""});
  return more;
}

const TrainedRun& Baseline() {
  static const auto* const run = new TrainedRun(Train(kOutsideRun, Evaluating(), {}));
  return *run;
}

Execution CrashingInEvaluations(int ranks = 1, const std::string& fault = "crash") {
  Execution execution = Failing(fault, ranks);
  execution.variables["REPRISE_TEST_FAULT_PHASE"] = "evaluation";
  return execution;
}

// Returns the step's own eval_ metrics from a line of metrics.jsonl or of `evaluate --json`.
nlohmann::json ExtractEvaluation(const nlohmann::json& reported) {
  nlohmann::json metrics;
  for (const auto& [name, value] : reported.items()) {
    const bool is_of_the_best = name.starts_with("eval_best") || name == "eval_no_improvement";
    if (name.starts_with("eval_") && !name.starts_with("eval_start_") && !is_of_the_best) metrics[name] = value;
  }
  return metrics;
}

nlohmann::json MetricsOfStep(const TrainedRun& run, int64_t step) {
  std::ifstream lines(run.directory + "/metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json reported = nlohmann::json::parse(line);
    if (reported["step"] == step && reported["phase"] == "training") return reported;
  }
  ADD_FAILURE() << "no step " << step;
  return {};
}

TEST(OutsideEvaluationTest, ThreeRanksStoreTheSameBytesAsOne) {
  const TrainedRun run =
      Train(kOutsideRun, Evaluating({"execution.threads=2", "execution.decode_slots=3"}), {.ranks = 3});
  EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
  // Both rewards come from the process, so neither is missing.
  EXPECT_GT(MetricsOfStep(run, 2)["eval_reward"], 0.0);
}

// The program's rewards have nothing to do with the answers.
TEST(OutsideEvaluationTest, ARewardByAProgramIsWhatIsEvaluated) {
  const std::string program = UniqueTemporaryPath();
  std::ofstream(program) << R"(import json, sys
for line in sys.stdin:
    request = json.loads(line)
    reward = 0.5 if (len(request["completion"]) + request["prompt"]) % 2 else 0.0
    print(json.dumps({"id": request["id"], "reward": reward}), flush=True)
)";
  const std::string command = "exec python3 " + program;
  const auto train = [&](const std::vector<std::string>& more) {
    std::vector<std::string> argv = {"pipelines/train", "tests/determinism/small.toml", "--output",
                                     UniqueTemporaryPath()};
    for (const std::string& set : more) argv.insert(argv.end(), {"--set", set});
    for (const std::string& set :
         {"process.command=\"" + command + "\"", std::string("algorithm.reward=\"process\""),
          std::string("evaluation.every=1"), std::string("evaluation.num_generations=2"), std::string("run.steps=2")}) {
      argv.insert(argv.end(), {"--set", set});
    }
    return std::pair(argv[3], RunProgramOnRanks({}, argv));
  };
  const auto last = [](const std::string& directory) {
    TrainedRun run;
    run.directory = directory;
    return MetricsOfStep(run, 2);
  };
  const auto [directory, run] = train({});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json metrics = last(directory);
  EXPECT_GT(metrics["eval_reward"], 0.0);
  EXPECT_GE(metrics["eval_best"], metrics["eval_greedy_reward"]);
  for (const char* name : {"eval_greedy_accuracy", "eval_mean@2", "eval_pass@1"}) EXPECT_FALSE(metrics.contains(name));
  EXPECT_THAT(run.err, AllOf(HasSubstr(", evaluation's reward 0."), HasSubstr("best evaluation: eval_greedy_reward "),
                             Not(HasSubstr("accuracy"))));
  const std::vector<std::string> evaluate = {"pipelines/evaluate", directory + "/model", "--json", "--samples", "2"};
  // A command in a model's directory is never executed.
  const ProcessResult refused = RunProgramOnRanks({}, evaluate);
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.err, HasSubstr("give its command by --process-command CMD"));
  std::vector<std::string> given = evaluate;
  given.insert(given.end(), {"--process-command", command});
  const ProcessResult evaluated = RunProgramOnRanks({}, given);
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const nlohmann::json reported = nlohmann::json::parse(evaluated.out);
  EXPECT_EQ(reported["eval_greedy_reward"], metrics["eval_greedy_reward"]);
  EXPECT_FALSE(reported.contains("eval_greedy_accuracy"));
  // Where the user says what is correct, that is counted.
  const auto [counting, counted] = train({"evaluation.correct_reward=0.5"});
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  const nlohmann::json with = last(counting);
  EXPECT_EQ(with["eval_mean@2"].get<double>(), 2 * with["eval_reward"].get<double>());
  EXPECT_EQ(with["eval_greedy_accuracy"].get<double>(), 2 * with["eval_greedy_reward"].get<double>());
}

TEST(OutsideEvaluationTest, AReplayNeedsNoProcessAndARegenerationCallsItAgain) {
  const Verdict replay = Reproduce(Baseline().file(), "replay", Failing("absent", 2));
  EXPECT_TRUE(replay.pass) << replay.process.err;
  EXPECT_EQ(replay.steps_checked, 7);
  EXPECT_TRUE(Reproduce(Baseline().file(), "regenerate", {}, GivingTheCommand()).pass);
  EXPECT_FALSE(Reproduce(Baseline().file(), "regenerate", CrashingInEvaluations(), GivingTheCommand()).given);
}

TEST(OutsideEvaluationTest, AProcessMayReturnNoScoreForAProblem) {
  const TrainedRun run = Train(kOutsideRun, Evaluating(), {.variables = {{"REPRISE_TEST_NULL", "evaluation"}}});
  ASSERT_EQ(run.process.exit_code, 0) << run.process.err;
  EXPECT_NE(Contents(run.file()), Contents(Baseline().file()));
  const Verdict replay = Reproduce(run.file(), "replay", Failing("absent", 2));
  EXPECT_TRUE(replay.pass) << replay.process.err;
  const ProcessResult evaluated =
      RunProgramOnRanks(Failing("absent", 2), {"pipelines/evaluate", run.file(), "--json", "--quiet", "--step", "2"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(ExtractEvaluation(nlohmann::json::parse(evaluated.out)), ExtractEvaluation(MetricsOfStep(run, 2)));
}

TEST(OutsideEvaluationTest, AKilledRunIsResumedToTheSameBytes) {
  for (const int ranks : {1, 2}) {
    const std::string directory = UniqueTemporaryPath();
    std::vector<std::string> train = {"pipelines/train",         kOutsideRun, "--output", directory, "--quiet", "--set",
                                      "execution.commit_every=1"};
    for (const std::string& key : Evaluating()) train.insert(train.end(), {"--set", key});
    EXPECT_NE(RunProgramOnRanks(CrashingInEvaluations(ranks, "kill_trainer"), train).exit_code, 0);
    train.emplace_back("--resume");
    const ProcessResult resumed = RunProgramOnRanks({.ranks = 3 - ranks}, train);
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(Contents(directory + "/run.h5"), Contents(Baseline().file()));
  }
}

TEST(OutsideEvaluationTest, AProcessThatFailsEndsTheRunWithAnErrorThatNamesTheProblem) {
  for (const int ranks : {1, 2}) {
    std::vector<std::string> train = {"pipelines/train", kOutsideRun, "--output", UniqueTemporaryPath(), "--quiet"};
    for (const std::string& key : Evaluating()) train.insert(train.end(), {"--set", key});
    const ProcessResult result = RunProgramOnRanks(CrashingInEvaluations(ranks), train);
    EXPECT_EQ(result.exit_code, 65) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("error: step 3: "), HasSubstr("exited with code 3"),
                                  HasSubstr("held-out problem 2 sample 1 turn 0")));
  }
}

TEST(OutsideEvaluationTest, EvaluateUsesStoredRepliesToTheSameRequestsAndCallsTheProcessForOthers) {
  const auto evaluate = [&](const Execution& execution, const std::vector<std::string>& more) {
    std::vector<std::string> argv = {"pipelines/evaluate", Baseline().file(), "--json", "--quiet", "--step", "2"};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgramOnRanks(execution, argv);
  };
  const Execution without = Failing("absent", 2);
  const nlohmann::json reported = ExtractEvaluation(MetricsOfStep(Baseline(), 2));
  const ProcessResult stored = evaluate(without, {});
  ASSERT_EQ(stored.exit_code, 0) << stored.err;
  EXPECT_EQ(ExtractEvaluation(nlohmann::json::parse(stored.out)), reported);
  const ProcessResult asked = evaluate({}, {"--process-command", "exec python3 tests/environments/outside.py"});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_EQ(ExtractEvaluation(nlohmann::json::parse(asked.out)), reported);
  const ProcessResult unasked = evaluate({}, {"--samples", "3"});
  EXPECT_EQ(unasked.exit_code, 64) << "the command in the file was executed";
  EXPECT_THAT(unasked.err, HasSubstr("--process-command CMD; the command in the file is not executed; it is \"exec "
                                     "python3 tests/environments/outside.py\""));
  const std::vector<std::string> more = {"--samples", "3", "--process-command",
                                         "exec python3 tests/environments/outside.py"};
  EXPECT_EQ(evaluate(without, more).exit_code, 65);
  EXPECT_EQ(evaluate({}, more).exit_code, 0);
}

// A file with valid digests whose stored replies are to other tokens than its weights generate.
TEST(OutsideEvaluationTest, EvaluateRejectsStoredRepliesToOtherRequests) {
  const auto edited = RewriteRun(Contents(Baseline().file()), [](auto& streams) {
    StreamTable& replies = streams.at("evaluation_replies");
    const auto& columns = replies.schema().columns;
    const auto asked = std::find_if(columns.begin(), columns.end(), [](const auto& c) { return c.name == "asked"; });
    for (uint8_t& byte : replies.template MutableValues<uint8_t>(static_cast<int>(asked - columns.begin()))) byte ^= 1;
  });
  ASSERT_TRUE(edited.ok()) << edited.status();
  const std::string file = UniqueTemporaryPath();
  std::ofstream(file, std::ios::binary) << *edited;
  const ProcessResult result = RunProgramOnRanks({}, {"pipelines/evaluate", file, "--quiet", "--step", "2"});
  EXPECT_EQ(result.exit_code, 65) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the run's stored replies do not match the completions of its weights"));
}

}  // namespace
}  // namespace reprise::testing
