#ifndef RL_WORKLOADS_COMPLETIONS_OPTIONS_H_
#define RL_WORKLOADS_COMPLETIONS_OPTIONS_H_

// From a configuration to the options of what draws, scores and evaluates completions.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "models/generation/generate.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/episodes/step_rewards.h"
#include "rl/episodes/turn_rules.h"

namespace reprise::rl {

// InvalidArgument for an unknown name.
absl::StatusOr<RewardOptions> MakeRewardOptions(const Config& config, const std::vector<int32_t>& end_tokens);

// Returns how completions of training steps are sampled, with `step` 0. The tokenizer must outlive the result, which
// calls it where `rules` have stops.
models::GenerateOptions MakeGenerateOptions(const Config& config, const models::Tokenizer& tokenizer,
                                            const TurnRules& rules);

// Returns how completions of an evaluation after training step `step` are sampled, on one of `ranks` ranks: as in
// training (MakeGenerateOptions), but with random draws of their own, and no more completions at a time than in a
// training step.
models::GenerateOptions MakeEvaluationOptions(const Config& config, const models::Tokenizer& tokenizer,
                                              const TurnRules& rules, int64_t step, int ranks);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_OPTIONS_H_
