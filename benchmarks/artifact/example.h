#ifndef BENCHMARKS_ARTIFACT_EXAMPLE_H_
#define BENCHMARKS_ARTIFACT_EXAMPLE_H_

#include <cstdint>

#include "data/artifact/format/run_header.h"
#include "data/tables/table.h"

namespace reprise::benchmarks {

// Returns the header of a run with one stream of tokens.
RunHeader TokenRun();

// Returns a step of about `bytes` bytes in rows of 4 KiB.
StreamTable TokenStep(int64_t bytes);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_ARTIFACT_EXAMPLE_H_
