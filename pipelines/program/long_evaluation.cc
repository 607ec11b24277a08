#include "pipelines/program/long_evaluation.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace reprise {
namespace {

constexpr int64_t kManyCompletions = 100'000;

}  // namespace

// A file of problems may have fewer.
std::string NoteOfLongEvaluation(const rl::EvaluationConfig& evaluation) {
  const int64_t of_each = evaluation.num_generations + 1;  // and a greedy one
  if (evaluation.num_prompts * of_each < kManyCompletions) return "";
  return absl::StrCat("an evaluation has up to ", evaluation.num_prompts, " problems, and ", evaluation.num_generations,
                      " samples of each: nothing is shown before its end");
}

}  // namespace reprise
