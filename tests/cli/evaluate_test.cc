// evaluate on a run and on a model gives the numbers that the run itself recorded.

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::vector<std::string> Evaluations(const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {"evaluation.every=1", "evaluation.num_prompts=9",
                                        "evaluation.num_generations=3", "sft.steps=6"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

// Returns the metrics that a run recorded for a training step.
nlohmann::json MetricsOfStep(const std::string& directory, int64_t step) {
  for (const nlohmann::json& line : JsonLines(Contents(directory + "/metrics.jsonl"))) {
    if (line["phase"] == "training" && line["step"] == step) return line;
  }
  return {};
}

std::string Problems(int begin, int end) {
  std::string lines;
  for (int i = begin; i < end; ++i) {
    lines += nlohmann::json({{"prompt", std::to_string(i) + "+1="}, {"answer", std::to_string(i + 1)}}).dump() + "\n";
  }
  return lines;
}

TEST(EvaluateTest, GivesTheMetricsThatTheRunRecorded) {
  const std::string directory = TrainTinyRun(Evaluations());
  for (const int64_t step : {1, 2}) {
    const nlohmann::json reported = RunForJson("evaluate", {directory + "/run.h5", "--step", std::to_string(step)}, 0);
    const nlohmann::json recorded = MetricsOfStep(directory, step);
    EXPECT_EQ(reported["event"], "evaluation");
    EXPECT_EQ(reported["step"], step);
    EXPECT_EQ(reported["problems"], 9);
    EXPECT_EQ(reported["samples"], 3);
    size_t metrics = 0;
    for (const auto& [name, value] : reported.items()) {
      if (name.rfind("eval_", 0) != 0) continue;
      EXPECT_EQ(value, recorded[name]) << name;
      ++metrics;
    }
    EXPECT_EQ(metrics, 18u);
  }
}

TEST(EvaluateTest, TheBestWeightsAreThoseOfTheBestStep) {
  const std::string directory = TrainTinyRun(Evaluations({"evaluation.metric_for_best_model=\"eval_reward\""}));
  const int64_t best = MetricsOfStep(directory, 2)["eval_best_step"].get<int64_t>();
  nlohmann::json of_best = RunForJson("evaluate", {directory, "--step", "best"}, 0);
  EXPECT_EQ(of_best["step"], best);
  EXPECT_EQ(of_best, RunForJson("evaluate", {directory + "/run.h5", "--step", std::to_string(best)}, 0));
  const std::string a = MakeDirectory() + "/a", b = MakeDirectory() + "/b";
  EXPECT_EQ(RunForJson("export", {directory + "/run.h5", "--step", "best", "--output", a}, 0)["step"], best);
  RunForJson("export", {directory + "/run.h5", "--step", std::to_string(best), "--output", b}, 0);
  EXPECT_EQ(Contents(a + "/model.safetensors"), Contents(b + "/model.safetensors"));
}

TEST(EvaluateTest, AnExportedModelGetsTheMetricsOfItsRun) {
  const std::string directory = TrainTinyRun(Evaluations());
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  const nlohmann::json of_model = RunForJson(
      "evaluate", {directory + "/model", "--config", config, "--samples", "0", "--set", "evaluation.num_prompts=9"}, 0);
  const nlohmann::json of_run = RunForJson("evaluate", {directory + "/run.h5", "--samples", "0"}, 0);
  EXPECT_EQ(of_model["eval_greedy_reward"], of_run["eval_greedy_reward"]);
  EXPECT_FALSE(of_run.contains("eval_pass@1"));
  EXPECT_EQ(of_model["step"], 0);
}

// The letters are sorted here; the default configuration reverses them.
TEST(EvaluateTest, AModelDirectoryIsEvaluatedOnTheTaskOfItsRun) {
  const std::string run = TrainTinyRun(Evaluations({"data.task=\"sort\"", "evaluation.held_out_share=0.3"}));
  const std::string exported = MakeDirectory() + "/model";
  RunForJson("export", {run + "/run.h5", "--output", exported}, 0);
  nlohmann::json of_run = RunForJson("evaluate", {run + "/run.h5", "--samples", "0"}, 0);
  EXPECT_EQ(of_run["held_out"], true);
  of_run["step"] = 0;
  for (const std::string& model : {run + "/model", exported}) {
    EXPECT_EQ(RunForJson("evaluate", {model, "--samples", "0"}, 0), of_run);
  }
  EXPECT_THAT(RunVerb("evaluate", {exported, "--set", "evaluation.held_out_share=0.5"}).err,
              HasSubstr("so it was trained on some of these problems"));
  EXPECT_THAT(RunVerb("evaluate", {exported, "--set", "data.task=\"reverse\""}).err,
              HasSubstr("only keys of [evaluation] and [execution] may be set"));
  std::filesystem::remove(exported + "/reprise.json");
  EXPECT_THAT(RunVerb("evaluate", {exported}),
              FailsWith("evaluate", 64,
                        exported + ": nothing says on which problems to evaluate this model, as it has no reprise.json "
                                   "of a run: give the configuration that names them by --config FILE"));
}

TEST(EvaluateTest, TheFilesOfAModelsTaskAreIdentifiedByTheirContents) {
  const std::string files = MakeDirectory();
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string others = WriteFile(files, "others.jsonl", Problems(5, 25));
  const std::string run = TrainTinyRun(Evaluations({"data.path=\"" + train + "\"", "evaluation.held_out_share=0.25"}));
  const std::string moved = files + "/moved.jsonl";
  std::filesystem::rename(train, moved);
  EXPECT_THAT(RunVerb("evaluate", {run + "/model"}).err, HasSubstr("give its path: --data FILE"));
  EXPECT_THAT(RunVerb("evaluate", {run + "/model", "--data", others}).err,
              HasSubstr("--data: data/problems is not the run's file"));
  const nlohmann::json of_model = RunForJson("evaluate", {run + "/model", "--data", moved, "--samples", "0"}, 0);
  EXPECT_EQ(of_model["problems"], 5);
  EXPECT_EQ(of_model["held_out"], true);
  const nlohmann::json of_others = RunForJson("evaluate", {run + "/model", "--held-out", others, "--samples", "0"}, 0);
  EXPECT_EQ(of_others["problems"], 9);
  EXPECT_EQ(of_others["held_out"], false) << "a directory does not say what the run was trained on";
  // The file of the training problems is not held out of a run without a share.
  const std::string whole = TrainTinyRun({"data.path=\"" + moved + "\""});
  const ProcessResult trained_on =
      RunVerb("evaluate", {whole + "/model", "--held-out", moved, "--samples", "0", "--json"});
  EXPECT_EQ(nlohmann::json::parse(trained_on.out)["held_out"], false);
  EXPECT_THAT(trained_on.err, HasSubstr("among those that the run was given to train on"));
}

TEST(EvaluateTest, ItsTableHasOneLinePerMetric) {
  const std::string directory = TrainTinyRun(Evaluations());
  const ProcessResult table = RunVerb("evaluate", {directory + "/run.h5"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("9 problems, 3 samples of each, by the weights of step 2\n  (separate draws: "));
  EXPECT_THAT(table.out, HasSubstr("\n  eval_pass@2 "));
  EXPECT_THAT(table.out, Not(HasSubstr("_low")));
  // In the order of names, eval_pass@16 is between eval_pass@1 and the ends of its interval.
  const ProcessResult many = RunVerb("evaluate", {directory + "/run.h5", "--samples", "16"});
  EXPECT_THAT(many.out, HasSubstr("\n  eval_pass@16 "));
  EXPECT_THAT(many.out, Not(AnyOf(HasSubstr("_low"), HasSubstr("_high"))));
}

TEST(EvaluateTest, ARunWithoutEvaluationsCanBeEvaluatedOnItsTask) {
  const std::string directory = TrainTinyRun();
  EXPECT_EQ(RunForJson("evaluate", {directory, "--set", "evaluation.num_prompts=5"}, 0)["problems"], 5);
}

TEST(EvaluateTest, FilesOfProblemsMustBeGivenAndAreIdentifiedByTheirContents) {
  const std::string files = MakeDirectory();
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string held_out = WriteFile(files, "test.jsonl", Problems(20, 26));
  const std::string directory =
      TrainTinyRun(Evaluations({"data.path=\"" + train + "\"", "evaluation.path=\"" + held_out + "\""}));
  const std::string run = directory + "/run.h5";
  EXPECT_EQ(RunForJson("evaluate", {run, "--held-out", held_out}, 0)["problems"], 6);
  EXPECT_THAT(
      RunVerb("evaluate", {run}),
      FailsWith("evaluate", 64,
                "the run's held-out problems are in a file that is not stored in it; give its path: --held-out FILE"));
  EXPECT_THAT(RunVerb("evaluate", {run, "--held-out", train}).err,
              HasSubstr("--held-out: data/held_out is not the run's file"));
  const std::string verdict = RunVerb("reproduce", {run, "--data", train, "--held-out", held_out}).out;
  EXPECT_THAT(verdict, HasSubstr("PASS: 8 steps"));
}

TEST(EvaluateTest, TheHeldOutShareOfAFileIsNotTrainedOn) {
  const std::string file = WriteFile(MakeDirectory(), "all.jsonl", Problems(0, 20));
  const std::string directory =
      TrainTinyRun(Evaluations({"data.path=\"" + file + "\"", "evaluation.held_out_share=0.2", "run.steps=4"}));
  EXPECT_EQ(RunForJson("evaluate", {directory, "--data", file}, 0)["problems"], 4);
  EXPECT_EQ(RunForJson("reproduce", {directory + "/run.h5", "--data", file}, 0)["pass"], true);
}

TEST(EvaluateTest, ProblemsThatWereTrainedOnAreNotCalledHeldOut) {
  const std::string run = TrainTinyRun(Evaluations({"evaluation.held_out_share=0.3"})) + "/run.h5";
  const auto evaluate = [&](const std::string& set) { return RunVerb("evaluate", {run, "--set", set}); };
  EXPECT_THAT(RunVerb("evaluate", {run}).out, HasSubstr("9 held-out problems, 3 samples"));
  EXPECT_THAT(evaluate("evaluation.held_out_share=0.2").out, HasSubstr("9 held-out problems, 3 samples"));
  EXPECT_THAT(evaluate("evaluation.held_out_share=0").out, HasSubstr("9 problems, 3 samples"));
  EXPECT_THAT(evaluate("evaluation.held_out_share=0.4"),
              FailsWith("evaluate", 64,
                        "evaluation.held_out_share 0.4 with split_seed 42: the run held out 0.3 with split_seed 42, so "
                        "it was trained on some of these problems: use the run's own share, a smaller one, or "
                        "--held-out "
                        "FILE"));
  EXPECT_THAT(evaluate("evaluation.split_seed=7").err, HasSubstr("so it was trained on some of these problems"));
}

// Problems are compared by their contents: another file name or another order does not matter.
TEST(EvaluateTest, AWarningCountsTheProblemsThatAreInBothFiles) {
  const std::string files = MakeDirectory();
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string copy = WriteFile(files, "copy.jsonl", Problems(10, 20) + Problems(0, 10));
  const std::string some = WriteFile(files, "some.jsonl", Problems(18, 24));
  const std::string other = WriteFile(files, "other.jsonl", Problems(20, 24));
  const std::string config = WriteFile(files, "tiny.toml", kTinyRun);
  const auto reported = [&](const std::string& verb, const std::string& held_out,
                            const std::vector<std::string>& more) {
    std::vector<std::string> flags = {config, "--set", "data.path=\"" + train + "\"", "--set",
                                      "evaluation.path=\"" + held_out + "\""};
    flags.insert(flags.end(), more.begin(), more.end());
    const ProcessResult result = RunVerb(verb, flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  EXPECT_THAT(reported("validate", train, {}),
              HasSubstr("warning: evaluation.path: the prompts of 20 of its 20 problems"));
  EXPECT_THAT(reported("validate", copy, {}), HasSubstr("the prompts of 20 of its 20 problems are in data.path too"));
  EXPECT_THAT(reported("validate", some, {}), HasSubstr("the prompts of 2 of its 6 problems"));
  EXPECT_THAT(reported("validate", other, {}), Not(HasSubstr("warning")));
  const auto trained = [&](const std::string& held_out) {
    return reported("train", held_out, {"--set", "evaluation.every=1", "--output", UniqueTemporaryPath()});
  };
  EXPECT_THAT(trained(some), HasSubstr("evaluation's reward"));
  EXPECT_THAT(trained(other), HasSubstr("held-out reward"));
  EXPECT_THAT(reported("train", some, {"--output", files + "/run", "--set", "evaluation.every=1"}),
              HasSubstr("the prompts of 2 of its 6 problems"));
}

// A run stores what it was trained on, so the name of the held-out file does not matter. Tasks that would be drawn
// without a file must not be considered: they do not fit this model's max_position_embeddings.
TEST(EvaluateTest, AFileThatTheRunWasTrainedOnIsNotHeldOut) {
  const std::string files = MakeDirectory();
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string copy = WriteFile(files, "copy.jsonl", Problems(10, 20) + Problems(0, 10));
  const std::string some = WriteFile(files, "some.jsonl", Problems(18, 24));
  const std::string other = WriteFile(files, "other.jsonl", Problems(20, 24));
  const std::vector<std::string> data = {"data.path=\"" + train + "\"", "model.max_position_embeddings=9"};
  const std::string all = TrainTinyRun({data[0], data[1], "run.steps=3"}) + "/run.h5";
  const std::string one = TrainTinyRun({data[0], data[1], "run.steps=1"}) + "/run.h5";
  const auto reported = [&](const std::string& run, const std::string& held_out, bool is_held_out) {
    const std::vector<std::string> flags = {run, "--held-out", held_out, "--samples", "0"};
    EXPECT_EQ(RunForJson("evaluate", flags, 0)["held_out"], is_held_out) << held_out;
    return RunVerb("evaluate", flags);
  };
  const std::string given = " problems are among those that the run was given to train on, so they are not held out: ";
  EXPECT_THAT(reported(all, train, false).err, HasSubstr("warning: the prompts of 20 of these 20" + given));
  EXPECT_THAT(reported(all, copy, false).err, HasSubstr("warning: the prompts of 20 of these 20" + given));
  EXPECT_THAT(reported(all, some, false).err, HasSubstr("warning: the prompts of 2 of these 6" + given));
  EXPECT_THAT(reported(one, copy, false).err, HasSubstr("warning: the prompts of 8 of these 20" + given));
  EXPECT_THAT(reported(one, train, false).err, HasSubstr("warning: the prompts of 20 of these 20" + given));
  EXPECT_THAT(reported(all, some, false).out,
              HasSubstr("6 problems, 0 samples of each, by the weights of step 3\n  (the "
                        "prompts of 2 of them are among those that the run was given to "
                        "train on)\n"));
  const ProcessResult of_other = reported(all, other, true);
  EXPECT_EQ(of_other.err, "");
  EXPECT_THAT(of_other.out, HasSubstr("4 held-out problems, 0 samples of each, by the weights of step 3\n  eval_"));
  EXPECT_EQ(RunForJson("evaluate", {all, "--held-out", some, "--samples", "0", "--step", "1"}, 0)["problems"], 6);

  EXPECT_THAT(RunVerb("evaluate", {all, "--data", train}),
              FailsWith("evaluate", 64,
                        "--data " + train +
                            ": these are training problems of the run, and none of them is held out; give others "
                            "by --held-out FILE"));
  EXPECT_THAT(RunVerb("evaluate", {all, "--data", files + "/not"}),
              FailsWith("evaluate", 64, "cannot find " + files + "/not: No such file or directory"));
}

// The file of problems is given, and with it the problems that the run held out.
TEST(EvaluateTest, AFileOfTheProblemsThatARunHeldOutIsHeldOut) {
  const std::string files = MakeDirectory();
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string run =
      TrainTinyRun(Evaluations({"data.path=\"" + train + "\"", "evaluation.held_out_share=0.25", "run.steps=1"})) +
      "/run.h5";
  int held_out = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string one = WriteFile(files, "one.jsonl", Problems(i, i + 1));
    const nlohmann::json line = RunForJson("evaluate", {run, "--data", train, "--held-out", one, "--samples", "0"}, 0);
    held_out += line["held_out"] == true ? 1 : 0;
  }
  EXPECT_EQ(held_out, 5);
}

TEST(EvaluateTest, ForAModelTheProblemsOfTheConfigurationAreCompared) {
  const std::string files = MakeDirectory();
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string some = WriteFile(files, "some.jsonl", Problems(18, 24));
  const std::string config = WriteFile(files, "tiny.toml", kTinyRun + ("[data]\npath = \"" + train + "\"\n"));
  const std::vector<std::string> flags = {
      TrainTinyRun() + "/model", "--config", config, "--held-out", some, "--samples", "0"};
  EXPECT_EQ(RunForJson("evaluate", flags, 0)["held_out"], false);
  EXPECT_THAT(
      RunVerb("evaluate", flags).err,
      HasSubstr("warning: the prompts of 2 of these 6 problems are in data.path too, so they are not held out"));
  std::filesystem::remove(train);
  EXPECT_EQ(RunForJson("evaluate", flags, 0)["held_out"], true) << "its run drew words, which these are not";
  std::vector<std::string> on_words = flags;
  on_words[4] = WriteFile(files, "words.jsonl", R"({"prompt": "abc=", "answer": "cba"})");
  EXPECT_EQ(RunForJson("evaluate", on_words, 0)["held_out"], false) << "its run may have drawn it";
  std::filesystem::remove(flags[0] + "/reprise.json");
  EXPECT_EQ(RunForJson("evaluate", on_words, 0)["held_out"], true) << "as far as is known";
}

// Evaluates a model on a configuration's problems, without samples.
ProcessResult EvaluateOn(const std::string& model, const std::string& config, const std::vector<std::string>& sets,
                         const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {model, "--config", config, "--samples", "0", "--json"};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunVerb("evaluate", arguments);
}

bool IsHeldOut(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out)["held_out"] == true;
}

TEST(EvaluateTest, ASplitOfAConfigurationIsComparedWithThatOfTheModelsRun) {
  const std::string model = TrainTinyRun(Evaluations({"evaluation.held_out_share=0.3"})) + "/model";
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  const auto evaluate = [&](const std::string& set) {
    return EvaluateOn(model, config, {"evaluation.num_prompts=9", "evaluation.held_out_share=0.3", set});
  };
  // Lengths and letters of the drawn problems do not change which of them are held out.
  // No sum is among the words that it drew.
  for (const char* set : {"run.seed=5", "evaluation.held_out_share=0.2", "data.max_length=4", "data.alphabet_size=9",
                          "data.task=\"addition\""}) {
    const ProcessResult result = evaluate(set);
    EXPECT_TRUE(IsHeldOut(result)) << set;
    EXPECT_THAT(result.err, Not(HasSubstr("held out"))) << set;
  }
  for (const char* set : {"evaluation.split_seed=7", "evaluation.held_out_share=0.9", "data.task=\"sort\"",
                          "rollout.max_prompt_length=2"}) {
    const ProcessResult result = evaluate(set);
    EXPECT_FALSE(IsHeldOut(result)) << set;
    EXPECT_THAT(result.err, HasSubstr("warning: these problems are not called held out: the run that wrote the model "
                                      "may have been trained on "))
        << set;
    EXPECT_THAT(result.err, HasSubstr(" of them: of the problems that it drew, it held out 0.3 with split_seed 42\n"));
  }
  EXPECT_FALSE(IsHeldOut(evaluate("evaluation.held_out_share=0")));
}

TEST(EvaluateTest, WhereItIsUnknownWhatAModelsRunHeldOutNothingIsCalledHeldOut) {
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  const std::vector<std::string> share = {"evaluation.num_prompts=9", "evaluation.held_out_share=0.3"};
  const ProcessResult of_all = EvaluateOn(TrainTinyRun() + "/model", config, share);
  EXPECT_FALSE(IsHeldOut(of_all));
  EXPECT_THAT(of_all.err, HasSubstr("may have been trained on 9 of them: it held out none of the problems"));

  const std::string model = TrainTinyRun(Evaluations({share[1]})) + "/model", file = model + "/reprise.json";
  EXPECT_TRUE(IsHeldOut(EvaluateOn(model, config, share)));
  WriteFile(model, "reprise.json", "{");
  const ProcessResult of_corrupted = EvaluateOn(model, config, share);
  EXPECT_FALSE(IsHeldOut(of_corrupted));
  EXPECT_THAT(of_corrupted.err, HasSubstr("what it was trained on is unknown, as its reprise.json cannot be read"));
  std::filesystem::remove(file);
  EXPECT_TRUE(IsHeldOut(EvaluateOn(model, config, share))) << "as far as is known";
}

TEST(EvaluateTest, AFileOfAConfigurationIsComparedWithThatOfTheModelsRun) {
  const std::string files = MakeDirectory(), config = WriteFile(files, "tiny.toml", kTinyRun);
  const std::string train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string others = WriteFile(files, "others.jsonl", Problems(0, 40));
  const std::string model =
      TrainTinyRun(Evaluations({"data.path=\"" + train + "\"", "evaluation.held_out_share=0.25"})) + "/model";
  const auto on = [&](const std::string& file, const std::string& set) {
    return EvaluateOn(model, config, {"data.path=\"" + file + "\"", "evaluation.held_out_share=0.25", set});
  };
  EXPECT_TRUE(IsHeldOut(on(train, "run.seed=5")));
  EXPECT_TRUE(IsHeldOut(on(train, "evaluation.held_out_share=0.1")));
  const ProcessResult other_seed = on(train, "evaluation.split_seed=7");
  EXPECT_FALSE(IsHeldOut(other_seed));
  EXPECT_THAT(other_seed.err, HasSubstr("of them are among those that the run was given to train on"));
  EXPECT_FALSE(IsHeldOut(on(train, "evaluation.held_out_share=0.6")));
  const ProcessResult of_others = on(others, "run.seed=5");
  EXPECT_FALSE(IsHeldOut(of_others));
  EXPECT_THAT(of_others.err, HasSubstr("--data FILE names the file of its training problems"));
  // As a file of held-out problems too, it is the one that the run was trained on.
  const ProcessResult whole = EvaluateOn(model, config, {}, {"--held-out", train});
  EXPECT_FALSE(IsHeldOut(whole));
  EXPECT_THAT(whole.err, HasSubstr("the prompts of 15 of them are among those"));
  EXPECT_FALSE(IsHeldOut(EvaluateOn(model, config, {"evaluation.held_out_share=0.25"}))) << "drawn problems";
}

// The directory's own task: the training's file is split as the training has split it, also beside a file of others.
TEST(EvaluateTest, AFileOfWhatAModelsRunHeldOutIsHeldOut) {
  const std::string files = MakeDirectory(), train = WriteFile(files, "train.jsonl", Problems(0, 20));
  const std::string run = TrainTinyRun(Evaluations({"data.path=\"" + train + "\"", "evaluation.held_out_share=0.25"}));
  int held_out = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string one = WriteFile(files, "one.jsonl", Problems(i, i + 1));
    const std::vector<std::string> options = {"--held-out", one, "--data", train, "--samples", "0", "--json"};
    const auto claim = [&](const std::string& target) {
      std::vector<std::string> arguments = {target};
      arguments.insert(arguments.end(), options.begin(), options.end());
      return IsHeldOut(RunVerb("evaluate", arguments));
    };
    const bool of_model = claim(run + "/model");
    EXPECT_EQ(of_model, claim(run + "/run.h5")) << i;
    held_out += of_model ? 1 : 0;
  }
  EXPECT_EQ(held_out, 5);
}

// "zzzzab=" is read as "ab=" by an evaluation that keeps three letters, and as itself by the training.
TEST(EvaluateTest, APromptThatIsTruncatedToATrainedOneIsNotHeldOut) {
  const std::string files = MakeDirectory(), config = WriteFile(files, "tiny.toml", kTinyRun);
  const std::string model = TrainTinyRun({"data.min_length=2", "data.max_length=2", "data.alphabet_size=4"}) + "/model";
  const auto on = [&](const std::string& prompt, const std::vector<std::string>& more) {
    const std::string path = WriteFile(files, "p.jsonl", "{\"prompt\": \"" + prompt + "\", \"answer\": \"ba\"}\n");
    std::vector<std::string> settings = {"evaluation.path=\"" + path + "\""};
    settings.insert(settings.end(), more.begin(), more.end());
    return EvaluateOn(model, config, settings);
  };
  EXPECT_FALSE(IsHeldOut(on("ab=", {})));
  EXPECT_TRUE(IsHeldOut(on("zzzzab=", {})));
  EXPECT_FALSE(IsHeldOut(on("zzzzab=", {"rollout.max_prompt_length=3"})));
  EXPECT_TRUE(IsHeldOut(on("zzzzab=", {"rollout.max_prompt_length=5"})));
}

// Without a share, too: what the training cannot have drawn was not used.
TEST(EvaluateTest, DrawnProblemsOfAnotherLengthAreHeldOutOfAModel) {
  const std::string files = MakeDirectory(), config = WriteFile(files, "tiny.toml", kTinyRun);
  const std::string model = TrainTinyRun({"data.min_length=2", "data.max_length=3"}) + "/model";
  EXPECT_TRUE(IsHeldOut(EvaluateOn(model, config, {"data.min_length=4", "data.max_length=4"})));
  EXPECT_FALSE(IsHeldOut(EvaluateOn(model, config, {"data.min_length=3", "data.max_length=4"})));
}

// The run has no such step, so that the evaluation ends before its work.
TEST(EvaluateTest, AnEvaluationOfManyProblemsSaysSoBeforeItBegins) {
  const std::string run = TrainTinyRun() + "/run.h5";
  const auto told = [&](const std::string& problems, const std::string& samples) {
    return RunVerb("evaluate",
                   {run, "--step", "99", "--samples", samples, "--set", "evaluation.num_prompts=" + problems})
        .err;
  };
  EXPECT_THAT(told("100000", "0"), HasSubstr("an evaluation has up to 100000 problems, and 0 samples of each"));
  EXPECT_THAT(told("50000", "1"), HasSubstr("an evaluation has up to 50000 problems, and 1 samples of each"));
  EXPECT_THAT(told("99999", "0"), ::testing::Not(HasSubstr("an evaluation has up to")));
}

TEST(EvaluateTest, ArgumentsThatDoNotFitTheTargetAreRejected) {
  const std::string directory = TrainTinyRun();
  const std::string run = directory + "/run.h5";
  EXPECT_THAT(RunVerb("evaluate", {run, "--step", "best"}),
              FailsWith("evaluate", 64,
                        run + ": the run has no best weights: evaluation.every and evaluation.keep_best store them "
                              "when it ends"));
  EXPECT_THAT(RunVerb("evaluate", {run, "--set", "data.task=\"sort\""}).err,
              HasSubstr("only keys of [evaluation] and [execution] may be set"));
  EXPECT_THAT(RunVerb("evaluate", {directory + "/model", "--step", "1"}).err, HasSubstr("which has no steps"));
  EXPECT_THAT(RunVerb("evaluate", {run, "--samples", "65537"}),
              FailsWith("evaluate", 64,
                        "--samples: 65537: expected a whole number, 0 to 65536 (./reprise evaluate --help explains)"));
  EXPECT_THAT(RunVerb("reproduce", {run, "--threads", "1025"}).err, HasSubstr("expected a whole number, 0 to 1024"));
  EXPECT_EQ(RunVerb("evaluate", {run, "--config", "x.toml"}).exit_code, 64);
  EXPECT_EQ(RunVerb("evaluate", {run, "--step", "0"}).exit_code, 64);
  const std::string file = WriteFile(MakeDirectory(), "all.jsonl", Problems(0, 20));
  const std::string config = WriteFile(MakeDirectory(), "tiny.toml", kTinyRun);
  EXPECT_THAT(RunVerb("evaluate", {directory + "/model", "--config", config, "--data", file}),
              FailsWith("evaluate", 64,
                        "--data " + file + ": these are training problems, and none of them is held out; --held-out " +
                            file + " evaluates on all of them, --set evaluation.held_out_share=0.2 on a share"));
  EXPECT_THAT(RunVerb("evaluate", {directory + "/model", "--model", "x"}).err,
              HasSubstr("which is given as TARGET; remove --model"));
  EXPECT_THAT(RunVerb("evaluate", {directory + "/model", "--config", config, "--set", "model.path=x"}),
              FailsWith("evaluate", 64,
                        "--set model.path: the model is " + directory +
                            "/model, which is given as TARGET; remove --set model.path"));
  EXPECT_EQ(RunVerb("evaluate", {directory + "/nothing"}).exit_code, 64);
}

TEST(EvaluateTest, AShareThatHoldsNothingOutIsRejectedAlsoWithoutEvaluations) {
  std::vector<std::string> arguments = {WriteFile(MakeDirectory(), "tiny.toml", kTinyRun), "--output",
                                        MakeDirectory() + "/run"};
  for (const char* pair :
       {"data.max_length=1", "data.alphabet_size=2", "evaluation.held_out_share=0.5", "evaluation.split_seed=4"}) {
    arguments.insert(arguments.end(), {"--set", pair});
  }
  EXPECT_THAT(RunVerb("train", arguments),
              FailsWith("train", 64,
                        "evaluation.held_out_share 0.5: 65536 draws of the task reverse gave 2 different problems, "
                        "none of which is held out; problems are distinguished by what of their prompts, as the policy "
                        "reads them, decides the answer, and there are too few: raise data.max_length or "
                        "data.alphabet_size, raise the share, or set the share to 0"));
}

}  // namespace
}  // namespace reprise::testing
