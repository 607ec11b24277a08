// Errors for runs that are missing or damaged, and for outputs that cannot be written.

#include <filesystem>

#include "core/testing/sanitizers.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

const std::string& TinyRun() {
  static const std::string& directory = *new std::string(TrainTinyRun());
  return directory;
}

// Returns the verbs that read a run, with their arguments.
std::vector<std::pair<std::string, std::vector<std::string>>> ReadingVerbs(const std::string& file) {
  return {{"reproduce", {file}},
          {"inspect", {file}},
          {"compare", {file, file}},
          {"export", {file, "--output", UniqueTemporaryPath()}}};
}

void ExpectAllFail(const std::string& file, int code, const std::string& message) {
  for (const auto& [verb, arguments] : ReadingVerbs(file)) {
    EXPECT_THAT(RunVerb(verb, arguments), FailsWith(verb, code, message));
  }
}

TEST(BadRunTest, AMissingFileIsNamed) {
  const std::string file = MakeDirectory() + "/run.h5";
  ExpectAllFail(file, 64, "cannot find " + file + ": No such file or directory");
}

TEST(BadRunTest, AFlippedBitIsNoticed) {
  std::string bytes = Contents(TinyRun() + "/run.h5");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  const std::string file = WriteFile(MakeDirectory(), "run.h5", bytes);
  ExpectAllFail(file, 65, file + ": it is damaged: its contents do not have the SHA-256 that it states");
}

TEST(BadRunTest, ATruncatedFileIsNoticed) {
  const std::string bytes = Contents(TinyRun() + "/run.h5");
  const std::string file = WriteFile(MakeDirectory(), "run.h5", bytes.substr(0, bytes.size() - 7));
  ExpectAllFail(file, 65,
                file + ": it was truncated: it has " + std::to_string(bytes.size() - 7) + " bytes instead of " +
                    std::to_string(bytes.size()));
}

TEST(BadRunTest, AnotherKindOfFileIsNoticed) {
  const std::string file = WriteFile(MakeDirectory(), "run.h5", "hello");
  ExpectAllFail(file, 65, file + ": it is not a run file: it does not begin with \"reprise run\"");
}

ProcessResult TrainInto(const std::string& output) {
  return RunVerb("train", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--output", output, "--quiet"});
}

TEST(OutputTest, ADirectoryWithARunIsNotOverwritten) {
  const std::string before = Contents(TinyRun() + "/run.h5");
  EXPECT_THAT(
      TrainInto(TinyRun()),
      FailsWith(
          "train", 64,
          TinyRun() + " already holds a run (run.h5): choose another directory, remove it, or resume it (--resume)"));
  EXPECT_EQ(Contents(TinyRun() + "/run.h5"), before);
}

// The files of two runs are never mixed in model/ or metrics.jsonl: train reports the conflict before its first step.
TEST(OutputTest, OtherFilesOfARunAreNotOverwrittenEither) {
  const std::string directory = TrainTinyRun();
  std::filesystem::remove(directory + "/run.h5");
  std::filesystem::remove_all(directory + "/checkpoints");
  const std::string message =
      directory + " already holds a run (model): choose another directory, remove it, or resume it (--resume)";
  EXPECT_THAT(TrainInto(directory), FailsWith("train", 64, message));
  const ProcessResult check = RunVerb("train", {WriteFile(MakeDirectory(), "run.toml", kTinyRun), "--output", directory,
                                                "--check", "--ranks-to-start", "2"});
  EXPECT_THAT(check, FailsWith("train", 64, message));
}

TEST(OutputTest, OutputThatCannotBePrintedIsAnError) {
  for (const std::string verb : {"inspect", "reproduce"}) {
    const ProcessResult result =
        RunProcess({"/bin/sh", "-c", "pipelines/" + verb + " " + TinyRun() + "/run.h5 >/dev/full"}, {});
    EXPECT_EQ(result.exit_code, 74) << verb << result.err;
    EXPECT_THAT(result.err, ::testing::HasSubstr("cannot write to the standard output: No space left on device"));
  }
}

TEST(OutputTest, TooLittleMemoryIsReportedWithoutACrash) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs the address space that this limits";
  const std::string output = UniqueTemporaryPath();
  // The weights fit, and a step does not.
  const ProcessResult result = RunProcess(
      {"/bin/sh", "-c",
       "ulimit -v 400000; exec " + std::string("pipelines/train ") + WriteFile(MakeDirectory(), "run.toml", kTinyRun) +
           " --output " + output + " --quiet --set model.hidden_size=512 --set model.intermediate_size=512"},
      {});
  EXPECT_EQ(result.exit_code, 74) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr("out of memory"));
}

