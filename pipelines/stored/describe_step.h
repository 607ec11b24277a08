#ifndef PIPELINES_STORED_DESCRIBE_STEP_H_
#define PIPELINES_STORED_DESCRIBE_STEP_H_

// Describes one step of a run, and one of its completions, as text and as JSON.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "pipelines/stored/token_text.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"
#include "rl/record/step_tables.h"

namespace reprise {

// Tasks with their completions, rewards and advantages; then the metrics. Completions are numbered over the step, as
// for `inspect --completion`.
std::string DescribeStep(const rl::StepRecord& record, const TokenText& text);
nlohmann::ordered_json StepJson(const rl::StepRecord& record, const TokenText& text);

// A few completions of a training step, the first of its first tasks: `"abcd" -> "dcba"  reward 1.000`, one per line.
std::vector<std::string> SampleLines(const rl::StepRecord& record, const TokenText& text);
// The same of a run's step; none where it has no completions.
absl::StatusOr<std::vector<std::string>> SampleLines(const rl::Config& config, const rl::StepTables& step,
                                                     const TokenText& text);

// A completion's tokens with their log-probabilities. `index` is one of record.episode_N (checked).
std::string DescribeCompletion(const rl::StepRecord& record, int64_t index, const TokenText& text);
nlohmann::ordered_json CompletionJson(const rl::StepRecord& record, int64_t index, const TokenText& text);

}  // namespace reprise

#endif  // PIPELINES_STORED_DESCRIBE_STEP_H_
