// compare on real runs.

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/testing/rewrite.h"
#include "gtest/gtest.h"
#include "kernels/contract/numeric_contract.h"
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
  EXPECT_EQ(JsonOf("compare", {TinyFile(), again}, 0)["identical"], true);
}

TEST(CompareTest, EveryDifferingKeyIsListedBeforeTheFirstDifferingStep) {
  const std::string other = TrainTinyRun({"run.seed=2", "optimizer.learning_rate=0.5"}) + "/run.h5";
  const ProcessResult result = RunVerb("compare", {TinyFile(), other});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, StartsWith("differs: optimizer.learning_rate: A 1e-6, B 0.5\n"
                                     "differs: run.seed: A 1, B 2\n"
                                     "first divergence: step 1, tasks, prompt 0 text: A \""));
  const nlohmann::json verdict = JsonOf("compare", {TinyFile(), other}, 1);
  EXPECT_EQ(verdict["identical"], false);
  EXPECT_EQ(verdict["differences"].size(), 2);
  EXPECT_EQ(verdict["first_divergence"]["stage"], "tasks");
}

TEST(CompareTest, RunsOfAnotherNumericContractAreComparedAndNotReproduced) {
  const std::string bytes = RewriteRun(Contents(TinyFile()), [](auto&) {}, kNumericContract - 1).value();
  const std::string other = WriteFile(MakeDirectory(), "run.h5", bytes);
  const ProcessResult result = RunVerb("compare", {TinyFile(), other});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, StartsWith(absl::StrCat("differs: numeric contract: A ", kNumericContract, ", B ",
                                                  kNumericContract - 1, "\n2 steps agree bit for bit\n")));
  EXPECT_THAT(RunVerb("reproduce", {other}),
              FailsWith("reproduce", 65,
                        absl::StrCat(other, ": its numbers follow numeric contract ", kNumericContract - 1,
                                     "; those of this program follow ", kNumericContract,
                                     ", so its bits cannot be reproduced: use a version of Reprise with contract ",
                                     kNumericContract - 1,
                                     " (docs/determinism.md has what each contract changed; execution.jsonl in the "
                                     "run's folder has the \"revision\" that made the run)")));
}

TEST(CompareTest, AChangeOfTheStepSizeFirstShowsInTheWeights) {
  const std::string other =
      TrainTinyRun({"optimizer.learning_rate=0.5", "model.router_aux_loss_coef=0.01"}) + "/run.h5";
  const nlohmann::json first = JsonOf("compare", {TinyFile(), other}, 1)["first_divergence"];
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
