#include "data/artifact/testing/crash_trial.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/status/check.h"

namespace reprise::testing {
namespace {

// Calls `visit` at every point that `run` reaches in the wreck's file system. Returns the number of points.
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

// Adds the names and contents of `directory`, without the numbers in temporary names.
void Describe(FakeFileSystem& files, const std::string& directory, std::vector<std::string>& entries) {
  const auto names = files.List(directory);
  if (!names.ok()) return;
  entries.push_back(absl::StrCat(directory, "/"));
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    if (files.Stat(path)->is_directory) {
      Describe(files, path, entries);
    } else {
      const std::string final_name = absl::StrCat(FinalName(path), IsTemporaryName(path) ? ".tmp" : "");
      entries.push_back(absl::StrCat(final_name, " ", ToHex(Sha256(ReadFile(files, path, int64_t{1} << 30).value()))));
    }
  }
}

// Returns the digest of all that the next process and its verdict depend on.
Digest DigestOf(const Wreck& wreck) {
  std::vector<std::string> entries;
  Describe(*wreck.files, "run", entries);
  std::sort(entries.begin(), entries.end());  // the numbers in temporary names have decided the order
  const Promise& promise = wreck.promise;
  entries.push_back(absl::StrCat(promise.has_begun, " ", promise.is_finished, " ", promise.step));
  for (const auto& [step, group] : promise.checkpoints) entries.push_back(absl::StrCat(step, " ", group));
  Sha256Stream digest;
  for (const std::string& entry : entries) digest.Update(absl::StrCat(entry, "\n"));
  return digest.Current();
}

}  // namespace

std::string CrashTrial::Point::ToString() const {
  return absl::StrCat(is_in_write_ ? "in call " : "before call ", files_.calls(), ", after ",
                      files_.log().empty() ? "none" : files_.log().back());
}

CrashTrial::CrashTrial(Scenario scenario)
    : scenario_(std::move(scenario)), prepared_{std::make_unique<FakeFileSystem>(), {}} {
  if (scenario_.prepare != nullptr) {
    CHECK_EQ(scenario_.prepare(*prepared_.files, prepared_.promise).ToString(), "OK");
  }
  Wreck wreck = Prepared();
  CHECK_EQ(RunProcesses(scenario_, *wreck.files, wreck.promise).ToString(), "OK");
  contents_ = ContentsOf(*wreck.files);
}

Wreck CrashTrial::Prepared() const { return {prepared_.files->Copy(), prepared_.promise}; }

int64_t CrashTrial::VisitAll(const Visit& visit) const {
  Wreck wreck = Prepared();
  return Visited(wreck, visit, [&] { return RunProcesses(scenario_, *wreck.files, wreck.promise); });
}

int64_t CrashTrial::VisitRecovery(Wreck wreck, const Visit& visit) const {
  return Visited(wreck, visit, [&] { return scenario_.recover(*wreck.files, wreck.promise); });
}

::testing::AssertionResult CrashTrial::EndsRight(Wreck wreck) const {
  const Digest digest = DigestOf(wreck);
  if (ended_right_.contains(digest)) return ::testing::AssertionSuccess();
  const absl::Status status = scenario_.recover(*wreck.files, wreck.promise);
  if (!status.ok()) return ::testing::AssertionFailure() << scenario_.name << ": " << status;
  ::testing::AssertionResult result = IsRight(*wreck.files);
  if (result) ended_right_.insert(digest);
  return result;
}

::testing::AssertionResult CrashTrial::IsRight(FakeFileSystem& files) const {
  for (const auto& [path, bytes] : ContentsOf(files)) {
    if (!contents_.contains(path)) return ::testing::AssertionFailure() << scenario_.name << ": unexpected " << path;
  }
  return HasAllFiles(files);
}

::testing::AssertionResult CrashTrial::HasAllFiles(FakeFileSystem& files) const {
  const Contents contents = ContentsOf(files);
  for (const auto& [path, bytes] : contents_) {
    const auto found = contents.find(path);
    if (found == contents.end()) return ::testing::AssertionFailure() << scenario_.name << ": missing " << path;
    if (found->second != bytes) return ::testing::AssertionFailure() << scenario_.name << ": other bytes in " << path;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace reprise::testing
