#ifndef BENCHMARKS_KERNELS_RATE_H_
#define BENCHMARKS_KERNELS_RATE_H_

// How fast a kernel computes, against what the processor could at most and against other libraries in the same process.

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

// Runs `body`, and each of `peers` in turn with it, as the benchmark's iterations. Reports of the fastest iterations:
// "GFLOP/s", "peak GFLOP/s" (the rate of fused multiply-adds in registers, measured before and after), "peak" (the
// former over the latter), "us" (per call of body) and for each peer "us NAME" (per call), "x NAME" (its time over
// body's: above 1 the kernel is faster) and "faults NAME" (page faults per call of memory that it had to ask for anew).
// Times are of this thread's processor time, so that another process that takes the processor away does not count; what
// it does to caches and memory does. Small bodies are called several times between two readings of the clock.
void ReportRate(::benchmark::State& state, double operations_per_call, const std::function<void()>& body,
                const std::vector<Peer>& peers = {});

// As ReportRate for a kernel that moves bytes: reports "GB/s" and "bandwidth" (over that of reading 256 MB of memory,
// kernels/isa/read_bandwidth.h, measured before and after).
void ReportBandwidth(::benchmark::State& state, double bytes_per_call, const std::function<void()>& body,
                     const std::vector<Peer>& peers = {});

// What a call computes and reads.
struct Work {
  double operations = 0, bytes = 0;
};

// As both, for a kernel that is limited by one or the other: reports "GFLOP/s", "peak", "GB/s", "bandwidth" and
// "bound", the part of the rate that the nearer of the two limits allows.
void ReportRoofline(::benchmark::State& state, const Work& work_per_call, const std::function<void()>& body);

}  // namespace reprise::benchmarks

#endif  // BENCHMARKS_KERNELS_RATE_H_
