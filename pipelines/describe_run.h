#ifndef PIPELINES_DESCRIBE_RUN_H_
#define PIPELINES_DESCRIBE_RUN_H_

#include <string>

#include "data/artifact/run_reader.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored_run.h"

namespace reprise {

// What a run file says of itself, for people: digests, contract, configuration, external files, streams with their
// columns, checkpoints. Of any run that opens.
std::string DescribeFile(const RunReader& run);

// How many steps there are, and the rewards over them.
std::string DescribeSteps(const StoredRun& run);

// Both as one object: {"event": "run", ...}. Without "warm_up_steps" and what follows it unless `interpreted`.
nlohmann::ordered_json RunJson(const StoredRun& run, bool interpreted);

}  // namespace reprise

#endif  // PIPELINES_DESCRIBE_RUN_H_
