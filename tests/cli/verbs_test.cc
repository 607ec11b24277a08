// inspect, validate and export on real runs: what they print, and that their JSON is valid.

#include <filesystem>

#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string& TinyRun() {
  static const std::string& directory = *new std::string(TrainTinyRun());
  return directory;
}
std::string TinyFile() { return TinyRun() + "/run.h5"; }

TEST(InspectTest, ARunIsShownWithItsDigestConfigurationStreamsAndRewards) {
  const ProcessResult result = RunVerb("inspect", {TinyFile()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json run = RunForJson("inspect", {TinyFile()}, 0);
  EXPECT_THAT(result.out, StartsWith("run digest        sha256:" + run["run_digest"].get<std::string>() + "\n"));
  EXPECT_THAT(result.out, HasSubstr("  rollout.num_generations = 2\n"));
  EXPECT_THAT(result.out, HasSubstr("  episodes (version 1): 32 rows"));
  EXPECT_THAT(result.out, HasSubstr("steps: 0 of SFT, 2 of training\n  steps    1-1     mean reward "));
  EXPECT_THAT(result.out, ContainsRegex("\nsamples of training step 2\n  \"[a-z]+=?.*\" -> \".*\"  reward "));
  EXPECT_EQ(RunVerb("inspect", {TinyRun()}).out, result.out);
  EXPECT_EQ(run["training_steps"], 2);
}

TEST(InspectTest, AStepShowsTextAndACompletionItsLogProbabilities) {
  const nlohmann::json step = RunForJson("inspect", {TinyFile(), "--step", "2"}, 0);
  ASSERT_EQ(step["completions"].size(), 16);
  const ProcessResult result = RunVerb("inspect", {TinyFile(), "--step", "2"});
  EXPECT_THAT(result.out, HasSubstr("task 7: \"" + step["tasks"][7]["text"].get<std::string>() + "\"  answer \""));
  EXPECT_THAT(result.out, HasSubstr("\nmetrics\n"));
  const nlohmann::json completion = RunForJson("inspect", {TinyFile(), "--step", "2", "--completion", "3"}, 0);
  EXPECT_EQ(completion["tokens"], step["completions"][3]["tokens"]);
  EXPECT_EQ(completion["logprobs"].size(), completion["tokens"].size());
  EXPECT_EQ(completion["entropies"].size(), completion["tokens"].size());
  EXPECT_THAT(RunVerb("inspect", {TinyFile(), "--step", "2", "--completion", "3"}).out,
              StartsWith("training step 2, completion 3: prompt 1, sample 1\n"));
}

TEST(ValidateTest, TheLastLineIsOk) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  const ProcessResult result = RunVerb("validate", {file, "--ranks", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, EndsWith("\nok\n"));
  EXPECT_THAT(result.out, ContainsRegex("gradient partial sums +4 W b "));
  const ProcessResult json = RunVerb("validate", {file, "--ranks", "2", "--json"});
  const std::vector<nlohmann::json> lines = JsonLines(json.out);
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines[0]["ranks"], 2);
  EXPECT_GT(lines[0]["total_bytes"].get<int64_t>(), 0);
  EXPECT_EQ(lines[1]["event"], "traffic");
  EXPECT_GT(lines[1]["step"]["messages"].get<double>(), 0);
  EXPECT_EQ(lines[2]["event"], "ok");
}

TEST(ValidateTest, EveryShippedConfigurationIsValid) {
  int configurations = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".toml" || name.starts_with("sweep_")) continue;  // sweeps: sweep_test.cc
    ++configurations;
    const ProcessResult result = RunVerb("validate", {entry.path().string(), "--ranks", "2"});
    EXPECT_EQ(result.exit_code, 0) << entry.path() << ": " << result.err;
  }
  EXPECT_GE(configurations, 3);
}

TEST(ValidateTest, EveryValueIsPrintedWithItsOrigin) {
  const std::string file = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  const ProcessResult result = RunVerb("validate", {file, "--print-config", "--set", "run.seed=9"});
  EXPECT_THAT(result.out, HasSubstr("seed = 9                  # --set\nsteps = 2                 # run.toml:2\n"
                                    "logical_shards = 8        # default\n"));
  EXPECT_THAT(result.out, EndsWith("\nok\n"));
}

