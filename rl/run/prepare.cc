#include "rl/run/prepare.h"

#include <algorithm>
#include <thread>

#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/run/workloads.h"
#include "rl/schedule/rate_factors.h"

namespace reprise::rl {

absl::StatusOr<RunParts> PrepareRun(const Config& config, int ranks_on_this_machine, RunUse use) {
  RunParts parts;
  ASSIGN_OR_RETURN(parts.pool, ThreadPool::Create(ThreadsOf(config.execution, ranks_on_this_machine)));
  RETURN_IF_ERROR(KindOf(config).prepare(config, use, &parts));
  ASSIGN_OR_RETURN(const std::vector<RateFactor> factors, ParseRateFactors(config.optimizer.learning_rate_factors));
  RETURN_IF_ERROR(WithContext(CheckEachDecides(factors, TensorNamesOf(parts.workload->policy().layout())),
                              "optimizer.learning_rate_factors"));
  return parts;
}

std::vector<std::string> TensorNamesOf(const FlatLayout& layout) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : layout.specs) names.push_back(spec.name);
  return names;
}

int ThreadsOf(const ExecutionConfig& execution, int ranks_on_this_machine) {
  if (execution.threads > 0) return static_cast<int>(execution.threads);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks_on_this_machine);
}

}  // namespace reprise::rl
