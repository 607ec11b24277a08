// compare on real runs.

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/testing/rewrite.h"
#include "gtest/gtest.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

using ::testing::StartsWith;

const std::string& TinyFile() {
  static const std::string& file = *new std::string(TrainTinyRun() + "/run.h5");
  return file;
}

TEST(CompareTest, EqualRunsAreIdentical) {
  const std::string again = TrainTinyRun({"execution.micro_batch_tokens=8"}) + "/run.h5";
  const ProcessResult result = RunVerb("compare", {TinyFile(), again});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "identical\n");
  EXPECT_EQ(RunForJson("compare", {TinyFile(), again}, 0)["identical"], true);
}

TEST(CompareTest, EveryDifferingKeyIsListedBeforeTheFirstDifferingStep) {
  const std::string other = TrainTinyRun({"run.seed=2", "optimizer.learning_rate=0.5"}) + "/run.h5";
  const ProcessResult result = RunVerb("compare", {TinyFile(), other});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, StartsWith("differs: optimizer.learning_rate: A 1e-6, B 0.5\n"
                                     "differs: run.seed: A 1, B 2\n"
                                     "first divergence: step 1, tasks, prompt 0 text: A \""));
  const nlohmann::json verdict = RunForJson("compare", {TinyFile(), other}, 1);
  EXPECT_EQ(verdict["identical"], false);
  EXPECT_EQ(verdict["differences"].size(), 2);
  EXPECT_EQ(verdict["first_divergence"]["stage"], "tasks");
}

TEST(CompareTest, RunsOfAnotherNumericContractAreRejectedByEveryVerb) {
  const std::string other = WriteFile(MakeDirectory(), "run.h5", OfNextContract(Contents(TinyFile())));
  const std::string sentence = absl::StrCat(
      other, ": it has numeric contract 2; this program reads contract 1: use the version of Reprise that wrote it, ",
      "whose \"revision\" is in the run's execution.jsonl");
  EXPECT_THAT(RunVerb("compare", {TinyFile(), other}), FailsWith("compare", 65, sentence));
  EXPECT_THAT(RunVerb("export", {other, "--output", MakeDirectory()}), FailsWith("export", 65, sentence));
  for (const char* verb : {"inspect", "evaluate", "reproduce"}) {
    EXPECT_THAT(RunVerb(verb, {other}), FailsWith(verb, 65, sentence));
  }
}

TEST(CompareTest, AChangeOfTheStepSizeFirstShowsInTheWeights) {
  const std::string other =
      TrainTinyRun({"optimizer.learning_rate=0.5", "model.router_aux_loss_coef=0.01"}) + "/run.h5";
  const nlohmann::json first = RunForJson("compare", {TinyFile(), other}, 1)["first_divergence"];
  EXPECT_EQ(first["step"], 1);
  EXPECT_EQ(first["stage"], "weights");
  EXPECT_EQ(first["tensor"], "model.embed_tokens.weight");
}

TEST(CompareTest, RunsOfDifferentLengthAreComparedAsFarAsBothGo) {
  const std::string constant = "optimizer.schedule=constant", often = "artifact.checkpoint_every=1";
  const std::string shorter = TrainTinyRun({constant, often}) + "/run.h5";
  const std::string longer = TrainTinyRun({constant, often, "run.steps=3"}) + "/run.h5";
  const ProcessResult result = RunVerb("compare", {shorter, longer});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "differs: run.steps: A 2, B 3\n2 steps agree bit for bit; A ends at step 2, B at step 3\n");
}

TEST(CompareTest, AKeyThatChangesNoStepStillDiffers) {
  const std::string other = TrainTinyRun({"artifact.checkpoint_every=0"}) + "/run.h5";
  const ProcessResult result = RunVerb("compare", {TinyFile(), other});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out,
            "differs: artifact.checkpoint_every: A 1, B 0\n"
            "differs: artifact.keep_checkpoints: A 0, B (not read)\n"
            "2 steps agree bit for bit; checkpoint of step 1, weights: only A holds it\n");
}

TEST(CompareTest, FilesWithOtherDigestsAreNotIdentical) {
  const std::string bytes = Contents(TinyFile());
  const RunReader run = RunReader::Open(PosixFileSystem(), TinyFile()).value();
  const std::string other =
      WriteFile(MakeDirectory(), "run.h5", WithConfigText(bytes, "# a comment\n" + run.header().config_text).value());
  const ProcessResult result = RunVerb("compare", {TinyFile(), other});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("2 steps agree bit for bit; the run digests: sha256:"));
}

}  // namespace
}  // namespace reprise::testing
