// What stands in a sweep's folder, and in the files that it reads, while nobody looks.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"
#include "tests/cli/sweep_files.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The paths are relative to the sweep's file, which is not in the working directory.
TEST(SweepFolderTest, AFileThatChangesBetweenTwoExecutionsIsRejected) {
  const std::string file = WriteSweep(absl::StrCat("[settings]\ndata.path = \"p.jsonl\"\n[grid]\nrun.seed = [1, 2]\n[",
                                                   "[variants]]\nname = \"x\"\nconfig = \"tiny.toml\"\n"));
  const std::string here = std::filesystem::path(file).parent_path().string(), directory = here + "/sweep";
  const std::string problems = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n", other = problems + problems;
  WriteFile(here, "tiny.toml", kTinyRun);
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0) << "both trials fail: there is no file yet";
  EXPECT_THAT(Contents(directory + "/sweep.csv"), HasSubstr("failed,NOT_FOUND"));
  WriteFile(here, "p.jsonl", problems);
  const ProcessResult first = RunSweep(file, directory);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, StartsWith("trials 2, of which 0 failed\n"));
  const std::string table = Contents(directory + "/sweep.h5");
  std::filesystem::remove_all(directory + "/trials/01-x-seed2");
  // What is checked before ranks or jobs start reads no files, and accepts the sweep as it is.
  const ProcessResult check = RunVerb("sweep", {file, "--output", directory, "--check", "--ranks-to-start", "2"});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  WriteFile(here, "p.jsonl", other);
  EXPECT_THAT(
      RunSweep(file, directory),
      FailsWith("sweep", 64,
                absl::StrCat("data/problems of trial 00-x-seed1 is another file than when the sweep in ", directory,
                             " began, so that its trials could not be compared: restore the file, or choose "
                             "another --output")));
  // A run of other data in the place of a trial is no run of it, although its configuration is the same.
  const std::string elsewhere = here + "/elsewhere";
  ASSERT_EQ(RunSweep(file, elsewhere).exit_code, 0);
  std::filesystem::copy(elsewhere + "/trials/01-x-seed2", directory + "/trials/01-x-seed2",
                        std::filesystem::copy_options::recursive);
  EXPECT_THAT(RunVerb("reproduce", {directory, "--data", here + "/p.jsonl", "--quiet"}).err,
              HasSubstr("is not the run of trial 01-x-seed2: it read another data/problems than the sweep's plan has"));
  std::filesystem::remove_all(directory + "/trials/01-x-seed2");
  std::filesystem::remove(here + "/p.jsonl");
  WriteFile(here, "p.jsonl", problems);
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/sweep.h5"), table);
  const ProcessResult pass = RunVerb("reproduce", {directory, "--data", here + "/p.jsonl", "--quiet"});
  EXPECT_EQ(pass.exit_code, 0) << pass.out << pass.err;
}

// The configuration is the same, and each step is right: but somebody chose the step at which the trial is compared.
TEST(SweepFolderTest, ARunThatWasStoppedBeforeItsLastStepIsNoTrial) {
  const std::string file = WriteSweep();
  const std::string here = std::filesystem::path(file).parent_path().string(), directory = here + "/sweep";
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  const std::string table = Contents(directory + "/sweep.h5"), trial = directory + "/trials/00-grpo-seed1";
  ASSERT_EQ(RunVerb("train", {here + "/bandit.toml", "--output", here + "/stopped", "--set", "run.seed=1",
                              "--stop-after-step", "7", "--quiet"})
                .exit_code,
            0);
  std::filesystem::remove_all(trial);
  std::filesystem::copy(here + "/stopped", trial, std::filesystem::copy_options::recursive);
  const std::string refusal = absl::StrCat(
      trial,
      "/run.h5 is not the whole run of trial 00-grpo-seed1: it was stopped after 7 of 40 steps; move its folder "
      "away, and the command that started the sweep executes the trial");
  EXPECT_THAT(RunSweep(file, directory), FailsWith("sweep", 64, refusal));
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}), FailsWith("reproduce", 64, refusal));
  std::filesystem::remove_all(trial);
  WriteFile(directory + "/trials", ".DS_Store", "a file manager's");
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  EXPECT_EQ(Contents(directory + "/sweep.h5"), table);
  const ProcessResult pass = RunVerb("reproduce", {directory, "--quiet"});
  EXPECT_EQ(pass.exit_code, 0) << "a file among the trials is no run: " << pass.err;
}

