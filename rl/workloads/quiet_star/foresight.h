#ifndef RL_WORKLOADS_QUIET_STAR_FORESIGHT_H_
#define RL_WORKLOADS_QUIET_STAR_FORESIGHT_H_

// What thoughts are worth for the text that follows them, from the scores of a pass over a text with its thoughts: the
// rewards of training, and the accuracies of evaluations; and from those without thoughts, where to think. A text token
// is predicted by the row before it: the thought after token i predicts tokens i + 1, i + 2, ... Tokens that do not
// count (TextToThinkAbout) are left out.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "models/quiet_star/thought_pass.h"
#include "rl/config/config.h"
#include "rl/policy/thoughts/thought_episodes.h"
#include "rl/reward/thought_reward.h"

namespace reprise::rl {

// The thoughts of a group: G at each of M positions, ascending.
struct ThoughtPlaces {
  std::vector<int64_t> position_M;
  int64_t generations = 1;   // G
  int64_t tokens_ahead = 1;  // of text that a thought predicts, at most
};

// What one text's thoughts at one position made of the tokens behind it.
struct PositionForesight {
  Foresight base;
  std::vector<Foresight> thought_G;
};

// Returns the positions of quiet_star.positions "difficult" from the scores of a text without thoughts. vocabulary: of
// the model. held_out: the losses of the text's own tokens are left out, as in evaluations: a choice by the loss of the
// token that a thought is to predict would tell whether the model has it wrong. What remains at a position follows from
// the text up to it. Pure.
std::vector<int64_t> DifficultPositions(const QuietStarConfig& quiet_star, int64_t vocabulary,
                                        const models::ThoughtScores& scores, bool held_out);

// Returns one for each position. scores: of the text with all of these thoughts, as the pass orders them. Pure.
std::vector<PositionForesight> ComputeForesights(const TextToThinkAbout& text, const ThoughtPlaces& places,
                                                 const models::ThoughtScores& scores);

// Returns the rewards of the thoughts, [G][M], according to the keys of [quiet_star]. Pure.
std::vector<std::vector<double>> ComputeThoughtRewards(const QuietStarConfig& quiet_star, const TextToThinkAbout& text,
                                                       const ThoughtPlaces& places,
                                                       const models::ThoughtScores& scores);

// How well the tokens [begin, end of the text) are predicted: with a token's latest thought that predicts it, or where
// it has none as without thoughts.
struct Prediction {
  int64_t tokens = 0, correct = 0;  // correct: of them, those that were (one of) the most probable
  double logprob = 0;               // sum

  bool is_all_correct() const { return correct == tokens; }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(tokens); }
};
Prediction PredictionWith(const TextToThinkAbout& text, int64_t begin, const ThoughtPlaces& places, int64_t sample,
                          const models::ThoughtScores& scores);
Prediction PredictionWithout(const TextToThinkAbout& text, int64_t begin, const models::ThoughtScores& scores);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_FORESIGHT_H_
