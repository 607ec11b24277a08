#include "rl/workloads/quiet_star/kind/quiet_star_kind.h"

#include "rl/workloads/quiet_star/describe_thoughts.h"
#include "rl/workloads/quiet_star/kind/quiet_star_cost.h"
#include "rl/workloads/quiet_star/prepared_quiet_star.h"

namespace reprise::rl {

constinit const WorkloadKind kQuietStar = {.name = "quiet_star",
                                           .prepare = PrepareQuietStar,
                                           .schema = MakeQuietStarSchema,
                                           .layout = MakeQuietStarLayout,
                                           .export_weights = ExportQuietStar,
                                           .estimate = EstimateQuietStar,
                                           .describe_step = DescribeThoughtStep};

}  // namespace reprise::rl
