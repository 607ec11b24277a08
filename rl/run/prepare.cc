#include "rl/run/prepare.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/machine/processors.h"
#include "core/parallel/crowding.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "rl/gradient/sharded_optimizer.h"
#include "rl/run/workloads.h"
#include "rl/schedule/rate_factors.h"

namespace reprise::rl {
namespace {

constexpr double kHighAdamWRate = 0.1;  // far beyond what AdamW's normalised updates stand

// In an SFT phase, rates of AdamW's tensors are those of training in proportion to the matrices', which are often far
// smaller in training.
void WarnOfSftRate(const Config& config, std::vector<std::string>* warnings) {
  const OptimizerConfig& optimizer = config.optimizer;
  const double rate = FallbackRate(optimizer, config.sft.learning_rate);
  const bool wants_none = optimizer.fallback_learning_rate == 0 || config.sft.learning_rate == 0;
  if (optimizer.name != OptimizerName::kMuonGrokfast || config.sft.steps == 0 || wants_none) return;
  if (rate > 0 && rate <= kHighAdamWRate) return;
  warnings->push_back(absl::StrCat(
      "the SFT updates vectors, embeddings and heads, which are AdamW's, with a learning rate of ", rate,
      ": optimizer.fallback_learning_rate ", optimizer.fallback_learning_rate, " x sft.learning_rate ",
      config.sft.learning_rate, " / optimizer.learning_rate ", optimizer.learning_rate,
      rate > 0 ? ": set optimizer.fallback_learning_rate or sft.learning_rate lower, or optimizer.learning_rate "
                 "higher"
               : ", which is 0: set optimizer.learning_rate above 0, or they stay as they are"));
}

}  // namespace

absl::StatusOr<RunParts> PrepareRun(const Config& config, int ranks_on_this_machine, RunUse use) {
  RunParts parts;
  ShareProcessors(UsableProcessors(), ranks_on_this_machine);
  ASSIGN_OR_RETURN(parts.pool, ThreadPool::Create(ChooseThreads(config.execution, ranks_on_this_machine)));
  RETURN_IF_ERROR(KindOf(config).prepare(config, use, &parts));
  ASSIGN_OR_RETURN(const std::vector<RateFactor> factors, ParseRateFactors(config.optimizer.learning_rate_factors));
  RETURN_IF_ERROR(WithContext(CheckEachDecides(factors, ListTensorNames(parts.workload->policy().layout())),
                              "optimizer.learning_rate_factors"));
  if (use == RunUse::kTraining) WarnOfSftRate(config, &parts.warnings);
  return parts;
}

std::vector<std::string> ListTensorNames(const FlatLayout& layout) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : layout.specs) names.push_back(spec.name);
  return names;
}

int ChooseThreads(const ExecutionConfig& execution, int ranks_on_this_machine) {
  if (execution.threads > 0) return static_cast<int>(execution.threads);
  return std::max(1, UsableProcessors() / ranks_on_this_machine);
}

}  // namespace reprise::rl
