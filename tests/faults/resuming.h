#ifndef TESTS_FAULTS_RESUMING_H_
#define TESTS_FAULTS_RESUMING_H_

// What must hold after a small run was killed and taken up again.

#include <string>
#include <vector>

#include "tests/faults/injection.h"
#include "tests/faults/small_run.h"

namespace reprise::testing {

// Takes up the run in `directory` with `train --resume`, under another injection perhaps. Where a run died before its
// directory was claimed there is none to take up, and it is begun again.
SmallRun Resume(const std::string& directory, const SmallRunOptions& options = {}, const Injection& injection = {});

// Fails the test unless the run ended well and told the digests of `undisturbed`, and its directory holds the same
// files with the same bytes: run.h5, model/, metrics.jsonl but for its times. Only execution.jsonl tells of the
// interruption.
void ExpectEndsAs(const SmallRun& run, const SmallRun& undisturbed);

// Kills the run at `injection`, takes it up, and expects the end of the undisturbed run with the same flags. The
// directory is removed then.
void ExpectSurvives(const Injection& injection, const SmallRunOptions& options, const SmallRun& undisturbed,
                    int ranks_after = 1);

// SIGKILL before call `call`; with `torn` a write has written half.
Injection KillAt(int64_t call, bool torn);

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_RESUMING_H_
