#include "benchmarks/kernels/rate.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>

#include "kernels/isa/isa.h"
#include "kernels/isa/peaks.h"

namespace reprise::benchmarks {
namespace {

double ProcessorSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t PageFaults() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// Times a function repeatedly and keeps the best time.
class Stopwatch {
 public:
  explicit Stopwatch(const std::function<void()>& body) : body_(body) {
    body_();  // warms up caches, pages and the library
    const double start = ProcessorSeconds();
    body_();
    constexpr double kLongEnough = 100e-6;  // reading the clock takes less than a hundredth of it
    calls_ = static_cast<int>(std::clamp(kLongEnough / (ProcessorSeconds() - start), 1.0, 10000.0));
  }

  // Returns the seconds of all calls between two readings of the clock.
  double Run() {
    const int64_t faults_before = PageFaults();
    const double start = ProcessorSeconds();
    for (int i = 0; i < calls_; ++i) body_();
    const double seconds = ProcessorSeconds() - start;
    faults_ += PageFaults() - faults_before;
    runs_ += calls_;
    if (seconds > 0) best_ = std::min(best_, seconds / calls_);  // under a hypervisor the clock may not advance
    return seconds;
  }

  double best() const { return best_; }
  double faults() const { return static_cast<double>(faults_) / static_cast<double>(runs_); }  // per call

 private:
  const std::function<void()>& body_;
  int calls_ = 1;
  int64_t runs_ = 0, faults_ = 0;
  double best_ = std::numeric_limits<double>::infinity();
};

// Returns the best time of body, in seconds.
double Race(::benchmark::State& state, const std::function<void()>& body, const std::vector<Peer>& peers) {
  Stopwatch ours(body);
  std::vector<Stopwatch> theirs;
  for (const Peer& peer : peers) theirs.emplace_back(peer.run);
  for (auto _ : state) {
    state.SetIterationTime(ours.Run());
    for (Stopwatch& peer : theirs) peer.Run();
  }
  state.counters["us"] = ours.best() * 1e6;
  for (size_t i = 0; i < peers.size(); ++i) {
    state.counters["x " + peers[i].name] = theirs[i].best() / ours.best();
    state.counters["us " + peers[i].name] = theirs[i].best() * 1e6;
    state.counters["faults " + peers[i].name] = theirs[i].faults();
  }
  state.SetLabel(std::string(kernels::NameOf(kernels::ActiveIsa())));
  return ours.best();
}

bool Ready(::benchmark::State& state) {
  const absl::Status status = kernels::InitializeIsa();
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  return status.ok();
}

}  // namespace

void ReportRate(::benchmark::State& state, double operations_per_call, const std::function<void()>& body,
                const std::vector<Peer>& peers) {
  if (!Ready(state)) return;
  const double peak_before = kernels::MeasureFmaPeak();
  const double rate = operations_per_call / Race(state, body, peers) / 1e9;
  state.counters["GFLOP/s"] = rate;
  const double peak = std::max(peak_before, kernels::MeasureFmaPeak());
  state.counters["peak GFLOP/s"] = peak;
  state.counters["peak"] = rate / peak;
}

void ReportBandwidth(::benchmark::State& state, double bytes_per_call, const std::function<void()>& body,
                     const std::vector<Peer>& peers) {
  if (!Ready(state)) return;
  const double bandwidth_before = kernels::MeasureReadBandwidth();
  const double rate = bytes_per_call / Race(state, body, peers);
  state.counters["GB/s"] = rate / 1e9;
  state.counters["bandwidth"] = rate / std::max(bandwidth_before, kernels::MeasureReadBandwidth());
}

void ReportRoofline(::benchmark::State& state, const Work& work, const std::function<void()>& body) {
  if (!Ready(state)) return;
  double peak = kernels::MeasureFmaPeak() * 1e9, bandwidth = kernels::MeasureReadBandwidth();
  const double seconds = Race(state, body, {});
  peak = std::max(peak, kernels::MeasureFmaPeak() * 1e9);
  bandwidth = std::max(bandwidth, kernels::MeasureReadBandwidth());
  state.counters["GFLOP/s"] = work.operations / seconds / 1e9;
  state.counters["peak"] = work.operations / seconds / peak;
  state.counters["GB/s"] = work.bytes / seconds / 1e9;
  state.counters["bandwidth"] = work.bytes / seconds / bandwidth;
  state.counters["bound"] = std::max(work.operations / peak, work.bytes / bandwidth) / seconds;
}

}  // namespace reprise::benchmarks
