#include "data/artifact/crash_trial.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"

namespace reprise::testing {

std::string Crash::ToString() const {
  return absl::StrCat(loses_power ? "power lost" : "killed", is_torn ? " in call " : " before call ", call);
}

CrashTrial::CrashTrial(Scenario scenario) : scenario_(std::move(scenario)) {
  Promise promise;
  const std::unique_ptr<FakeFileSystem> files = Prepared(promise);
  const size_t begin = files->log().size();
  const absl::Status status = Run(scenario_, *files, promise);
  CHECK_EQ(status.ToString(), "OK");
  calls_.assign(files->log().begin() + static_cast<ptrdiff_t>(begin), files->log().end());
  contents_ = ContentsOf(*files);
}

std::unique_ptr<FakeFileSystem> CrashTrial::Prepared(Promise& promise) const {
  auto files = std::make_unique<FakeFileSystem>();
  if (scenario_.prepare != nullptr) {
    const absl::Status status = scenario_.prepare(*files, promise);
    CHECK_EQ(status.ToString(), "OK");
  }
  return files;
}

std::vector<Crash> CrashTrial::Kills() const {
  std::vector<Crash> kills;
  for (size_t call = 0; call < calls_.size(); ++call) {
    kills.push_back({.call = static_cast<int64_t>(call)});
    if (absl::StartsWith(calls_[call], "write "))
      kills.push_back({.call = static_cast<int64_t>(call), .is_torn = true});
  }
  return kills;
}

CrashTrial::Wreck CrashTrial::Stop(const Crash& crash) const {
  Wreck wreck;
  wreck.files = Prepared(wreck.promise);
  wreck.files->Kill(wreck.files->calls() + crash.call, crash.is_torn);
  const absl::Status status = Run(scenario_, *wreck.files, wreck.promise);
  EXPECT_TRUE(absl::IsAborted(status)) << scenario_.name << ", " << crash.ToString() << ": " << status;
  return wreck;
}

bool CrashTrial::Recover(Wreck& wreck, const std::optional<Crash>& crash) const {
  if (crash.has_value()) wreck.files->Kill(wreck.files->calls() + crash->call, crash->is_torn);
  const absl::Status status = scenario_.recover(*wreck.files, wreck.promise);
  EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << scenario_.name << ": " << status;
  return !status.ok();
}

::testing::AssertionResult CrashTrial::EndsRight(Wreck& wreck) const {
  const absl::Status status = scenario_.recover(*wreck.files, wreck.promise);
  if (!status.ok()) return ::testing::AssertionFailure() << scenario_.name << ": " << status;
  const Contents contents = ContentsOf(*wreck.files);
  if (contents == contents_) return ::testing::AssertionSuccess();
  ::testing::AssertionResult result = ::testing::AssertionFailure() << scenario_.name << ": other files in the end:";
  for (const auto& [path, bytes] : contents) {
    const auto expected = contents_.find(path);
    if (expected == contents_.end()) result << " unexpected " << path;
    if (expected != contents_.end() && expected->second != bytes) result << " other bytes in " << path;
  }
  for (const auto& [path, bytes] : contents_) {
    if (!contents.contains(path)) result << " missing " << path;
  }
  return result;
}

void Restart(const Crash& crash, FakeFileSystem& files) {
  if (crash.loses_power) {
    files.LosePower();
  } else {
    files.Restart();
  }
}

}  // namespace reprise::testing
