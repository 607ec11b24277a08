#include "benchmarks/exchange/exchange_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/comm/collectives.h"
#include "core/comm/testing/shard_tree_testing.h"
#include "core/status/status_macros.h"
#include "rl/gradient/gradient_exchange.h"
#include "rl/gradient/sharded_optimizer.h"

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

FlatLayout EqualMatrices(int64_t floats, int64_t units) {
  FlatLayout layout;
  for (int64_t i = 0; i < units; ++i) layout.Append(absl::StrCat(i), {floats / units}, ParameterKind::kMatrix);
  return layout;
}

}  // namespace

absl::StatusOr<ExchangeRun> RunExchange(Communicator& comm, int64_t floats, int64_t units, int shards,
                                        int repetitions) {
  const FlatLayout layout = EqualMatrices(floats, units);
  const std::vector<rl::ParameterUnit> parameters = rl::MakeParameterUnits(layout);
  ASSIGN_OR_RETURN(const ShardMap map, ShardMap::Create(shards, comm.size()));
  TreeExchange exchange = rl::MakeTreeExchange(parameters, map, {}, &comm);
  const std::vector<rl::ParameterUnit> owned = rl::OwnedUnits(comm.rank(), exchange.ownership(), parameters);
  const std::unique_ptr<rl::ShardedOptimizer> optimizer = rl::MakeOptimizer({.name = "adamw"});
  optimizer->Reset(layout, owned);
  std::vector<float> weights(static_cast<size_t>(layout.total), 1.0f);
  std::vector<SubtreeSum> sums;
  for (const TreeNode& node : map.SubtreesOf(comm.rank()))
    sums.push_back({node, Tensor("", DType::kF32, {layout.total})});

  std::vector<double> sum, update, gather;
  ExchangeRun run;
  for (int i = 0; i < repetitions; ++i) {
    RETURN_IF_ERROR(comm.Barrier());
    const Traffic before = comm.traffic();
    const double start = Seconds();
    RETURN_IF_ERROR(testing::SumOwned(absl::MakeSpan(sums), &exchange));
    const double summed = Seconds();
    const rl::OptimizerStep step = {1, 1e-4, 1, sums[0].sum.data<float>(), absl::MakeSpan(weights)};
    for (const rl::ParameterUnit& unit : owned) optimizer->Update(step, {unit.offset, unit.size});
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
