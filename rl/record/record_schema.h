#ifndef RL_RECORD_RECORD_SCHEMA_H_
#define RL_RECORD_RECORD_SCHEMA_H_

// What the records of a run consist of, as data: a workload describes its streams and how they are compared, and every
// part that gathers, compares, stores and checks records is generic over this description. The streams of the learner
// itself, which every workload's record has, are described here:
//
//   routing   one row per layer     phase step layer expert_counts   (where the policy counts)
//   metrics   one row per metric    phase step name value
//   digests   one row per tensor    phase step kind tensor sha256

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/digest/sha256.h"
#include "data/tables/table.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

struct ComparedColumn {
  ComparedColumn(const char* name) : column(name), label(name) {}  // NOLINT: a column's name stands for it
  ComparedColumn(absl::string_view name, absl::string_view label, absl::string_view element = "value")
      : column(name), label(label), element(element) {}

  std::string column;
  std::string label;              // follows the row's name in messages, as in "prompt 3 answer"; may be empty
  std::string element = "value";  // of a column with several values: what one is called, as in "prompt 3 token 7"
};

// One comparison of two tables of the same stream, row by row and column by column.
struct Comparison {
  std::string stage;  // of a step (divergence.h)
  std::string stream;
  std::vector<std::string> key;  // the columns that identify a row
  std::vector<ComparedColumn> columns;
  std::string rows = stream;  // what messages call the rows
  // Returns what messages call a row. Null: the key's columns and their values, as in "prompt 3 sample 1".
  std::function<std::string(const StreamTable& table, int64_t row)> row_name = nullptr;
  // Of digests: only the rows of this kind are compared, and they are named after their tensors.
  std::optional<uint8_t> digest_kind = std::nullopt;
  bool skips_absent = false;  // nothing is compared where only one side has the stream
};

// The order of a stream whose rows are not ordered by rank: rows where the first of these columns, each of type u8, is
// not 0 precede the others, among equal ones those where the second is not 0, and so on. Rows that are equal in all of
// them stay in the order of ranks.
struct RowOrder {
  std::string stream;
  std::vector<std::string> flags;
};

struct RecordSchema {
  std::vector<StreamSchema> streams;    // each made by RecordStream
  std::vector<Comparison> comparisons;  // causes before their consequences
  std::vector<RowOrder> orders = {};    // of the other streams: by rank, and on each rank as it appended the rows
  // DataLoss, naming stream and row, for tables that the workload never writes. Null: it may write any.
  std::function<absl::Status(const StepTables& step)> check = nullptr;
};

// Returns the schema of a stream: `own` columns after those of every stream, phase and step.
StreamSchema RecordStream(absl::string_view name, std::vector<ColumnSchema> own);

// Returns empty tables for the streams.
std::vector<StreamTable> EmptyTables(const std::vector<StreamSchema>& streams);

using Metrics = std::vector<std::pair<std::string, double>>;

// What the learner records of a step, whatever the workload.
struct StepResults {
  Phase phase = Phase::kTraining;
  int64_t step = 0;
  std::vector<int64_t> count_C;  // of the policy (Policy::CountShard)
  int64_t counts_per_layer = 0;  // how many of them each layer has; after the layers come others
  Metrics metrics;               // under TRL's names; sorted by name
  std::vector<Digest> gradient_digests, weight_digests;  // by tensor; empty where the step was not digested
};

// Returns the streams of results. has_counts: whether the policy counts.
std::vector<StreamSchema> ResultStreams(bool has_counts);

// Returns their rows, in the order of ResultStreams.
std::vector<StreamTable> ResultTables(const StepResults& results, bool has_counts);

// The inverse. What the tables lack is empty. They must pass CheckTables.
StepResults ReadResults(const StepTables& step);

// Returns a metric of a step; 0 where it has none of that name.
double GetMetric(const StepResults& results, absl::string_view name);
double GetMetric(const StepTables& step, absl::string_view name);

// Returns the rows without the digests.
StepTables WithoutDigests(StepTables step);

// The comparisons of the results, for a workload to put among its own.
Comparison CompareRouting();
std::vector<Comparison> CompareDigests();  // gradient, weights
Comparison CompareMetrics();

// DataLoss, naming stream and row, unless all rows belong to the step, the results are as ResultTables writes them, and
// the workload's own check passes. The tables must have the streams of `schema`.
absl::Status CheckTables(const RecordSchema& schema, const StepTables& step);

}  // namespace reprise::rl

#endif  // RL_RECORD_RECORD_SCHEMA_H_
