#ifndef DATA_ARTIFACT_CRASH_TRIAL_H_
#define DATA_ARTIFACT_CRASH_TRIAL_H_

// Stops a scenario's processes at one call, in one of several ways, and judges what the next process makes of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/io/fake_file_system.h"
#include "data/artifact/run_scenario.h"
#include "gtest/gtest.h"

namespace reprise::testing {

// What happens before call number `call`, counted from the first of the process that it happens to.
struct Crash {
  int64_t call = 0;
  bool is_torn = false;      // the call, a write, does half of it
  bool loses_power = false;  // the strict way; else the process alone dies

  std::string ToString() const;
};

class CrashTrial {
 public:
  explicit CrashTrial(Scenario scenario);

  const Scenario& scenario() const { return scenario_; }
  // The calls of the undisturbed scenario.
  const std::vector<std::string>& calls() const { return calls_; }
  // Every kill point: before each call, and in the middle of each write.
  std::vector<Crash> Kills() const;

  // A machine that crashed, and what its processes had been promised.
  struct Wreck {
    std::unique_ptr<FakeFileSystem> files;
    Promise promise;
  };
  // A new machine whose processes were stopped. Power is not lost yet, whatever the crash says.
  Wreck Stop(const Crash& crash) const;

  // Lets the next process, which is stopped by `crash` if there is one, go on. Returns whether it was stopped.
  bool Recover(Wreck& wreck, const std::optional<Crash>& crash = std::nullopt) const;

  // Success if the next process keeps every promise and ends with the files of the undisturbed scenario.
  ::testing::AssertionResult EndsRight(Wreck& wreck) const;

 private:
  std::unique_ptr<FakeFileSystem> Prepared(Promise& promise) const;

  Scenario scenario_;
  std::vector<std::string> calls_;
  Contents contents_;  // in the end
};

// Loses power if the crash is one that does, and starts the machine again.
void Restart(const Crash& crash, FakeFileSystem& files);

}  // namespace reprise::testing

#endif  // DATA_ARTIFACT_CRASH_TRIAL_H_
