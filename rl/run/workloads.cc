#include "rl/run/workloads.h"

#include <algorithm>

#include "core/status/check.h"
#include "rl/workloads/bandit/prepared_bandit.h"
#include "rl/workloads/completions/kind/completions_kind.h"
#include "rl/workloads/memory_agent/kind/memory_agent_kind.h"
#include "rl/workloads/morphogenesis/kind/growth_kind.h"
#include "rl/workloads/quiet_star/kind/quiet_star_kind.h"

namespace reprise::rl {

absl::Span<const WorkloadKind* const> WorkloadKinds() {
  static constexpr const WorkloadKind* kKinds[] = {&kCompletions, &kBandit, &kMemoryAgent, &kQuietStar,
                                                   &kMorphogenesis};
  return kKinds;
}

const WorkloadKind& KindOf(const Config& config) {
  const absl::Span<const WorkloadKind* const> kinds = WorkloadKinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const WorkloadKind* kind) { return kind->name == config.run.workload; });
  CHECK(found != kinds.end());
  return **found;
}

}  // namespace reprise::rl
