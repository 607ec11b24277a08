#ifndef BENCHMARKS_KERNELS_RATE_H_
#define BENCHMARKS_KERNELS_RATE_H_

// How fast a kernel computes, against what the processor could at most.

#include <functional>

#include "benchmark/benchmark.h"

namespace reprise::benchmarks {

// Runs `body` as the benchmark's iterations and reports, of the fastest iteration: "GFLOP/s", "peak GFLOP/s" (the
// rate of fused multiply-adds in registers, measured before and after), "peak" (the former over the latter) and "us"
// (per call of body). `calls` calls make one iteration, chosen by size so that reading the clock does not count.
void ReportRate(::benchmark::State& state, double operations_per_call, const std::function<void()>& body);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_RATE_H_
