#ifndef RL_ENVIRONMENT_ENVIRONMENTS_H_
#define RL_ENVIRONMENT_ENVIRONMENTS_H_

// Environments by name.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "rl/config/config.h"
#include "rl/environment/environment.h"
#include "rl/environment/player.h"

namespace reprise::rl {

inline bool HasEnvironment(const Config& config) { return !config.environment.name.empty(); }

// The environment that the configuration names; null where it names none. InvalidArgument for an unknown one.
absl::StatusOr<std::unique_ptr<Environment>> MakeEnvironment(const Config& config);

// How its episodes are divided into turns. InvalidArgument for environment.stop that is no list of texts.
absl::StatusOr<TurnRules> TurnRulesOf(const EnvironmentConfig& config, const std::vector<int32_t>& end_tokens);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_ENVIRONMENTS_H_
