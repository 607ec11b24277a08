// A model that runs of this program have trained says of all of them what they were trained on: nothing is called held
// out of a run that begins with it unless that is proven of each.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNotCalled[] = "warning: model.path: the problems of this run's evaluations are not called held out: ";
constexpr char kShare[] = "evaluation.held_out_share=0.3";

// Returns the tiny configuration, which holds problems out and evaluates every step, on a model, and --set `more`.
std::vector<std::string> ConfigOn(const std::string& model, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {WriteFile(MakeDirectory(), "tiny.toml", kTinyRun)};
  const std::string path = "model.path=\"" + model + "\"";
  for (const std::string& set : {path, std::string("evaluation.every=1"), std::string("evaluation.num_prompts=9"),
                                 std::string("evaluation.num_generations=2")}) {
    arguments.insert(arguments.end(), {"--set", set});
  }
  for (const std::string& set : more) arguments.insert(arguments.end(), {"--set", set});
  return arguments;
}

// A run that began with a model.
struct Generation {
  std::string base, directory;
  std::string err;  // of its training
  std::string model() const { return directory + "/model"; }
  std::string file() const { return directory + "/run.h5"; }
};

Generation TrainOn(const std::string& base, const std::vector<std::string>& more = {kShare},
                   const std::vector<std::string>& flags = {}) {
  Generation run = {.base = base, .directory = MakeDirectory() + "/run", .err = {}};
  std::vector<std::string> arguments = ConfigOn(base, more);
  arguments.insert(arguments.end(), {"--output", run.directory, "--set", "execution.log_every=1"});
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ProcessResult result = RunVerb("train", arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  run.err = result.err;
  return run;
}

// What evaluate says, which must be the same in its text and its JSON.
struct Claim {
  bool held_out = false;
  std::string remark, err;
};

Claim Evaluated(const std::string& target, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {target, "--samples", "0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProcessResult text = RunVerb("evaluate", arguments);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  const nlohmann::json line = RunForJson("evaluate", arguments, 0);
  const Claim claim = {line["held_out"] == true, line.value("remark", ""), text.err};
  EXPECT_EQ(text.out.find(" held-out problems, ") != std::string::npos, claim.held_out) << text.out;
  EXPECT_EQ(claim.remark.empty(), claim.held_out);
  EXPECT_THAT(text.out, HasSubstr(claim.remark.empty() ? "" : "  (" + claim.remark + ")\n"));
  return claim;
}

// Expects that training, the run, its model and an export of it say the same: that the problems are held out, or that
// for the reason `why` they are not.
void ExpectSaysOfAll(const Generation& run, const std::string& why, const std::vector<std::string>& more = {}) {
  const bool is_held_out = why.empty();
  EXPECT_EQ(run.err.find(", held-out reward ") != std::string::npos, is_held_out) << run.err;
  EXPECT_EQ(run.err.find(", evaluation's reward ") == std::string::npos, is_held_out) << run.err;
  EXPECT_EQ(run.err.find("not called held out") == std::string::npos, is_held_out) << run.err;
  EXPECT_THAT(run.err, HasSubstr(is_held_out ? "" : kNotCalled + why));
  const std::string exported = MakeDirectory() + "/model";
  RunForJson("export", {run.file(), "--model", run.base, "--output", exported}, 0);
  EXPECT_EQ(Contents(exported + "/reprise.json"), Contents(run.model() + "/reprise.json"));
  std::vector<std::string> with_base = {"--model", run.base};
  with_base.insert(with_base.end(), more.begin(), more.end());
  for (const auto& [target, flags] :
       {std::pair(run.file(), with_base), std::pair(run.model(), more), std::pair(exported, more)}) {
    const Claim claim = Evaluated(target, flags);
    EXPECT_EQ(claim.held_out, is_held_out) << target;
    if (is_held_out) continue;
    EXPECT_THAT(claim.remark, HasSubstr(why)) << target;
    EXPECT_THAT(claim.err, HasSubstr("warning: these problems are not called held out: " + why)) << target;
  }
}

size_t EarlierRuns(const std::string& model) {
  return nlohmann::json::parse(Contents(model + "/reprise.json")).value("earlier_runs", nlohmann::json::array()).size();
}

constexpr char kHeldOutNone[] =
    "an earlier run of the model may have been trained on 9 of them: it held out none of the problems that it drew";
constexpr char kMayHaveUsed[] = "an earlier run of the model may have been trained on ";

TEST(EarlierRunsTest, AModelThatWasTrainedOnTheProblemsLeavesNoneHeldOut) {
  const std::string first = TrainTinyRun() + "/model";
  const ProcessResult checked = RunVerb("validate", ConfigOn(first, {kShare}));
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.err, HasSubstr(absl::StrCat(kNotCalled, kHeldOutNone)));
  EXPECT_THAT(RunVerb("validate", ConfigOn(first, {})).err, Not(HasSubstr("held out"))) << "nothing is claimed";
  const Generation second = TrainOn(first);
  ExpectSaysOfAll(second, kHeldOutNone);
  EXPECT_EQ(EarlierRuns(second.model()), 1u);
  // The doubt is handed on to the next generation, although the second run held the problems out.
  const Generation third = TrainOn(second.model());
  ExpectSaysOfAll(third, kHeldOutNone);
  EXPECT_EQ(EarlierRuns(third.model()), 2u);
  EXPECT_EQ(RunForJson("reproduce", {third.file(), "--model", second.model()}, 0)["pass"], true);
}

TEST(EarlierRunsTest, ProblemsThatAllGenerationsHeldOutAreHeldOut) {
  const std::string first = TrainTinyRun({kShare}) + "/model";
  const Generation second = TrainOn(first), third = TrainOn(second.model(), {"evaluation.held_out_share=0.2"});
  ExpectSaysOfAll(second, "");
  ExpectSaysOfAll(third, "");
  ExpectSaysOfAll(TrainOn(third.model()), kMayHaveUsed);  // the third run held out fewer
  ExpectSaysOfAll(TrainOn(third.model(), {"evaluation.held_out_share=0.2", "evaluation.split_seed=7"}), kMayHaveUsed);
}

TEST(EarlierRunsTest, RoundsWithTheSameConfigurationAreListedOnce) {
  Generation round = TrainOn(TrainTinyRun({kShare}) + "/model");
  for (int i = 0; i < 2; ++i) round = TrainOn(round.model());
  EXPECT_EQ(EarlierRuns(round.model()), 2u);
  ExpectSaysOfAll(round, "");
}

TEST(EarlierRunsTest, AModelThatWasNotTrainedHasUsedNoProblem) {
  ExpectSaysOfAll(TrainOn(TrainTinyRun({"run.steps=0"}) + "/model"), "");
}

// With and without a share of its own: nothing was trained on, so everything is held out.
TEST(EarlierRunsTest, ARunThatMadeNoStepIsEvaluatedOnAnyProblemsAndAllAreHeldOut) {
  const std::string first = TrainTinyRun({"run.steps=0"}) + "/model";
  EXPECT_TRUE(Evaluated(first, {}).held_out);
  EXPECT_TRUE(Evaluated(first, {"--set", kShare}).held_out);
  // Its model's weights are those of the base, which was trained.
  const Generation second = TrainOn(TrainTinyRun() + "/model", {"run.steps=0", "evaluation.every=0"});
  EXPECT_THAT(Evaluated(second.model(), {"--set", kShare}).remark, HasSubstr(kMayHaveUsed));
}

// The words of another length, or another task, cannot be among those that the earlier run drew.
TEST(EarlierRunsTest, ProblemsThatTheEarlierRunCannotHaveDrawnAreHeldOut) {
  const std::string first = TrainTinyRun({"data.max_length=2"}) + "/model";
  ExpectSaysOfAll(TrainOn(first, {kShare, "data.min_length=3", "data.max_length=4"}), "");
  ExpectSaysOfAll(TrainOn(first, {kShare, "data.task=addition"}), "");
  ExpectSaysOfAll(TrainOn(first, {kShare, "data.min_length=2", "data.max_length=2"}), kHeldOutNone);
}

std::string Problems(int begin, int end) {
  std::string lines;
  for (int i = begin; i < end; ++i) {
    lines += nlohmann::json({{"prompt", absl::StrCat(i, "+1=")}, {"answer", absl::StrCat(i + 1)}}).dump() + "\n";
  }
  return lines;
}

TEST(EarlierRunsTest, FilesOfProblemsAreComparedByTheirContents) {
  const std::string files = MakeDirectory();
  const std::string one = WriteFile(files, "one.jsonl", Problems(0, 20));
  const std::string other = WriteFile(files, "other.jsonl", Problems(20, 40));
  const std::string of_one = "data.path=\"" + one + "\"", of_other = "data.path=\"" + other + "\"";
  const std::string share = "evaluation.held_out_share=0.25";
  const std::string whole = TrainTinyRun({of_one}) + "/model", split = TrainTinyRun({of_one, share}) + "/model";
  ExpectSaysOfAll(TrainOn(split, {of_one, share}), "", {"--data", one});
  ExpectSaysOfAll(TrainOn(whole, {of_one, share}),
                  "the prompts of 5 of them are among those that an earlier run of the model was given to train on",
                  {"--data", one});
  ExpectSaysOfAll(TrainOn(split, {of_other, share}),
                  "what an earlier run of the model was trained on is unknown here, and may have been these problems: "
                  "only a file that both runs have read can be compared (data.path, --data)",
                  {"--data", other});
}

TEST(EarlierRunsTest, AFileThatAnEarlierRunWasTrainedOnIsNotHeldOut) {
  const std::string files = MakeDirectory();
  const std::string one = WriteFile(files, "one.jsonl", Problems(0, 20));
  const std::string other = WriteFile(files, "other.jsonl", Problems(20, 40));
  const Generation run = TrainOn(TrainTinyRun({"data.path=\"" + one + "\""}) + "/model",
                                 {"data.path=\"" + other + "\"", "evaluation.path=\"" + one + "\""});
  const std::string why =
      "not called held out: the prompts of 9 of them are among those that an earlier run of the "
      "model was given to train on";
  EXPECT_THAT(run.err, HasSubstr("warning: model.path: the problems of this run's evaluations are " + why));
  for (const std::string& target : {run.file(), run.model()}) {
    std::vector<std::string> flags = {"--held-out", one, "--data", other};
    if (target == run.file()) flags.insert(flags.end(), {"--model", run.base});
    const Claim claim = Evaluated(target, flags);
    EXPECT_FALSE(claim.held_out);
    EXPECT_THAT(claim.err, HasSubstr("these problems are " + why));
  }
}

// The records of a run do not say what its first weights were trained on.
TEST(EarlierRunsTest, AModelOfARunThatBeganWithOtherWeightsLeavesNoneHeldOut) {
  const std::string other = TrainTinyRun({kShare}) + "/run.h5", output = MakeDirectory() + "/run";
  const ProcessResult began = RunVerb("train", {WriteFile(MakeDirectory(), "tiny.toml", kTinyRun), "--output", output,
                                                "--init-from", other, "--set", kShare, "--quiet"});
  ASSERT_EQ(began.exit_code, 0) << began.err;
  ExpectSaysOfAll(
      TrainOn(output + "/model"),
      "an earlier run of the model started from another run's weights: whether that one was trained on them "
      "is unknown");
  const Generation second = TrainOn(TrainTinyRun() + "/model", {"run.steps=1"});
  for (const std::string& place : {output + "/run.h5", second.file()}) {
    const ProcessResult third =
        RunVerb("train", {WriteFile(MakeDirectory(), "tiny.toml", kTinyRun), "--output", MakeDirectory() + "/run",
                          "--init-from", place, "--set", kShare, "--quiet"});
    EXPECT_THAT(third.err, HasSubstr("warning: --init-from " + place +
                                     ": that run started from weights that another run had trained, and whether on "
                                     "problems that this one evaluates is not checked\n"));
  }
}

// Of a model from elsewhere nothing is known; a run on it is the same as ever.
TEST(EarlierRunsTest, AModelFromElsewhereMakesNoDoubt) {
  const std::string base = TrainTinyRun() + "/model", foreign = MakeDirectory() + "/model";
  std::filesystem::copy(base, foreign);
  std::filesystem::remove(foreign + "/reprise.json");
  const Generation of_foreign = TrainOn(foreign), of_base = TrainOn(base);
  ExpectSaysOfAll(of_foreign, "");
  EXPECT_FALSE(RunForJson("inspect", {of_foreign.file()}, 0)["external_files"].contains("model/reprise.json"));
  EXPECT_TRUE(RunForJson("inspect", {of_base.file()}, 0)["external_files"].contains("model/reprise.json"));
  EXPECT_EQ(Contents(of_foreign.model() + "/model.safetensors"), Contents(of_base.model() + "/model.safetensors"));
  EXPECT_EQ(EarlierRuns(of_foreign.model()), 0u);

  // The file is not the one of the model with which the run began.
  std::filesystem::copy_file(base + "/reprise.json", foreign + "/reprise.json");
  for (const char* verb : {"evaluate", "reproduce"}) {
    EXPECT_THAT(
        RunVerb(verb, {of_foreign.file(), "--model", foreign}),
        FailsWith(verb, 64, "the model's directory has model/reprise.json, which the run's did not have: remove it"));
  }
}

TEST(EarlierRunsTest, TheFileBelongsToTheRun) {
  const std::string base = TrainTinyRun({kShare}) + "/model";
  const Generation whole = TrainOn(base), part = TrainOn(base, {kShare}, {"--stop-after-step", "1"});
  std::vector<std::string> resume = ConfigOn(base, {kShare});
  resume.insert(resume.end(), {"--output", part.directory, "--resume"});
  const std::string file = Contents(base + "/reprise.json");
  WriteFile(base, "reprise.json", file + " ");
  EXPECT_THAT(RunVerb("train", resume).err, HasSubstr("model/reprise.json is sha256:"));
  EXPECT_THAT(RunVerb("evaluate", {whole.file(), "--model", base}).err,
              HasSubstr("model/reprise.json is not the run's file"));
  std::filesystem::remove(base + "/reprise.json");
  EXPECT_THAT(RunVerb("evaluate", {whole.file(), "--model", base}).err,
              HasSubstr("the model's directory lacks model/reprise.json of the run"));
  WriteFile(base, "reprise.json", file);
  EXPECT_EQ(RunVerb("train", resume).exit_code, 0);
  EXPECT_EQ(Contents(part.file()), Contents(whole.file()));
  EXPECT_EQ(Contents(part.model() + "/reprise.json"), Contents(whole.model() + "/reprise.json"));
}

// Thoughts are evaluated on what a configuration draws, not problem by problem.
TEST(EarlierRunsTest, AModelThatThinksIsComparedByWhatItDraws) {
  const std::vector<std::string> lookups = {"data.task=\"lookup\"", "data.max_length=2", "data.alphabet_size=3"};
  std::vector<std::string> thoughts = {
      "run.workload=\"quiet_star\"",     "quiet_star.positions=\"answer\"",  "quiet_star.min_thought_length=1",
      "quiet_star.max_thought_length=2", "quiet_star.tokens_ahead=1",        "quiet_star.bounded_mixing=true",
      "algorithm.name=\"reinforce\"",    "algorithm.baseline=\"step_none\"", "algorithm.gamma=0",
      "evaluation.held_out_share=0.25"};
  thoughts.insert(thoughts.end(), lookups.begin(), lookups.end());
  for (const std::string share : {"0.25", "0"}) {
    std::vector<std::string> first = lookups;
    if (share != "0") first.push_back("evaluation.held_out_share=" + share);
    const Generation run = TrainOn(TrainTinyRun(first) + "/model", thoughts);
    EXPECT_EQ(run.err.find("not called held out") == std::string::npos, share != "0") << run.err;
    EXPECT_EQ(Evaluated(run.file(), {"--model", run.base}).held_out, share != "0");
  }
}

// The file may come from anywhere.
TEST(EarlierRunsTest, ACorruptedFileOfTheModelIsRejectedWithASentence) {
  const std::string base = TrainTinyRun() + "/model", path = base + "/reprise.json", sound = Contents(path);
  const auto refused = [&](const std::string& text, const std::string& why) {
    WriteFile(base, "reprise.json", text);
    for (const char* verb : {"validate", "train"}) {
      std::vector<std::string> arguments = ConfigOn(base, {});
      if (verb == std::string("train")) arguments.insert(arguments.end(), {"--output", MakeDirectory() + "/run"});
      const ProcessResult result = RunVerb(verb, arguments);
      EXPECT_EQ(result.exit_code, 65) << result.err;
      EXPECT_THAT(result.err, HasSubstr("error: " + path + ": " + why));
    }
  };
  const auto with_earlier = [&](const nlohmann::json& earlier) {
    nlohmann::json changed = nlohmann::json::parse(sound);
    changed["earlier_runs"] = earlier;
    return changed.dump();
  };
  nlohmann::json run = nlohmann::json::parse(sound);
  run.erase("format");
  run.erase("numeric_contract");
  refused("", "");
  refused("{", "");
  refused(R"({"mine": 1})",
          "/format is missing; ./reprise export writes it anew from the model's run, and a file that "
          "no run wrote belongs elsewhere\n");
  refused(with_earlier(3), "/earlier_runs: expected an array");
  refused(with_earlier({run, 7}), "/earlier_runs/1: expected an object");
  refused(with_earlier(std::vector<nlohmann::json>(1000, run)), "/earlier_runs has 1000 runs; expected at most 999");
  nlohmann::json forged = run;
  forged["config"] = "[data]\npath = \"/etc/passwd\"\n";
  refused(with_earlier(nlohmann::json::array({forged})), "its configuration contains a path in data.path");
  forged = run;
  forged["earlier_runs"] = {run};
  refused(with_earlier(nlohmann::json::array({forged})), "it has the unknown member \"earlier_runs\"");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[";
  refused(deep, "");
  WriteFile(base, "reprise.json", "{");
  std::filesystem::resize_file(path, uint64_t{1} << 40);  // without a block on the disk
  const ProcessResult huge = RunVerb("validate", ConfigOn(base, {}));
  EXPECT_EQ(huge.exit_code, 65) << huge.err;
  EXPECT_THAT(huge.err, HasSubstr(path + ": it has 1099511627776 bytes, more than the limit of 16777216"));
}

}  // namespace
}  // namespace reprise::testing
