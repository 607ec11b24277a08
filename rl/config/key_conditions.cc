#include "rl/config/key_conditions.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace reprise::rl {

std::function<bool()> Conditions::operator()(bool (*holds)(const Config&)) const {
  return [config = config_, holds] { return holds(*config); };
}

config::Condition Conditions::Workload(absl::string_view name) const {
  return {.holds = [config = config_, name] { return config->run.workload == name; },
          .needs = absl::StrCat("run.workload ", name)};
}

config::Condition Conditions::WorkloadWith(bool WorkloadTraits::* trait) const {
  return {.holds = [config = config_, trait] { return Traits(*config).*trait; },
          .needs = absl::StrCat("run.workload ", WorkloadNames(trait))};
}

bool HasValues(const Config& config) { return NeedsValues(config.algorithm); }

bool HasEnvironment(const Config& config) { return !config.environment.name.empty(); }

bool HasTurns(const Config& config) { return HasEnvironment(config) || Traits(config).has_turns; }

bool HasSft(const Config& config) { return config.sft.steps > 0; }

bool HasDivergence(const Config& config) {
  const KlOptions& kl = config.algorithm.kl;
  return Beta(config.algorithm) != 0 || (kl.schedule == KlSchedule::kLinear && kl.final != 0) ||
         (kl.schedule == KlSchedule::kBanded && kl.low != 0);
}

}  // namespace reprise::rl
