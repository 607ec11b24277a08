#ifndef PIPELINES_SWEEPS_TABLE_STREAMS_H_
#define PIPELINES_SWEEPS_TABLE_STREAMS_H_

// The table of a sweep as the files sweep.h5 and sweep.csv. All functions are pure.

#include <string>
#include <vector>

#include "data/tables/table.h"
#include "pipelines/sweeps/sweep_table.h"

namespace reprise {

// Returns the tables of sweep.h5, which FORMAT.md describes, sorted by name.
std::vector<StreamTable> ToStreams(const SweepTable& table);

// Returns sweep.csv: a line for each trial, with its settings and the last value of each metric (RFC 4180).
std::string ToCsv(const SweepTable& table);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TABLE_STREAMS_H_
