#ifndef RL_RECORD_COMPLETIONS_RECORD_TESTING_H_
#define RL_RECORD_COMPLETIONS_RECORD_TESTING_H_

// Compares records of completions, for tests.

#include <optional>
#include <string>
#include <vector>

#include "rl/record/completions/record_streams.h"
#include "rl/record/divergence.h"

namespace reprise::rl {

// Returns the form of a run with such steps.
RecordForm FormOfRecord(const StepRecord& record);

// Compares the tables of two records.
std::optional<Divergence> FirstDivergence(const StepRecord& stored, const StepRecord& computed,
                                          const std::vector<std::string>& tensor_names);

}  // namespace reprise::rl

#endif  // RL_RECORD_COMPLETIONS_RECORD_TESTING_H_
