#ifndef PIPELINES_PROGRAM_LONG_EVALUATION_H_
#define PIPELINES_PROGRAM_LONG_EVALUATION_H_

#include <string>

#include "rl/config/config.h"

namespace reprise {

// Returns a message to print before an evaluation of many completions, which shows no progress; "" for fewer. The
// number of problems may come from an untrusted file, and nothing that a run stores bounds it. Pure.
std::string NoteOfLongEvaluation(const rl::EvaluationConfig& evaluation);

}  // namespace reprise

#endif  // PIPELINES_PROGRAM_LONG_EVALUATION_H_