TEST(ValidateTest, UnsetRemovesAKeyOfTheFile) {
  const std::string file =
      WriteFile(MakeDirectory(), "run.toml", std::string(kTinyRun) + "[sft]\nsteps = 2\nlearning_rate = 2e-3\n");
  const ProcessResult unset =
      RunVerb("validate", {file, "--print-config", "--unset", "sft.steps", "--unset", "sft.learning_rate"});
  EXPECT_EQ(unset.exit_code, 0) << unset.err;
  EXPECT_THAT(unset.err, ::testing::Not(HasSubstr("left out")));
  EXPECT_THAT(unset.out, ContainsRegex("steps = 0 +# default"));
  EXPECT_THAT(RunVerb("validate", {file, "--unset", "sft.step"}),
              FailsWith("validate", 64, "--unset sft.step: unknown key sft.step; did you mean sft.steps?"));
}

TEST(ValidateTest, AKeyOfTheFileThatIsUnreadWithTheCommandLineIsIgnored) {
  const ProcessResult result = RunVerb("validate", {"configs/quickstart.toml", "--set", "sft.steps=0"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err,
            "warning: ignored in configs/quickstart.toml, because nothing reads it with the command line's settings: "
            "sft.prompts_per_step, sft.learning_rate\n");
  EXPECT_EQ(RunVerb("validate", {"configs/quickstart.toml", "--set", "sft.steps=0", "--set", "sft.learning_rate=5e-4"})
                .exit_code,
            64)
      << "a key that the command line sets must be read";
}

TEST(ExportTest, TheLastCheckpointIsTheRunsOwnModelByteForByte) {
  const std::string output = UniqueTemporaryPath();
  const nlohmann::json done = RunForJson("export", {TinyFile(), "--output", output}, 0);
  EXPECT_EQ(done["step"], 2);
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(TinyRun() + "/model")) {
    EXPECT_EQ(Contents(output + "/" + file.path().filename().string()), Contents(file.path())) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 6);
}

TEST(ExportTest, AnEarlierCheckpointIsAnotherModel) {
  const std::string file = TrainTinyRun({"optimizer.learning_rate=0.5"}) + "/run.h5";
  const nlohmann::json first = RunForJson("export", {file, "--step", "1", "--output", UniqueTemporaryPath()}, 0);
  const nlohmann::json last = RunForJson("export", {file, "--output", UniqueTemporaryPath()}, 0);
  EXPECT_NE(first["weights_sha256"], last["weights_sha256"]);
}

// A new model, with a reward only for the whole answer, gets equal rewards.
TEST(TrainTest, TenStepsOfEqualRewardsGiveAWarning) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", kTinyRun);
  const auto train = [&](const std::string& run, const std::string& steps, const std::string& reward,
                         const std::string& prompts = "8") {
    const ProcessResult result =
        RunVerb("train", {config, "--output", directory + "/" + run, "--set", "run.steps=" + steps, "--set",
                          "algorithm.reward=\"" + reward + "\"", "--set", "rollout.prompts_per_step=" + prompts});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  const std::string reported =
      "warning: for 10 steps all completions of every prompt have had equal rewards (the last mean: "
      "0.000), so none is better than another";
  EXPECT_THAT(train("ten", "10", "exact_match"), HasSubstr(reported));
  EXPECT_EQ(train("nine", "9", "exact_match").find("equal rewards"), std::string::npos);
  EXPECT_EQ(train("other", "10", "character_match").find("equal rewards"), std::string::npos);
  // More than ten such steps, but not in succession.
  EXPECT_EQ(train("apart", "40", "character_match", "16").find("equal rewards"), std::string::npos);
  int64_t equal = 0;
  for (const nlohmann::json& step : JsonLines(Contents(directory + "/apart/metrics.jsonl"))) {
    equal += step["frac_reward_zero_std"] == 1 ? 1 : 0;
  }
  EXPECT_GT(equal, 10);
}

TEST(TrainTest, DiagnosticsWarnOnceOfEachKindOfAnomaly) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", kTinyRun);
  const auto train = [&](const std::string& run, const std::string& diagnostics) {
    const ProcessResult result = RunVerb(
        "train", {config, "--output", directory + "/" + run, "--set", "algorithm.name=ppo", "--set", "run.steps=4",
                  "--set", "algorithm.num_iterations=3", "--set", "optimizer.learning_rate=0.1", "--set",
                  "algorithm.reward=character_match", "--set", "algorithm.diagnostics=" + diagnostics});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  const std::string reported = train("with", "true"), kind = "warning: RATIO_EXPLOSION_DETECTED: after step ";
  EXPECT_THAT(reported, HasSubstr(kind));
  EXPECT_EQ(reported.find(kind), reported.rfind(kind)) << reported;
  EXPECT_EQ(train("without", "false").find("_DETECTED"), std::string::npos);
}

