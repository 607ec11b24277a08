#ifndef PIPELINES_STORED_DESCRIBE_RUN_H_
#define PIPELINES_STORED_DESCRIBE_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "pipelines/stored/stored_run.h"
#include "pipelines/stored/token_text.h"

namespace reprise {

// Describes a run as text: whether it has ended, digests, contract, configuration, external files, streams with their
// columns, checkpoints. Works for any run that can be opened.
std::string DescribeFile(const StoredRun& run);

// Describes the steps: their number, the rewards over them, the last ones, and a few completions of the last.
absl::StatusOr<std::string> DescribeSteps(const StoredRun& run, const TokenText& text);

// Both as one object: {"event": "run", ...}. Unless `interpreted`, without "sft_steps" and the members after it.
nlohmann::ordered_json RunJson(const StoredRun& run, bool interpreted);

// Returns the rewards of a run's steps as at most ten lines, each the mean of an equal number of steps, with a bar for
// values up to 1. Steps in which nothing was scored (NaN) are left out of the means.
std::vector<std::string> RewardCurve(const std::vector<double>& rewards);

}  // namespace reprise

#endif  // PIPELINES_STORED_DESCRIBE_RUN_H_
