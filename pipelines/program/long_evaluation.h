#ifndef PIPELINES_PROGRAM_LONG_EVALUATION_H_
#define PIPELINES_PROGRAM_LONG_EVALUATION_H_

#include <string>

#include "rl/config/config.h"

namespace reprise {

// Returns what a person is told before an evaluation that takes long, of which nothing else is shown before its end;
// "" for a usual one. Nothing that a run stores bounds the number, which may come from an untrusted file. Pure.
std::string NoteOfLongEvaluation(const rl::EvaluationConfig& evaluation);

}  // namespace reprise

#endif  // PIPELINES_PROGRAM_LONG_EVALUATION_H_
