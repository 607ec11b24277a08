// A run that ends by early stopping: it is complete, it has the same bytes after any interruption, and its model is the
// best one.

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

// Learns nothing after the SFT phase, so that the evaluation of step 2 stays the best one, and that of step 6 triggers
// early stopping.
constexpr char kRun[] = R"([run]
steps = 12
[sft]
steps = 3
prompts_per_step = 4
[rollout]
prompts_per_step = 4
num_generations = 2
max_completion_length = 4
[optimizer]
learning_rate = 0.0
[evaluation]
every = 2
num_prompts = 5
num_generations = 0
early_stopping_patience = 2
load_best_model_at_end = true
[execution]
commit_every = 1
)";

class Runs {
 public:
  Runs() : directory_(MakeDirectory()), config_(WriteFile(directory_, "run.toml", kRun)) {}

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string Bytes(const std::string& name) const { return Contents(Path(name) + "/run.h5"); }

  ProcessResult Train(const std::string& name, const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> arguments = {config_, "--output", Path(name), "--quiet"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunVerb("train", arguments);
  }

 private:
  const std::string directory_, config_;
};

TEST(EarlyStoppingTest, ItsRunIsCompleteAndReproducible) {
  const Runs runs;
  const ProcessResult result = runs.Train("a", {"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(JsonLines(result.out).back()["steps"], 6);
  EXPECT_FALSE(std::filesystem::exists(runs.Path("a") + "/states"));
  EXPECT_EQ(RunForJson("reproduce", {runs.Path("a") + "/run.h5"}, 0)["steps_checked"], 9);
  EXPECT_EQ(RunForJson("reproduce", {runs.Path("a") + "/run.h5", "--from-step", "4"}, 0)["steps_checked"], 3);
}

TEST(EarlyStoppingTest, ItsRunIsResumedAfterAnyStepToTheSameBytes) {
  const Runs runs;
  ASSERT_EQ(runs.Train("whole").exit_code, 0);
  for (int step = 1; step <= 6; ++step) {
    SCOPED_TRACE(step);
    const std::string name = "stopped-" + std::to_string(step);
    ASSERT_EQ(runs.Train(name, {"--stop-after-step", std::to_string(step)}).exit_code, 0);
    ASSERT_EQ(runs.Train(name, {"--resume"}).exit_code, 0);
    EXPECT_EQ(runs.Bytes(name), runs.Bytes("whole"));
    EXPECT_EQ(Contents(runs.Path(name) + "/model/model.safetensors"),
              Contents(runs.Path("whole") + "/model/model.safetensors"));
  }
}

TEST(EarlyStoppingTest, AFinishedRunIsNotChanged) {
  const Runs runs;
  const ProcessResult first = runs.Train("a");
  const std::string bytes = runs.Bytes("a"), model = Contents(runs.Path("a") + "/model/model.safetensors");
  std::filesystem::remove(runs.Path("a") + "/model/config.json");  // as if the export had been killed
  const ProcessResult again = runs.Train("a", {"--resume"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(runs.Bytes("a"), bytes);
  EXPECT_EQ(Contents(runs.Path("a") + "/model/model.safetensors"), model);
  const ProcessResult more = runs.Train("a", {"--resume", "--set", "run.steps=20"});
  EXPECT_EQ(more.exit_code, 64);
  EXPECT_THAT(more.err, HasSubstr("ended by early stopping"));
}

TEST(EarlyStoppingTest, ARunThatEndsWithTheLastOfItsStepsIsNotExtended) {
  const Runs runs;
  ASSERT_EQ(runs.Train("a", {"--set", "run.steps=6"}).exit_code, 0);
  const std::string bytes = runs.Bytes("a");
  EXPECT_THAT(runs.Train("a", {"--resume", "--set", "run.steps=7"}),
              FailsWith("train", 64,
                        runs.Path("a") +
                            " contains a run that ended by early stopping: more run.steps do not extend it; start a "
                            "new run in another directory, where --init-from " +
                            runs.Path("a") + " starts from the weights of this one"));
  EXPECT_EQ(runs.Bytes("a"), bytes);
  EXPECT_EQ(RunForJson("reproduce", {runs.Path("a") + "/run.h5"}, 0)["pass"], true);
}

TEST(EarlyStoppingTest, TheFinalModelIsTheBestOne) {
  const Runs runs;
  // With this learning rate the model gets worse: it soon loses what the SFT phase taught it.
  const std::vector<std::string> learning = {"--set", "optimizer.learning_rate=0.01",
                                             "--set", "artifact.checkpoint_every=1",
                                             "--set", "evaluation.metric_for_best_model=\"eval_greedy_reward\"",
                                             "--set", "algorithm.reward=\"character_match\"",
                                             "--set", "sft.steps=20"};
  ASSERT_EQ(runs.Train("a", learning).exit_code, 0);
  const std::string last = JsonLines(Contents(runs.Path("a") + "/metrics.jsonl")).back().dump();
  const int64_t best = nlohmann::json::parse(last)["eval_best_step"].get<int64_t>();
  const std::string run = runs.Path("a") + "/run.h5", model = runs.Path("a") + "/model/model.safetensors";
  const auto exported = [&](const std::string& step) {
    const std::string output = MakeDirectory() + "/model";
    EXPECT_EQ(RunVerb("export", {run, "--step", step, "--output", output}).exit_code, 0);
    return Contents(output + "/model.safetensors");
  };
  EXPECT_EQ(Contents(model), exported("best"));
  EXPECT_EQ(Contents(model), exported(std::to_string(best)));
  EXPECT_EQ(RunForJson("reproduce", {run}, 0)["pass"], true);
}

}  // namespace
}  // namespace reprise::testing
