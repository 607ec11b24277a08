// Runs with a value function are resumed, reproduced and used by --init-from as any other; only the policy is exported.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRun[] = R"([run]
steps = 4
[model]
hidden_size = 32
intermediate_size = 24
[data]
max_length = 2
alphabet_size = 2
[sft]
steps = 5
prompts_per_step = 16
learning_rate = 3e-3
[rollout]
prompts_per_step = 8
num_generations = 2
max_completion_length = 4
[algorithm]
name = "ppo"
reward = "character_match"
num_mini_batches = 2
[optimizer]
learning_rate = 1e-3
[artifact]
checkpoint_every = 2
)";

class ValueFunctionTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string File(const std::string& name) const { return Path(name) + "/run.h5"; }

  ProcessResult Train(const std::string& name, const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> arguments = {config_,   "--output", Path(name),
                                          "--quiet", "--set",    "algorithm.value_model=" + GetParam()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunVerb("train", arguments);
  }
  void MustTrain(const std::string& name, const std::vector<std::string>& flags = {}) const {
    const ProcessResult result = Train(name, flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

 private:
  const std::string directory_ = MakeDirectory();
  const std::string config_ = WriteFile(directory_, "run.toml", kRun);
};

INSTANTIATE_TEST_SUITE_P(HeadOrNetwork, ValueFunctionTest, ::testing::Values("head", "network"),
                         [](const auto& info) { return info.param; });

TEST_P(ValueFunctionTest, IsResumedAndReproducedWholeAndInParts) {
  MustTrain("whole");
  MustTrain("stopped", {"--stop-after-step", "3"});
  MustTrain("stopped", {"--resume"});
  EXPECT_EQ(Contents(File("stopped")), Contents(File("whole")));
  for (const char* mode : {"replay", "regenerate"}) {
    EXPECT_EQ(RunForJson("reproduce", {File("whole"), "--mode", mode}, 0)["pass"], true);
  }
  EXPECT_EQ(RunVerb("reproduce", {File("whole"), "--from-step", "3"}).exit_code, 0);
  const nlohmann::json last = JsonLines(Contents(Path("whole") + "/metrics.jsonl")).back();
  EXPECT_NE(last["critic/vf_explained_var"], 0);
  EXPECT_GT(last["loss/value_avg"], 0);
}

// The reference of the longer run is the first policy: without the value function that the weights include.
TEST_P(ValueFunctionTest, IsExtendedWithAReference) {
  const std::vector<std::string> reference = {"--set", "algorithm.beta=0.1", "--set", "sft.steps=0"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), reference.begin(), reference.end());
    return flags;
  };
  MustTrain("at-once", with({"--set", "run.steps=6", "--set", "run.extended_at=\"4\""}));
  MustTrain("extended", with({}));
  const ProcessResult extended = Train("extended", with({"--set", "run.steps=6", "--resume"}));
  EXPECT_EQ(extended.exit_code, 0) << extended.err;
  // The checkpoint serves as the state, so that no committed step is executed again.
  EXPECT_THAT(extended.err, ::testing::Not(::testing::HasSubstr("older state")));
  EXPECT_EQ(Contents(File("extended")), Contents(File("at-once")));
}

TEST_P(ValueFunctionTest, IsNotPartOfTheExportedModel) {
  MustTrain("run");
  EXPECT_EQ(RunVerb("export", {File("run"), "--output", Path("model")}).exit_code, 0);
  EXPECT_EQ(Contents(Path("model") + "/model.safetensors"), Contents(Path("run") + "/model/model.safetensors"));
  EXPECT_THAT(Contents(Path("model") + "/model.safetensors"), Not(HasSubstr("v_head")));
  EXPECT_THAT(Contents(Path("model") + "/model.safetensors"), Not(HasSubstr("value_model")));
  MustTrain("next", {"--set", "model.path=" + Path("model")});  // a new value function starts with it
}

TEST_P(ValueFunctionTest, IsTakenByInitFromIfBothRunsHaveItAndInitializedOtherwise) {
  MustTrain("first");
  MustTrain("same", {"--init-from", File("first")});
  MustTrain("without",
            {"--init-from", File("first"), "--set", "algorithm.name=grpo", "--set", "algorithm.value_model=head"});
  MustTrain("again", {"--init-from", File("without")});
  EXPECT_EQ(RunForJson("reproduce", {File("same"), "--init-from", File("first")}, 0)["pass"], true);
  EXPECT_EQ(RunForJson("reproduce", {File("again"), "--init-from", File("without")}, 0)["pass"], true);
}

TEST(ValueKeysTest, AreRejectedWhereNothingReadsThem) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", "[algorithm]\nlam = 0.5\n");
  for (const ProcessResult& result :
       {RunVerb("validate", {config}), RunVerb("train", {config, "--output", directory + "/run"}),
        RunVerb("train", {config, "--output", directory + "/run", "--resume"})}) {
    EXPECT_EQ(result.exit_code, 64);
    EXPECT_THAT(result.err,
                HasSubstr("algorithm.lam is set, but nothing would read it: it needs algorithm.baseline value, and "));
  }
}

}  // namespace
}  // namespace reprise::testing
