#include "rl/episodes/action_checks.h"

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "rl/record/completions/record_turns.h"

namespace reprise::rl {
namespace {

using grid_navigation::ActionMask;

ActionCheck CheckAction(absl::Span<const std::string> text_T, const ActionCheckOptions& options) {
  const ActionMask mask = grid_navigation::MaskAction(text_T, options.choices, options.range);
  ActionCheck check = {.method = mask.method,
                       .valid = mask.valid,
                       .learned_begin = 0,
                       .learned_end = static_cast<int64_t>(text_T.size())};
  if (options.masks_reasoning) {
    check.learned_begin = mask.begin;
    check.learned_end = mask.end;
  }
  return check;
}

}  // namespace

ActionCheckOptions MakeActionCheckOptions(const EnvironmentConfig& config) {
  return {.masks_reasoning = config.action_mask == LearnedTokens::kAction,
          .drops_invalid = config.invalid_episodes == InvalidEpisodes::kDrop,
          .range = {config.min_action_tokens, config.max_action_tokens},
          .choices = config.kinds};
}

void CheckActions(const models::Tokenizer& tokenizer, const TurnRules& rules, const ActionCheckOptions& options,
                  EpisodeRecord* episode) {
  CompletionEpisode& completion = CompletionOf(*episode);
  absl::Span<const int32_t> rest = completion.tokens;
  for (TurnRecord& turn : completion.turn_K) {
    rest.remove_prefix(static_cast<size_t>(turn.observation_tokens));
    const absl::Span<const int32_t> action = rest.subspan(0, static_cast<size_t>(turn.action_tokens));
    turn.check = CheckAction(ActionTokenTexts(tokenizer, rules, action), options);
    rest.remove_prefix(action.size());
  }
  episode->is_invalid = options.drops_invalid && !SummarizeChecks(completion)->is_valid();
  if (episode->is_invalid) {
    for (TurnRecord& turn : completion.turn_K) turn.check->learned_begin = turn.check->learned_end = 0;
  }
  episode->decisions = MakeDecisions(completion);
}

std::optional<grid_navigation::EpisodeCheck> SummarizeChecks(const CompletionEpisode& episode) {
  std::vector<grid_navigation::TurnCheck> checks;
  for (const TurnRecord& turn : episode.turn_K) {
    if (!turn.check) return std::nullopt;
    checks.push_back({turn.check->method, grid_navigation::MaskConfidence(turn.check->method),
                      turn.check->valid ? "" : "the environment refuses it"});
  }
  if (checks.empty()) return std::nullopt;
  return grid_navigation::CheckEpisode(checks);
}

}  // namespace reprise::rl
