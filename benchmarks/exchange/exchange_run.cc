#include "benchmarks/exchange/exchange_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "core/comm/collectives.h"
#include "core/parallel/thread_pool.h"
#include "core/status/status_macros.h"
#include "rl/gradient/gradient_exchange.h"
#include "rl/gradient/sharded_adamw.h"

namespace reprise::benchmarks {
namespace {

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns the maximum over all ranks.
absl::StatusOr<double> Most(Communicator& comm, double value) {
  int64_t nano = static_cast<int64_t>(value * 1e9);
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(&nano, 1)));
  return static_cast<double>(nano) * 1e-9;
}

std::vector<rl::ParameterUnit> EqualUnits(int64_t floats, int64_t units) {
  std::vector<rl::ParameterUnit> result;
  for (int64_t i = 0; i < units; ++i) {
    result.push_back({static_cast<int>(i), i * (floats / units), floats / units});
  }
  return result;
}

}  // namespace

absl::StatusOr<ExchangeRun> RunExchange(Communicator& comm, int64_t floats, int64_t units, int shards,
                                        int repetitions) {
  const std::vector<rl::ParameterUnit> parameters = EqualUnits(floats, units);
  ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(shards, comm.size()));
  TreeExchange exchange = rl::MakeTreeExchange(parameters, map, {}, &comm);
  rl::ShardedAdamW adamw(exchange.ownership(), comm.rank());
  const std::vector<bool> decays(parameters.size(), true);
  ThreadPool pool(1);
  std::vector<float> weights(static_cast<size_t>(floats), 1.0f);
  std::vector<SubtreeSum> sums;
  for (const TreeNode& node : map.SubtreesOf(comm.rank())) sums.push_back({node, Tensor("", DType::kF32, {floats})});
  const kernels::AdamWStep step = kernels::MakeAdamWStep(1e-4, 0.9, 0.999, 1e-8, 0, 1, 1);

  std::vector<double> sum, update, gather;
  ExchangeRun run;
  for (int i = 0; i < repetitions; ++i) {
    RETURN_IF_ERROR(comm.Barrier());
    const Traffic before = comm.traffic();
    const double start = Seconds();
    RETURN_IF_ERROR(exchange.SumOwned(absl::MakeSpan(sums)));
    const double summed = Seconds();
    adamw.Update(step, decays, sums[0].sum.data<float>(), absl::MakeSpan(weights), pool);
    const double updated = Seconds();
    RETURN_IF_ERROR(exchange.AllgatherOwned(absl::MakeSpan(weights)));
    sum.push_back(summed - start);
    update.push_back(updated - summed);
    gather.push_back(Seconds() - updated);
    run.traffic = {comm.traffic().messages - before.messages, comm.traffic().bytes - before.bytes};
  }
  ASSIGN_OR_RETURN(run.sum_seconds, Most(comm, Median(sum)));
  ASSIGN_OR_RETURN(run.update_seconds, Most(comm, Median(update)));
  ASSIGN_OR_RETURN(run.gather_seconds, Most(comm, Median(gather)));
  std::vector<int64_t> most = {run.traffic.messages, run.traffic.bytes};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(most)));
  run.traffic = {most[0], most[1]};
  run.expected_bytes = 8.0 * static_cast<double>(floats) * (comm.size() - 1) / comm.size();
  return run;
}

double CopyBandwidth() {
  constexpr size_t kBytes = size_t{128} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  double fastest = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start = Seconds();
    std::memcpy(to.data(), from.data(), kBytes);
    fastest = std::min(fastest, Seconds() - start);
  }
  return to[kBytes / 2] == 1 ? 2.0 * kBytes / fastest : 0;
}

}  // namespace reprise::benchmarks
