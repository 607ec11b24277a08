#ifndef PIPELINES_STORED_DESCRIBE_TABLES_H_
#define PIPELINES_STORED_DESCRIBE_TABLES_H_

// Describes one step of a run by its tables, whatever the workload.

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "rl/record/step_tables.h"

namespace reprise {

// Every stream with its first rows; the metrics with all.
std::string DescribeTables(const rl::StepTables& step);

// Every stream as an array of objects, one per row, without the columns phase and step.
nlohmann::ordered_json TablesJson(const rl::StepTables& step);

}  // namespace reprise

#endif  // PIPELINES_STORED_DESCRIBE_TABLES_H_
