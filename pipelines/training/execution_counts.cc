#include "pipelines/training/execution_counts.h"

#include <iterator>
#include <utility>
#include <vector>

#include "core/comm/collectives.h"
#include "core/machine/memory.h"
#include "core/status/status_macros.h"
#include "kernels/isa/isa.h"

namespace reprise {

absl::StatusOr<ExecutionCounts> SumOverRanks(Communicator& comm, const TrafficBefore& before,
                                             const rl::Execution& execution, const rl::RunParts& parts) {
  const bool avx512 = kernels::ActiveIsa() == kernels::Isa::kAvx512;
  const Traffic all = comm.traffic() - before.all, exchange = comm.exchange_traffic() - before.exchange;
  const rl::LearnerCounts& learner = execution.learner().counts();
  const rl::ProcessClient* const process = parts.workload->process();
  ExecutionCounts counts;
  counts.by_name = {
      {"ranks", 1},
      {"threads", parts.pool->threads()},
      {"ranks_by_instruction_set/avx2", avx512 ? 0 : 1},  // that of their kernels
      {"ranks_by_instruction_set/avx512", avx512 ? 1 : 0},
      {"micro_batches", learner.micro_batches},  // in computing gradients
      {"cut_groups", learner.cut_groups},
      {"prompt_rows", learner.prompt_rows},  // through its forward passes
      {"completion_rows", learner.completion_rows},
  };
  const rl::Workload::NamedCounts of_workload = execution.workload().execution_counts();
  counts.by_name.insert(counts.by_name.end(), of_workload.begin(), of_workload.end());
  const std::pair<std::string, int64_t> others[] = {
      {"activation_bytes", learner.activation_bytes},
      {"buckets", learner.exchange.buckets},              // of gradients
      {"early_buckets", learner.exchange.early_buckets},  // sent while their ranks still computed
      {"messages", all.messages},                         // sent to other ranks, as core/comm/communicator.h counts
      {"wire_bytes", all.bytes},
      {"collectives", all.collectives},
      {"exchange_messages", exchange.messages},  // of these, the exchange of gradients, weights and moments
      {"exchange_bytes", exchange.bytes},
      {"exchange_collectives", exchange.collectives},
      {"process_starts", process == nullptr ? 0 : process->started()},
      {"process_restarts", process == nullptr ? 0 : process->restarts()},
  };
  counts.by_name.insert(counts.by_name.end(), std::begin(others), std::end(others));
  std::vector<int64_t> sums;
  for (const auto& [name, count] : counts.by_name) sums.push_back(count);
  RETURN_IF_ERROR(AllreduceSum(comm, absl::MakeSpan(sums)));
  for (size_t i = 0; i < sums.size(); ++i) counts.by_name[i].second = sums[i];
  counts.process_restarts = sums.back();
  int64_t peak = PeakMemoryBytes();
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(&peak, 1)));
  counts.by_name.emplace_back("peak_memory",
                              peak);  // bytes of physical memory since the process began; the maximum over ranks
  return counts;
}

}  // namespace reprise
