#include "data/artifact/crash_trial.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"

namespace reprise::testing {
namespace {

// Calls `visit` at every point that `files` goes through until the result is destroyed.
int64_t Visited(Wreck& wreck, const CrashTrial::Visit& visit, const std::function<absl::Status()>& run) {
  int64_t points = 0;
  wreck.files->Watch([&](bool is_in_write) {
    ++points;
    visit({*wreck.files, wreck.promise, is_in_write});
  });
  const absl::Status status = run();
  EXPECT_TRUE(status.ok()) << status;
  return points;
}

}  // namespace

std::string CrashTrial::Point::ToString() const {
  return absl::StrCat(is_in_write_ ? "in call " : "before call ", files_.calls(), ", after ",
                      files_.log().empty() ? "none" : files_.log().back());
}

CrashTrial::CrashTrial(Scenario scenario) : scenario_(std::move(scenario)) {
  Wreck wreck = Prepared();
  const absl::Status status = Run(scenario_, *wreck.files, wreck.promise);
  CHECK_EQ(status.ToString(), "OK");
  contents_ = ContentsOf(*wreck.files);
}

Wreck CrashTrial::Prepared() const {
  Wreck wreck = {std::make_unique<FakeFileSystem>(), {}};
  if (scenario_.prepare != nullptr) {
    const absl::Status status = scenario_.prepare(*wreck.files, wreck.promise);
    CHECK_EQ(status.ToString(), "OK");
  }
  return wreck;
}

int64_t CrashTrial::VisitAll(const Visit& visit) const {
  Wreck wreck = Prepared();
  return Visited(wreck, visit, [&] { return Run(scenario_, *wreck.files, wreck.promise); });
}

int64_t CrashTrial::VisitRecovery(Wreck wreck, const Visit& visit) const {
  return Visited(wreck, visit, [&] { return scenario_.recover(*wreck.files, wreck.promise); });
}

::testing::AssertionResult CrashTrial::EndsRight(Wreck wreck) const {
  const absl::Status status = scenario_.recover(*wreck.files, wreck.promise);
  if (!status.ok()) return ::testing::AssertionFailure() << scenario_.name << ": " << status;
  return IsRight(*wreck.files);
}

::testing::AssertionResult CrashTrial::IsRight(FakeFileSystem& files) const {
  const Contents contents = ContentsOf(files);
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

}  // namespace reprise::testing
