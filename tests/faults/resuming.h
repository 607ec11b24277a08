#ifndef TESTS_FAULTS_RESUMING_H_
#define TESTS_FAULTS_RESUMING_H_

// Expectations on a small run that was killed and resumed.

#include <string>
#include <vector>

#include "tests/faults/injection.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {

// Resumes the run in `directory` with `train --resume` and the injection. If the run was killed before it claimed its
// directory, there is nothing to resume, and a new run is started.
SmallRun Resume(const std::string& directory, const SmallRunOptions& options = {}, const Injection& injection = {});

// Returns the path of a copy of a run's directory: one killed run serves several trials.
std::string CopyDirectory(const std::string& directory);

// Fails the test unless the run succeeded and printed the digests of `undisturbed`, and its directory holds the same
// files with the same bytes: run.h5, model/, and metrics.jsonl except for its times. Only execution.jsonl records the
// interruption.
void ExpectEndsAs(const SmallRun& run, const SmallRun& undisturbed);

// Kills the run at `injection`, resumes it on `ranks_after` ranks, and expects the end of the undisturbed run with the
// same flags. Removes the directory afterwards.
void ExpectSurvives(const Injection& injection, const SmallRunOptions& options, const SmallRun& undisturbed,
                    int ranks_after = 1);

// Returns an injection of SIGKILL before call `call`; with `torn`, a write has written half of its bytes by then.
Injection KillAt(int64_t call, bool torn);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_RESUMING_H_