TEST(SweepFolderTest, OptionsThatNoTrialCanHaveAreRejected) {
  const std::string directory = MakeDirectory();
  WriteFile(directory, "plan.json", "{}");
  EXPECT_THAT(
      RunVerb("reproduce", {directory, "--init-from", "x"}),
      FailsWith("reproduce", 64,
                absl::StrCat("--init-from x: ", directory,
                             " is the folder of a sweep, whose trials begin with no other run's weights: remove "
                             "the option")));
}

TEST(SweepFolderTest, ATrialThatEvaluationsEndedIsWhole) {
  const std::string file = WriteSweep(
      "config = \"bandit.toml\"\n[settings]\nevaluation.every = 1\nevaluation.early_stopping_patience = 1\n"
      "evaluation.early_stopping_threshold = 1\nevaluation.num_prompts = 4\n[grid]\nrun.seed = [1, 2]\n");
  const std::string directory = std::filesystem::path(file).parent_path().string() + "/sweep";
  const ProcessResult sweep = RunSweep(file, directory);
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  EXPECT_THAT(Contents(directory + "/sweep.csv"), HasSubstr("done,"));
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).exit_code, 0);
}

TEST(SweepFolderTest, EachTrialTakesOfSeveralDataFilesTheOneThatItHasRead) {
  const std::string file =
      WriteSweep(absl::StrCat("config = \"tiny.toml\"\n[grid]\ndata.path = [\"a.jsonl\", ", "\"b.jsonl\"]\n"));
  const std::string here = std::filesystem::path(file).parent_path().string(), directory = here + "/sweep";
  const std::string problem = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n";
  WriteFile(here, "tiny.toml", kTinyRun);
  const std::string a = WriteFile(here, "a.jsonl", problem), b = WriteFile(here, "b.jsonl", problem + problem);
  ASSERT_EQ(RunSweep(file, directory).exit_code, 0);
  for (const std::vector<std::string>& order : {std::vector<std::string>{a, b}, {b, a}}) {
    const ProcessResult pass = RunVerb("reproduce", {directory, "--quiet", "--data", order[0], "--data=" + order[1]});
    EXPECT_EQ(pass.exit_code, 0) << pass.err;
    EXPECT_THAT(pass.out, HasSubstr("executed again: 00-a.jsonl, 01-b.jsonl (4 steps agree"));
  }
  const std::string run = directory + "/trials/01-b.jsonl/run.h5";
  const std::string c = WriteFile(here, "c.jsonl", problem + "\n" + problem);
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet", "--data", a, "--data", c}),
              FailsWith("reproduce", 64,
                        absl::StrCat(run, ": none of the paths ", a, ", ", c,
                                     " leads to the file of problems that the run has read: give it, too, by --data")));
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet", "--data", a}).exit_code, 64);
  EXPECT_EQ(RunVerb("reproduce", {run, "--quiet", "--data", a, "--data", b}).exit_code, 0) << "a run as well";
  for (const auto& [option, what] :
       std::vector<std::pair<std::string, std::string>>{{"--model", "read a model directory"},
                                                        {"--held-out", "read a file of held-out problems"},
                                                        {"--process-command", "asked an external process"}}) {
    EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet", "--data", a, "--data", b, option, "x"}),
                FailsWith("reproduce", 64, option + ": no trial of the sweep has " + what + ": remove " + option));
  }
}

