#include "rl/workloads/morphogenesis/kind/growth_kind.h"

#include "rl/workloads/morphogenesis/growth_examples.h"
#include "rl/workloads/morphogenesis/growth_timeline.h"
#include "rl/workloads/morphogenesis/kind/growth_cost.h"
#include "rl/workloads/morphogenesis/prepared_growth.h"

namespace reprise::rl {
namespace {

constexpr PathKey kPathKeys[] = {
    {"morphogenesis", "data_path", [](Config& config) -> std::string& { return config.morphogenesis.data_path; },
     [](const Config& config) { return GrowthFileNames(config.morphogenesis); }, "--data",
     "examples from files, it generated them",
     "the examples of the run's hosts are in files that are not stored in it; give the folder of CIFAR-10, or the "
     "file of stories: --data PATH"}};

}  // namespace

constinit const WorkloadKind kMorphogenesis = {.name = "morphogenesis",
                                               .prepare = PrepareGrowth,
                                               .schema = MakeGrowthSchema,
                                               .layout = MakeGrowthLayout,
                                               .export_weights = ExportGrowth,
                                               .estimate = EstimateGrowth,
                                               .describe_step = DescribeGrowthStep,
                                               .path_keys = kPathKeys};

}  // namespace reprise::rl
