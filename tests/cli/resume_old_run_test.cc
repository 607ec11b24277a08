// A run that was started before Reprise checked for unread keys is resumed with a warning; a new one is refused.

#include <string>

#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/config/load.h"
#include "rl/run/artifact_sink.h"
#include "rl/run/prepare.h"
#include "tests/cli/cli.h"

namespace reprise::testing {
namespace {

constexpr char kUnread[] =
    "warm_up.learning_rate is set, but nothing would read it: it needs warm_up.steps above 0; or remove it";

std::string RunText() { return absl::StrCat(kTinyRun, "[warm_up]\nlearning_rate = 2e-3\n"); }

// Creates a run without steps.
void Begin(const std::string& text, const std::string& directory) {
  ASSERT_OK_AND_ASSIGN(const rl::ResolvedConfig resolved, rl::LoadConfig(text, "run.toml", {}));
  ASSERT_OK_AND_ASSIGN(const rl::RunParts parts, rl::PrepareRun(resolved.config));
  ASSERT_OK(RunWriter::Create(PosixFileSystem(), directory, rl::HeaderOf(resolved.config, parts),
                              rl::WriterOptionsOf(resolved.config))
                .status());
}

TEST(ResumeOldRunTest, AKeyThatNothingReadsGivesOneWarningAndTheRunIsFinished) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", RunText());
  ASSERT_NO_FATAL_FAILURE(Begin(RunText(), directory + "/run"));
  const ProcessResult result = RunVerb("train", {config, "--output", directory + "/run", "--quiet", "--resume"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, std::string("warning: ") + kUnread + "\n");
  EXPECT_EQ(RunVerb("reproduce", {directory + "/run/run.h5", "--quiet"}).exit_code, 0);
}

TEST(ResumeOldRunTest, ANewRunWithSuchAKeyIsRefused) {
  const std::string directory = MakeDirectory(), config = WriteFile(directory, "run.toml", RunText());
  EXPECT_THAT(RunVerb("train", {config, "--output", directory + "/run"}), FailsWith("train", 64, kUnread));
  EXPECT_THAT(RunVerb("validate", {config}), FailsWith("validate", 64, kUnread));
}

}  // namespace
}  // namespace reprise::testing
