#ifndef DATA_ARTIFACT_TESTING_RUN_SCENARIO_H_
#define DATA_ARTIFACT_TESTING_RUN_SCENARIO_H_

// The actions of processes on a run's directory, for tests that stop them at every call. A scenario records what was
// reported to its processes as durable, and defines how the next process continues. In every case the directory must
// end with the same files.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/io/file_system.h"
#include "data/artifact/run_writer.h"

namespace reprise::testing {

// A small run: its configuration and its length.
struct RunPlan {
  std::string config = "[run]\nseed = 1\n";
  int64_t steps = 5;
  int64_t steps_per_segment = 2;
  int64_t steps_per_checkpoint = 2;
  int64_t keep_checkpoints = 0;
};

RunHeader HeaderOf(const RunPlan& plan);
RunWriterOptions OptionsOf(const RunPlan& plan);

// The data that is durable according to calls that returned OK.
struct Promise {
  bool has_begun = false, is_finished = false;
  int64_t step = -1;
  std::set<std::pair<int64_t, std::string>> checkpoints;
};

// Writes the plan's steps after last_step(), up to `last`, and the missing checkpoints.
absl::Status WriteSteps(const RunPlan& plan, int64_t last, RunWriter& writer, Promise& promise);
// Writes the rest of the plan, and run.h5.
absl::Status WriteRest(const RunPlan& plan, RunWriter& writer, Promise& promise);
// Returns DataLoss if the writer has less than was promised.
absl::Status CheckPromise(const RunWriter& writer, const Promise& promise);
// Completes the plan's run in "run", as a user would: starts, resumes or tidies it.
absl::Status ResumePoint(FileSystem& files, const RunPlan& plan, Promise& promise);

struct Scenario {
  using Process = std::function<absl::Status(FileSystem& files, Promise& promise)>;

  std::string name;
  Process prepare;  // runs undisturbed; may be null
  std::vector<Process> processes;
  Process recover;  // resumes from any state that the others have left, and completes the run
};

// Runs the scenario's processes one after the other, and stops at the first error.
absl::Status RunProcesses(const Scenario& scenario, FileSystem& files, Promise& promise);

// The contents of every file in "run", by path.
using Contents = std::map<std::string, std::string>;
Contents ContentsOf(FileSystem& files);

// Returns scenarios of runs with `steps` steps: one process; a run resumed twice; one rewritten; one tidied; and one
// resumed twice that keeps only its newest checkpoint.
std::vector<Scenario> AllScenarios(int64_t steps);
// Returns the scenario of a rewritten run that, like the original run, keeps only its newest checkpoint.
Scenario RewrittenKeepingOne(int64_t steps);

}  // namespace reprise::testing

#endif  // DATA_ARTIFACT_TESTING_RUN_SCENARIO_H_
