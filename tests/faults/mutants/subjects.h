#ifndef TESTS_FAULTS_MUTANTS_SUBJECTS_H_
#define TESTS_FAULTS_MUTANTS_SUBJECTS_H_

// Files of a run, to be damaged.

#include <string>
#include <vector>

namespace reprise::testing {

// run.h5 of a small run with checkpoints, some within it and some beside it. `steps` at least 2.
std::string ExampleRunFile(int64_t steps);

// The largest segment of such a run before its end.
std::string ExampleSegment(int64_t steps);

// The journals of a run that three processes wrote one after the other, each going on from the middle of the one
// before: journals[i] is that of epoch i + 1.
std::vector<std::string> ExampleJournals();

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_MUTANTS_SUBJECTS_H_
