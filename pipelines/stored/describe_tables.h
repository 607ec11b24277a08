#ifndef PIPELINES_STORED_DESCRIBE_TABLES_H_
#define PIPELINES_STORED_DESCRIBE_TABLES_H_

// Describes one step of a run by its tables, whatever the workload.

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "rl/record/step_tables.h"

namespace reprise {

// Returns lines for people: every stream with its first rows, and the metrics with all of them.
std::string DescribeTables(const rl::StepTables& step);

// Returns phase and step, and every stream as an array with an object for each row, which has the other columns.
nlohmann::ordered_json TablesJson(const rl::StepTables& step);

}  // namespace reprise

#endif  // PIPELINES_STORED_DESCRIBE_TABLES_H_