TEST(ExternalModelTest, AWarningNamesItsTermOfTheLoss) {
  const std::string config = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  const std::vector<std::string> validate = {config, "--set", "model.path=\"" + CopyOfModel() + "\""};
  EXPECT_THAT(RunVerb("validate", validate).err,
              HasSubstr("warning: model.path: its config.json sets router_aux_loss_coef 0.01"));
  std::vector<std::string> chosen = validate;
  chosen.insert(chosen.end(), {"--set", "model.router_aux_loss_coef=0.01"});
  EXPECT_EQ(RunVerb("validate", chosen).err.find("router_aux_loss_coef"), std::string::npos);
}

TEST(ExternalModelTest, AWarningSaysThatATermOfTheLossIsADefault) {
  const std::string config = WriteFile(MakeDirectory(), "run.toml", kTinyRun), model = CopyOfModel();
  nlohmann::json json = nlohmann::json::parse(Contents(model + "/config.json"));
  json.erase("router_aux_loss_coef");
  std::filesystem::remove(model + "/config.json");
  WriteFile(model, "config.json", json.dump());
  const std::string err = RunVerb("validate", {config, "--set", "model.path=\"" + model + "\""}).err;
  EXPECT_THAT(err, HasSubstr("warning: model.path: its config.json has no router_aux_loss_coef, which is 0.01 then, as "
                             "in Transformers, so the routers' load balancing is in the loss"));
}

TEST(ValidateTest, ATopKThatLeavesOutNoTokenIsWarnedOf) {
  const std::string config = WriteFile(MakeDirectory(), "run.toml", kTinyRun);
  EXPECT_THAT(RunVerb("validate", {config, "--set", "rollout.top_k=129"}).err,
              HasSubstr("warning: rollout.top_k 129 is more than the model's 128 tokens, so that all of them are drawn "
                        "from, as with 0"));
  EXPECT_EQ(RunVerb("validate", {config, "--set", "rollout.top_k=128"}).err.find("top_k"), std::string::npos);
}

TEST(ExternalModelTest, ARunThatStartedFromAModelNeedsThatModel) {
  const std::string model = CopyOfModel();
  WriteFile(model, "chat_template.jinja", "{{ messages }}");
  const std::string run = TrainTinyRun({"model.path=\"" + model + "\""});
  const std::string file = run + "/run.h5", output = UniqueTemporaryPath();
  EXPECT_THAT(RunVerb("export", {file, "--output", output}),
              FailsWith("export", 64,
                        "the run started from a model that is not stored in it; give its directory: --model DIR"));
  EXPECT_EQ(RunVerb("export", {file, "--output", output, "--model", model, "--quiet"}).exit_code, 0);
  EXPECT_EQ(Contents(output + "/model.safetensors"), Contents(run + "/model/model.safetensors"));
  EXPECT_THAT(RunVerb("export", {file, "--output", run, "--model", model}),
              FailsWith("export", 64,
                        "--output " + run +
                            " is the directory of a run, which the model does not belong to: choose "
                            "another"));
  EXPECT_FALSE(std::filesystem::exists(run + "/config.json"));
  EXPECT_EQ(Contents(output + "/config.json"), Contents(run + "/model/config.json"));
  for (const std::string& exported : {output, run + "/model"}) {
    EXPECT_EQ(Contents(exported + "/chat_template.jinja"), "{{ messages }}");
    EXPECT_EQ(Contents(exported + "/tokenizer_config.json"), Contents(model + "/tokenizer_config.json"));
  }
  EXPECT_EQ(RunVerb("reproduce", {file, "--model", model, "--quiet"}).exit_code, 0);
  EXPECT_FALSE(RunForJson("inspect", {file, "--step", "1"}, 0)["completions"][0].contains("text"));
  EXPECT_TRUE(RunForJson("inspect", {file, "--step", "1", "--model", model}, 0)["completions"][0].contains("text"));

  WriteFile(model, "config.json", Contents(model + "/config.json") + " ");
  const ProcessResult changed = RunVerb("export", {file, "--output", UniqueTemporaryPath(), "--model", model});
  EXPECT_EQ(changed.exit_code, 64);
  EXPECT_THAT(changed.err, HasSubstr("model/config.json is not the run's file: sha256 "));
}

}  // namespace
}  // namespace reprise::testing
