#ifndef DATA_ARTIFACT_TESTING_CRASH_TRIAL_H_
#define DATA_ARTIFACT_TESTING_CRASH_TRIAL_H_

// Stops a scenario's processes at every point, and checks the result of the next process.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/digest/sha256.h"
#include "core/io/fake_file_system.h"
#include "data/artifact/testing/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {

// The files after the processes were killed, and what had been reported to them as durable.
struct Wreck {
  std::unique_ptr<FakeFileSystem> files;
  Promise promise;
};

class CrashTrial {
 public:
  // Runs the scenario once, undisturbed, to record the files that it ends with.
  explicit CrashTrial(Scenario scenario);

  // A point at which the processes may be killed: before a call, or in the middle of a write.
  class Point {
   public:
    Point(const FakeFileSystem& files, const Promise& promise, bool is_in_write)
        : files_(files), promise_(promise), is_in_write_(is_in_write) {}

    Wreck Kill() const { return {files_.Copy(), promise_}; }
    // Names the call after the point, or the call that it is in, counted over all calls of the file system.
    std::string ToString() const;

   private:
    const FakeFileSystem& files_;
    const Promise& promise_;
    const bool is_in_write_;
  };
  using Visit = std::function<void(const Point& point)>;

  // Visits every point of the scenario's processes. Returns how many there are.
  int64_t VisitAll(const Visit& visit) const;
  // Visits every point of the process that resumes from the wreck. Returns how many there are.
  int64_t VisitRecovery(Wreck wreck, const Visit& visit) const;

  // Returns success if the next process keeps every promise and ends with the files of the undisturbed scenario. What
  // it does depends on nothing but the files' names and contents and on what was promised: it is executed once for
  // equal ones.
  ::testing::AssertionResult EndsRight(Wreck wreck) const;
  // Returns how many different wrecks have ended right.
  int64_t judged() const { return static_cast<int64_t>(ended_right_.size()); }
  // Returns success if the files, after another process has finished the run, are those of the undisturbed scenario.
  ::testing::AssertionResult IsRight(FakeFileSystem& files) const;
  // Returns the same, but allows additional files.
  ::testing::AssertionResult HasAllFiles(FakeFileSystem& files) const;

  const Scenario& scenario() const { return scenario_; }
  // Returns the file system as it is before the scenario's first process.
  Wreck Prepared() const;

 private:
  Scenario scenario_;
  Wreck prepared_;
  Contents contents_;                     // of the undisturbed scenario's files at its end
  mutable std::set<Digest> ended_right_;  // of wrecks
};

}  // namespace reprise::testing

#endif  // DATA_ARTIFACT_TESTING_CRASH_TRIAL_H_
