// Times the exchange of an update between real ranks, or between threads that simulate ranks. Prints one line of JSON.
//
//   tools/run_mpi_test.sh 2 bazel-bin/benchmarks/exchange/exchange 16777216 64
//   bazel-bin/benchmarks/exchange/exchange 65536 2048 1000          (a thousand threads as ranks)

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "benchmarks/exchange/exchange_run.h"
#include "core/comm/mpi/world.h"
#include "core/comm/testing/thread_communicator.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"

namespace reprise::benchmarks {
namespace {

absl::Status Measure(Communicator& comm, int64_t floats, int64_t units, bool is_simulated) {
  int shards = 1;
  while (shards < comm.size()) shards *= 2;
  ASSIGN_OR_RETURN(const ExchangeRun run, RunExchange(comm, floats, units, shards, is_simulated ? 2 : 15));
  if (comm.rank() != 0) return absl::OkStatus();
  const double rate = static_cast<double>(run.traffic.bytes) * comm.size() / run.seconds();
  std::printf(
      "{\"what\": \"exchange\", \"ranks\": %d, \"simulated\": %s, \"floats\": %lld, \"units\": %lld, \"s_sum\": %.6f, "
      "\"s_update\": %.6f, \"s_gather\": %.6f, \"GB/s\": %.3f, \"copy_GB/s\": %.3f, \"messages_of_rank\": %lld, "
      "\"bytes_of_rank\": %lld, \"bytes_of_formula\": %.0f}\n",
      comm.size(), is_simulated ? "true" : "false", static_cast<long long>(floats), static_cast<long long>(units),
      run.sum_seconds, run.update_seconds, run.gather_seconds, rate / 1e9, CopyBandwidth() / 1e9,
      static_cast<long long>(run.traffic.messages), static_cast<long long>(run.traffic.bytes), run.expected_bytes);
  return absl::OkStatus();
}

absl::Status Run(int64_t floats, int64_t units, int threads_as_ranks) {
  if (threads_as_ranks > 0) {
    return RunAsRanks(threads_as_ranks,
                      [&](Communicator& comm) { return Measure(comm, floats, units, /*is_simulated=*/true); });
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Communicator> world, StartWorld(0));
  RETURN_IF_ERROR(Measure(*world, floats, units, /*is_simulated=*/false));
  return FinishWorld(std::move(world));
}

}  // namespace
}  // namespace reprise::benchmarks

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: exchange FLOATS UNITS [THREADS_AS_RANKS]\n");
    return 64;
  }
  absl::Status status = reprise::kernels::InitializeIsa();
  if (status.ok()) {
    status = reprise::benchmarks::Run(std::atoll(argv[1]), std::atoll(argv[2]), argc == 4 ? std::atoi(argv[3]) : 0);
  }
  if (!status.ok()) std::fprintf(stderr, "exchange: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 70;
}
