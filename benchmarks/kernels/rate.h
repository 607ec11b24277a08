#ifndef BENCHMARKS_KERNELS_RATE_H_
#define BENCHMARKS_KERNELS_RATE_H_

// Measures how fast a kernel computes, relative to the processor's limits and to other libraries in the same process.

#include <functional>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

namespace reprise::benchmarks {

// The same work by another library.
struct Peer {
  std::string name;
  std::function<void()> run;
};

// Runs `body` and each of `peers` in turn as the benchmark's iterations. Reports for the fastest iterations: "GFLOP/s",
// "peak GFLOP/s" (the rate of fused multiply-adds in registers, measured before and after), "peak" (the former divided
// by the latter), "us" (per call of body) and for each peer "us NAME" (per call), "x NAME" (its time divided by body's:
// above 1 the kernel is faster) and "faults NAME" (page faults per call, from newly allocated memory). Times are this
// thread's processor time, which excludes time when another process has the processor, but includes that process's
// effects on caches and memory. Small bodies are called several times between two readings of the clock.
void ReportRate(::benchmark::State& state, double operations_per_call, const std::function<void()>& body,
                const std::vector<Peer>& peers = {});

// Like ReportRate, for a kernel that moves bytes: reports "GB/s" and "bandwidth" (its rate divided by that of reading
// 256 MB of memory, kernels/isa/peaks.h, measured before and after).
void ReportBandwidth(::benchmark::State& state, double bytes_per_call, const std::function<void()>& body,
                     const std::vector<Peer>& peers = {});

// The operations that a call computes and the bytes that it reads.
struct Work {
  double operations = 0, bytes = 0;
};

// Like both, for a kernel that is limited by one or the other: reports "GFLOP/s", "peak", "GB/s", "bandwidth" and
// "bound", the fraction of the rate that the lower of the two limits permits.
void ReportRoofline(::benchmark::State& state, const Work& work_per_call, const std::function<void()>& body);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_RATE_H_
