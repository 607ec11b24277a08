#ifndef RL_CONFIG_EVALUATION_CHECK_H_
#define RL_CONFIG_EVALUATION_CHECK_H_

#include "absl/status/status.h"
#include "rl/config/config.h"

namespace reprise::rl {

// InvalidArgument, with a remedy, for keys of [evaluation] that do not fit together or with the run's data. Pure.
absl::Status CheckEvaluation(const Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_EVALUATION_CHECK_H_
