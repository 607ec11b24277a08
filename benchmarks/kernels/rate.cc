#include "benchmarks/kernels/rate.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "kernels/isa/fma_peak.h"
#include "kernels/isa/isa.h"

namespace reprise::benchmarks {

void ReportRate(::benchmark::State& state, double operations_per_call, const std::function<void()>& body) {
  if (const absl::Status status = kernels::InitializeIsa(); !status.ok()) {
    state.SkipWithError(status.ToString().c_str());
    return;
  }
  const double peak_before = kernels::MeasureFmaPeak();
  const int calls = static_cast<int>(std::clamp(2e6 / (operations_per_call + 1), 1.0, 200.0));
  double best_seconds = std::numeric_limits<double>::infinity();
  body();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) body();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(seconds.count());
    best_seconds = std::min(best_seconds, seconds.count() / calls);
  }
  const double rate = operations_per_call / best_seconds / 1e9;
  state.counters["GFLOP/s"] = rate;
  const double peak = std::max(peak_before, kernels::MeasureFmaPeak());
  state.counters["peak GFLOP/s"] = peak;
  state.counters["peak"] = rate / peak;
  state.counters["us"] = best_seconds * 1e6;
  state.SetLabel(std::string(kernels::NameOf(kernels::ActiveIsa())));
}

}  // namespace reprise::benchmarks