// A program is not to end by a signal at the end of its stack.
TEST(OutputTest, AStackThatIsTooSmallIsASentence) {
  if (kHasShadowMemory || kHasThreadSanitizer) GTEST_SKIP() << "the sanitizer needs more stack before main";
  for (const char* verb : {"train", "inspect", "compare"}) {
    const ProcessResult result =
        RunProcess({"/bin/sh", "-c", "ulimit -s 512; exec pipelines/" + std::string(verb) + " x y"}, {});
    EXPECT_EQ(result.exit_code, 75) << result.err;
    EXPECT_EQ(result.err,
              "reprise: error: the limit of the stack is less than 1 MiB: raise it, as by ulimit -s 8192\n");
  }
}

TEST(OutputTest, AFileThatExceedsTheSizeLimitIsNamed) {
  if (kHasThreadSanitizer) GTEST_SKIP() << "the sanitizer writes a file, which this limits";
  const std::string output = UniqueTemporaryPath();
  const ProcessResult result =
      RunProcess({"/bin/sh", "-c",
                  "ulimit -f 16; exec pipelines/train " + WriteFile(MakeDirectory(), "run.toml", kTinyRun) +
                      " --output " + output + " --quiet"},
                 {});
  EXPECT_EQ(result.exit_code, 74) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr("cannot write " + output + "/segments/E0001-000000.h5"));
  EXPECT_THAT(result.err, ::testing::HasSubstr("File too large"));
}

// Permissions do not stop root, but not even root can create a directory below a file.
TEST(OutputTest, ADirectoryThatCannotBeCreatedIsNamed) {
  const std::string file = WriteFile(MakeDirectory(), "file", "");
  const std::string sentence =
      "cannot create the directory " + file + ": it is a file; move it away, or choose another path";
  EXPECT_THAT(TrainInto(file + "/run"), FailsWith("train", 64, sentence));
  EXPECT_THAT(RunVerb("export", {TinyRun() + "/run.h5", "--output", file + "/model"}),
              FailsWith("export", 64, sentence));
}

TEST(OutputTest, AModelIsNotWrittenOverAnother) {
  const std::string model = TinyRun() + "/model";
  EXPECT_THAT(RunVerb("export", {TinyRun() + "/run.h5", "--output", model}),
              FailsWith("export", 64, model + "/config.json exists; export to an empty directory"));
}

TEST(ExportTest, AMissingCheckpointIsReportedWithTheExistingOnes) {
  const std::string file = TinyRun() + "/run.h5";
  EXPECT_THAT(RunVerb("export", {file, "--step", "7", "--output", UniqueTemporaryPath()}),
              FailsWith("export", 64,
                        file + ": the run holds no checkpoint of step 7, only of steps 1, 2; "
                               "artifact.checkpoint_every keeps more of them"));
}

TEST(InspectTest, AMissingStepOrCompletionIsReportedWithTheLastOne) {
  const std::string file = TinyRun() + "/run.h5";
  EXPECT_THAT(RunVerb("inspect", {file, "--step", "9"}),
              FailsWith("inspect", 64, file + ": the run holds no training step 9; the last one is 2"));
  EXPECT_THAT(RunVerb("inspect", {file, "--step", "1", "--completion", "16"}),
              FailsWith("inspect", 64, file + ": step 1 has 16 completions, from 0 on; there is no 16"));
  EXPECT_THAT(RunVerb("inspect", {file, "--completion", "0"}),
              FailsWith("inspect", 64, "--completion requires --step (./reprise inspect --help explains)"));
}

}  // namespace
}  // namespace reprise::testing
