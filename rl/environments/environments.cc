#include "rl/environments/environments.h"

#include <utility>

#include "core/config/unknown_name.h"
#include "rl/environments/countdown/countdown.h"
#include "rl/environments/grid_navigation/grid_navigation.h"
#include "rl/environments/number_guess/number_guess.h"
#include "rl/environments/process/process_environment.h"

namespace reprise::rl {
std::shared_ptr<ProcessClient> MakeProcessClient(const Config& config) {
  if (config.process.command.empty()) return nullptr;
  return std::make_shared<ProcessClient>(ProcessOptions{.command = config.process.command,
                                                        .seconds = config.execution.process_time_limit,
                                                        .restarts = config.execution.process_restarts});
}

absl::StatusOr<std::unique_ptr<Environment>> MakeEnvironment(const Config& config,
                                                             std::shared_ptr<ProcessClient> process) {
  const EnvironmentConfig& environment = config.environment;
  std::unique_ptr<Environment> made;
  if (environment.name.empty()) return made;
  if (environment.name == "number_guess") {
    made = std::make_unique<NumberGuess>(environment.largest);
  } else if (environment.name == "countdown") {
    made = std::make_unique<Countdown>(environment.numbers, environment.largest);
  } else if (environment.name == "grid_navigation") {
    made = std::make_unique<GridNavigation>(
        environment.kinds, environment.max_turns,
        environment.observation == ObservationForm::kFeatures ? environment.feature_bins : 0);
  } else if (environment.name == kProcess) {
    made = std::make_unique<ProcessEnvironment>(std::move(process));
  } else {
    return UnknownName("environment", environment.name, {"countdown", "grid_navigation", "number_guess", kProcess});
  }
  return made;
}

}  // namespace reprise::rl
