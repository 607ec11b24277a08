#include "rl/run/workloads.h"

#include <algorithm>
#include <iterator>

#include "core/status/check.h"
#include "rl/workloads/bandit/prepared_bandit.h"
#include "rl/workloads/completions/estimate/completions_cost.h"
#include "rl/workloads/completions/prepared_completions.h"
#include "rl/workloads/memory_agent/estimate/memory_agent_cost.h"
#include "rl/workloads/memory_agent/prepared_memory.h"
#include "rl/workloads/morphogenesis/estimate/growth_cost.h"
#include "rl/workloads/morphogenesis/growth_timeline.h"
#include "rl/workloads/morphogenesis/prepared_growth.h"
#include "rl/workloads/quiet_star/describe_thoughts.h"
#include "rl/workloads/quiet_star/estimate/quiet_star_cost.h"
#include "rl/workloads/quiet_star/prepared_quiet_star.h"

namespace reprise::rl {

const WorkloadKind& KindOf(const Config& config) {
  static constexpr WorkloadKind kKinds[] = {
      {"completions", PrepareCompletions, CompletionSchemaOf, CompletionLayoutOf, ExportCompletions,
       EstimateCompletions},
      {"bandit", PrepareBandit, BanditSchemaOf, BanditLayoutOf, ExportBandit},
      {"memory_agent", PrepareMemory, MemorySchemaOf, MemoryLayoutOf, ExportMemory, EstimateMemoryAgent},
      {"quiet_star", PrepareQuietStar, QuietStarSchemaOf, QuietStarLayoutOf, ExportQuietStar, EstimateQuietStar,
       DescribeThoughtStep},
      {"morphogenesis", PrepareGrowth, GrowthSchemaOf, GrowthLayoutOf, ExportGrowth, EstimateGrowth,
       DescribeGrowthStep},
  };
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const WorkloadKind& kind) { return kind.name == config.run.workload; });
  CHECK(found != std::end(kKinds));
  return *found;
}

}  // namespace reprise::rl
