#ifndef RL_WORKLOADS_QUIET_STAR_BAKING_H_
#define RL_WORKLOADS_QUIET_STAR_BAKING_H_

// Examples of thoughts that an SFT phase learns from (prompt baking): the thought before an answer in one of seven
// forms. Each form writes down what helps (data::Task::hint), marked by thinking tokens of its own:
//
//   chain_of_thought   <step> before every character
//   mece, falsification, expert, self_doubt   <mece>, <falsify>, <expert> or <doubt> once, before the whole
//   orthogonal         <reason> <step> before the whole
//   bayesian           <reason> before the whole
//
// Of every 1600 examples 400 are chains of thought, and 200 have each of the other forms.

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace reprise::rl {

enum class Strategy { kChainOfThought, kMece, kFalsification, kExpert, kOrthogonal, kSelfDoubt, kBayesian };

inline constexpr std::array<absl::string_view, 7> kStrategyNames = {
    "chain_of_thought", "mece", "falsification", "expert", "orthogonal", "self_doubt", "bayesian"};
inline constexpr int64_t kExamplesOfRound = 1600, kChainsOfRound = 400, kOthersOfRound = 200;

// Returns the form of an example, which counts from 0. Pure.
Strategy ChooseStrategy(int64_t example);

// Returns the tokens of a thought without its delimiters. hint: what it writes down; thinking_tokens: the ids of
// models::kThinkingTokens, in that order. Pure.
std::vector<int32_t> BakedThought(Strategy strategy, absl::Span<const int32_t> hint,
                                  absl::Span<const int32_t> thinking_tokens);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_BAKING_H_
