// Runs whose state is more than weights and moments: a coefficient of the KL divergence, a running mean of rewards, a
// reference model that is updated. They are resumed, extended and reproduced as any other.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::StartsWith;

constexpr char kRun[] = R"([run]
steps = 6
[model]
hidden_size = 32
intermediate_size = 24
[data]
max_length = 2
alphabet_size = 2
[sft]
steps = 20
prompts_per_step = 16
learning_rate = 3e-3
[rollout]
prompts_per_step = 8
num_generations = 4
max_completion_length = 4
[algorithm]
reward = "character_match"
baseline = "running_mean"
num_mini_batches = 2
target_kl = 0.001
beta = 0.1
kl_schedule = "banded"
kl_interval = 2
kl_high = 10
kl_patience = 0
kl_tolerance = 0.0001
sync_ref_model = true
ref_model_sync_steps = 3
[optimizer]
learning_rate = 1e-3
schedule = "constant"
[artifact]
checkpoint_every = 2
[execution]
commit_every = 4
save_every = 2
)";

// Flags that set the keys of the banded schedule to their defaults.
const std::vector<std::string> kFixed = {"--set", "algorithm.kl_schedule=fixed", "--set", "algorithm.kl_interval=10",
                                         "--set", "algorithm.kl_high=0.1",       "--set", "algorithm.kl_patience=100",
                                         "--set", "algorithm.kl_tolerance=0.005"};

const std::vector<std::string> kLinear = [] {
  std::vector<std::string> flags = kFixed;
  flags.insert(flags.end(), {"--set", "algorithm.kl_schedule=linear"});
  return flags;
}();

class AlgorithmChoicesTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  std::string File(const std::string& name) const { return Path(name) + "/run.h5"; }

  void MustTrain(const std::string& name, const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> arguments = {config_, "--output", Path(name), "--quiet"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProcessResult result = RunVerb("train", arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }

 private:
  const std::string directory_ = MakeDirectory();
  const std::string config_ = WriteFile(directory_, "run.toml", kRun);
};

// Otherwise the other tests would compare nothing.
TEST_F(AlgorithmChoicesTest, HaveAnEffect) {
  MustTrain("run");
  const std::vector<nlohmann::json> lines = JsonLines(Contents(Path("run") + "/metrics.jsonl"));
  const nlohmann::json first = lines.at(20), last = lines.at(25);
  EXPECT_NE(first["kl_coef"], lines.at(22)["kl_coef"]);
  EXPECT_GT(last["num_updates"], 6);
  EXPECT_LT(last["num_updates"], 12);
  for (size_t i = 20; i < 26; ++i) EXPECT_GT(lines.at(i)["reward"], 0);
}

TEST_F(AlgorithmChoicesTest, AreResumedToTheBytesOfAnUninterruptedRun) {
  MustTrain("whole");
  for (int step : {1, 3, 4}) {
    const std::string name = "stopped-" + std::to_string(step);
    MustTrain(name, {"--stop-after-step", std::to_string(step)});
    MustTrain(name, {"--resume"});
    EXPECT_EQ(Contents(File(name)), Contents(File("whole"))) << step;
  }
}

TEST_F(AlgorithmChoicesTest, AreExtendedToTheBytesOfTheLongerRun) {
  for (const std::string schedule : {"banded", "linear"}) {
    const bool ends_matter = schedule == "linear";
    const auto train = [&](const std::string& name, std::vector<std::string> flags) {
      if (ends_matter) flags.insert(flags.end(), kLinear.begin(), kLinear.end());
      MustTrain(name, flags);
    };
    train(schedule, {});
    train(schedule, {"--set", "run.steps=8", "--resume"});
    train(schedule + "-at-once",
          {"--set", "run.steps=8", "--set", ends_matter ? "run.extended_at=\"6\"" : "run.extended_at=\"\""});
    EXPECT_EQ(Contents(File(schedule)), Contents(File(schedule + "-at-once"))) << schedule;
  }
}

TEST_F(AlgorithmChoicesTest, AreReproducedWholeAndInParts) {
  MustTrain("run");
  for (const char* mode : {"replay", "regenerate"}) {
    EXPECT_EQ(RunForJson("reproduce", {File("run"), "--mode", mode}, 0)["pass"], true);
  }
  const ProcessResult part = RunVerb("reproduce", {File("run"), "--from-step", "5"});
  EXPECT_EQ(part.exit_code, 0) << part.out;
  EXPECT_THAT(part.err, StartsWith("a checkpoint of this run lacks what later steps need"));
}

// The probabilities of tokens that were drawn from a truncated distribution are stored, and computed again.
TEST_F(AlgorithmChoicesTest, BehaviourLogProbabilitiesAreReproduced) {
  MustTrain("run", {"--set", "rollout.top_k=3", "--set", "rollout.min_new_tokens=2", "--set",
                    "algorithm.importance_correction=sequence_truncate"});
  const nlohmann::json last = JsonLines(Contents(Path("run") + "/metrics.jsonl")).back();
  EXPECT_EQ(last["sampling/sampling_logp_difference/max"], 0);
  EXPECT_LT(last["sampling/importance_sampling_ratio/mean"], 1);
  const nlohmann::json completion = RunForJson("inspect", {File("run"), "--step", "6", "--completion", "0"}, 0);
  EXPECT_EQ(completion["behaviour_logprobs"].size(), completion["tokens"].size());
  for (const char* mode : {"replay", "regenerate"}) {
    EXPECT_EQ(RunForJson("reproduce", {File("run"), "--mode", mode}, 0)["pass"], true);
  }
}

TEST_F(AlgorithmChoicesTest, APartStartsFromACheckpointIfOnlyTheNumberOfUpdatesVaries) {
  std::vector<std::string> flags = {
      "--set", "algorithm.baseline=group_mean",  "--set", "algorithm.beta=0",
      "--set", "algorithm.sync_ref_model=false", "--set", "algorithm.ref_model_sync_steps=512"};
  flags.insert(flags.end(), kFixed.begin(), kFixed.end());
  MustTrain("run", flags);
  const ProcessResult part = RunVerb("reproduce", {File("run"), "--from-step", "5"});
  EXPECT_EQ(part.exit_code, 0) << part.out;
  EXPECT_THAT(part.err, StartsWith("starting from the checkpoint of step 4"));
}

TEST_F(AlgorithmChoicesTest, AreShownByValidateAsTheyAreResolved) {
  const std::string directory = MakeDirectory();
  const std::string config =
      WriteFile(directory, "opo.toml", "[algorithm]\nname = \"opo\"\ntop_entropy_quantile = 0.5\n");
  const ProcessResult result = RunVerb("validate", {config, "--print-config"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line :
       {"baseline = \"length_weighted\" +# algorithm.name opo\n", "clip = \"reinforce\" +# algorithm.name opo\n",
        "aggregation = \"luspo\" +# algorithm.name opo\n", "top_entropy_quantile = 0.5 +# "}) {
    EXPECT_THAT(result.out, ::testing::ContainsRegex(line));
  }
}

}  // namespace
}  // namespace reprise::testing