// Whoever can write to the folder must not lead the sweep out of it, nor stop it without a word.
TEST(SweepFolderTest, LinksAndForeignThingsInTheFolderAreNamedAndNotFollowed) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep", outside = MakeDirectory();
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=1"}).exit_code, 0);
  const auto again = [&] { return RunSweep(file, directory, {"--set", "run.steps=1"}); };
  for (const std::string name : {"trials", "trials/00-grpo-seed1", "watchdog", "sweep.h5", "plan.json"}) {
    const std::string path = directory + "/" + name, kept = directory + ".kept";
    const bool existed = std::filesystem::exists(path);
    if (existed) std::filesystem::rename(path, kept);
    for (const std::string& target : {outside, std::string("nowhere"), name.substr(name.rfind('/') + 1)}) {
      std::filesystem::create_symlink(target, path);
      const ProcessResult result = again();
      EXPECT_EQ(result.exit_code, 64) << result.err;
      EXPECT_THAT(result.err, HasSubstr(path + " is a symbolic link, which is not followed: put in its place"));
      if (target == "nowhere" && (name == "sweep.h5" || name == "plan.json")) {
        EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}).err, HasSubstr(path + " is a symbolic link"));
      }
      std::filesystem::remove(path);
    }
    if (existed) std::filesystem::rename(kept, path);
  }
  EXPECT_TRUE(std::filesystem::is_empty(outside));
  const std::string trial = directory + "/trials/00-grpo-seed1", table = directory + "/sweep.h5";
  std::filesystem::remove_all(trial);
  WriteFile(directory + "/trials", "00-grpo-seed1", "notes");
  EXPECT_THAT(again(),
              FailsWith("sweep", 64, trial + " is no directory, and files are written below it: move it away"));
  std::filesystem::remove(trial);
  std::filesystem::remove(table);
  ASSERT_EQ(mkfifo(table.c_str(), 0600), 0);
  EXPECT_THAT(again(), FailsWith("sweep", 64,
                                 table + " is a pipe, a device or a socket, and a file is written there: move it "
                                         "away"));
  EXPECT_THAT(RunVerb("reproduce", {directory, "--quiet"}),
              FailsWith("reproduce", 65, "cannot read " + table + ": it is not a regular file but a pipe"));
  std::filesystem::remove(table);
  WriteFile(directory, "sweep.h5", "");
  std::filesystem::resize_file(table, uintmax_t{1} << 41);
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).exit_code, 65);
  std::filesystem::remove(directory + "/lock");
  std::filesystem::create_directory(directory + "/lock");
  EXPECT_THAT(again(), FailsWith("sweep", 64,
                                 directory + "/lock is not a regular file of one name: remove it, or move it away"));
  std::filesystem::remove(directory + "/lock");
  ASSERT_EQ(again().exit_code, 0);
  EXPECT_EQ(RunVerb("reproduce", {directory, "--quiet"}).exit_code, 0);
}

TEST(SweepFolderTest, AForgedProblemInThePlanIsRejected) {
  const std::string file = WriteSweep(), directory = MakeDirectory() + "/sweep";
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=1"}).exit_code, 0);
  const std::string plan = Contents(directory + "/plan.json");
  const size_t at = plan.find("\"problem\":\"");
  ASSERT_NE(at, std::string::npos);
  std::string forged = plan;
  forged.replace(at + 11, 12, "0123456789ab");
  std::ofstream(directory + "/plan.json") << forged;
  EXPECT_THAT(RunSweep(file, directory, {"--set", "run.steps=1"}),
              FailsWith("sweep", 65,
                        directory + "/plan.json: the problem of trial 00-grpo-seed1 is not that of its configuration "
                                    "and files, so that the plan was altered; remove it, and the command that started "
                                    "the sweep writes it again"));
  std::filesystem::remove(directory + "/plan.json");
  ASSERT_EQ(RunSweep(file, directory, {"--set", "run.steps=1"}).exit_code, 0) << "as the sentence says";
  EXPECT_EQ(Contents(directory + "/plan.json"), plan);
}

}  // namespace
}  // namespace reprise::testing
