#include "rl/config/key_conditions.h"

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rl/config/algorithm_choice.h"

namespace reprise::rl {

struct Conditions::LastAlgorithm {
  const absl::StatusOr<AlgorithmRow>& Row(const AlgorithmConfig& algorithm) {
    if (!row || !(algorithm == of)) {
      of = algorithm;
      row = AlgorithmOf(algorithm);
    }
    return *row;
  }

  AlgorithmConfig of;
  std::optional<absl::StatusOr<AlgorithmRow>> row;
};

Conditions::Conditions(const Config& config) : config_(&config), last_(std::make_shared<LastAlgorithm>()) {}

std::function<bool()> Conditions::operator()(bool (*holds)(const Config&)) const {
  return [config = config_, holds] { return holds(*config); };
}

std::function<bool()> Conditions::operator()(bool (*holds)(const Config&, const AlgorithmRow&)) const {
  return [config = config_, last = last_, holds] {
    const absl::StatusOr<AlgorithmRow>& row = last->Row(config->algorithm);
    return !row.ok() || holds(*config, *row);
  };
}

config::Condition Conditions::Workload(absl::string_view name) const {
  return {.holds = [config = config_, name] { return config->run.workload == name; },
          .needs = absl::StrCat("run.workload ", name)};
}

config::Condition Conditions::WorkloadWith(bool WorkloadTraits::* trait) const {
  return {.holds = [config = config_, trait] { return Traits(*config).*trait; },
          .needs = absl::StrCat("run.workload ", WorkloadNames(trait))};
}

bool HasValues(const Config&, const AlgorithmRow& row) { return NeedsValues(row); }

bool HasEnvironment(const Config& config) { return !config.environment.name.empty(); }

bool HasTurns(const Config& config) { return HasEnvironment(config) || Traits(config).has_turns; }

bool HasSft(const Config& config) { return config.sft.steps > 0; }

bool HasDivergence(const Config& config, const AlgorithmRow& row) {
  const KlOptions& kl = config.algorithm.kl;
  return Beta(row) != 0 || (kl.schedule == KlSchedule::kLinear && kl.final != 0) ||
         (kl.schedule == KlSchedule::kBanded && kl.low != 0);
}

}  // namespace reprise::rl
