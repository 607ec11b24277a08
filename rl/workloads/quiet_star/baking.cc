#include "rl/workloads/quiet_star/baking.h"

#include "core/status/check.h"

namespace reprise::rl {
namespace {

// The places in models::kThinkingTokens.
enum ThinkingToken : size_t { kThink, kEndThink, kStep, kReason, kMeceToken, kFalsify, kExpertToken, kDoubt, kCount };

std::vector<ThinkingToken> StrategyMarks(Strategy strategy) {
  switch (strategy) {
    case Strategy::kChainOfThought:
      return {kStep};
    case Strategy::kMece:
      return {kMeceToken};
    case Strategy::kFalsification:
      return {kFalsify};
    case Strategy::kExpert:
      return {kExpertToken};
    case Strategy::kOrthogonal:
      return {kReason, kStep};
    case Strategy::kSelfDoubt:
      return {kDoubt};
    case Strategy::kBayesian:
      break;
  }
  return {kReason};
}

}  // namespace

Strategy ChooseStrategy(int64_t example) {
  CHECK_GE(example, 0);
  const int64_t place = example % kExamplesOfRound;
  if (place < kChainsOfRound) return Strategy::kChainOfThought;
  return static_cast<Strategy>(1 + (place - kChainsOfRound) / kOthersOfRound);
}

std::vector<int32_t> BakedThought(Strategy strategy, absl::Span<const int32_t> hint,
                                  absl::Span<const int32_t> thinking_tokens) {
  CHECK_EQ(thinking_tokens.size(), static_cast<size_t>(kCount));
  std::vector<int32_t> tokens;
  const auto mark = [&] {
    for (const ThinkingToken token : StrategyMarks(strategy)) tokens.push_back(thinking_tokens[token]);
  };
  if (strategy != Strategy::kChainOfThought || hint.empty()) mark();
  for (const int32_t token : hint) {
    if (strategy == Strategy::kChainOfThought) mark();
    tokens.push_back(token);
  }
  return tokens;
}

}  // namespace reprise::rl
