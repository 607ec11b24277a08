#ifndef TESTS_FAULTS_MUTANTS_SUBJECTS_H_
#define TESTS_FAULTS_MUTANTS_SUBJECTS_H_

// Files of a run that the tests corrupt.

#include <string>
#include <vector>

namespace reprise::testing {

// Returns run.h5 of a small run with checkpoints, some inside it and some in separate files. `steps` is at least 2.
std::string ExampleRunFile(int64_t steps);

// Returns the largest segment of such a run before its end.
std::string ExampleSegment(int64_t steps);

// Returns the journals of a run that three processes wrote one after the other, each continuing from the middle of the
// previous journal. journals[i] is that of epoch i + 1.
std::vector<std::string> ExampleJournals();

}  // namespace reprise::testing

#endif  // TESTS_FAULTS_MUTANTS_SUBJECTS_H_
