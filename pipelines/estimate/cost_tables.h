#ifndef PIPELINES_ESTIMATE_COST_TABLES_H_
#define PIPELINES_ESTIMATE_COST_TABLES_H_

#include <cstdint>
#include <string>

#include "rl/config/config.h"
#include "rl/learner/choices.h"
#include "rl/workload/run_cost.h"

namespace reprise {

// Returns a printable table: the items with formulas and sizes, the total, and the meanings of the symbols.
std::string MemoryTable(const rl::MemoryEstimate& estimate);

// "1.5 GiB", "23 MiB", "512 bytes".
std::string FormatBytes(int64_t bytes);

// Returns the lines that `validate` prints: the operations of a step, and the messages of ranks
// (pipelines/estimate/traffic_estimate.h). config passes CheckConfig for `ranks`; choices: of `config`.
std::string CostTable(const rl::Config& config, const rl::Choices& choices, const rl::RunCost& cost, int64_t ranks);

}  // namespace reprise

#endif  // PIPELINES_ESTIMATE_COST_TABLES_H_
