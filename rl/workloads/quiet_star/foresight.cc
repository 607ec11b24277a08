#include "rl/workloads/quiet_star/foresight.h"

#include "core/status/check.h"
#include "kernels/sums/sums.h"
#include "models/quiet_star/injector.h"
#include "models/quiet_star/thought.h"

namespace reprise::rl {
namespace {

int64_t CountTokensAhead(const TextToThinkAbout& text, const ThoughtPlaces& places, size_t m) {
  return models::TokensAhead(places.position_M[m], static_cast<int64_t>(text.token_S.size()), places.tokens_ahead);
}

// Returns the places in mixed_..._A of the first token that each thought predicts: position by position, sample by
// sample.
std::vector<size_t> FirstPredictions(const TextToThinkAbout& text, const ThoughtPlaces& places,
                                     const models::ThoughtScores& scores) {
  std::vector<size_t> first;
  size_t next = 0;
  for (size_t m = 0; m < places.position_M.size(); ++m) {
    for (int64_t g = 0; g < places.generations; ++g) {
      first.push_back(next);
      next += static_cast<size_t>(CountTokensAhead(text, places, m));
    }
  }
  CHECK_EQ(next, scores.mixed_logprob_A.size());
  return first;
}

struct Sum {
  std::vector<double> logprobs;
  int64_t hits = 0;

  void Add(float logprob, uint8_t correct) {
    logprobs.push_back(static_cast<double>(logprob));
    hits += correct;
  }
  Foresight foresight() const { return {kernels::TreeSum(logprobs), hits}; }
};

}  // namespace

std::vector<int64_t> DifficultPositions(const QuietStarConfig& quiet_star, int64_t vocabulary,
                                        const models::ThoughtScores& scores, bool held_out) {
  std::vector<float> error_S;
  if (!held_out) {
    for (const float logprob : scores.base_logprob_S) error_S.push_back(-logprob);
  }
  return models::ThinkingPositions(
      {.threshold = quiet_star.injection_threshold, .interval = quiet_star.injection_interval}, vocabulary,
      {.entropy_S = scores.base_entropy_S, .dispersion_S = scores.dispersion_S, .error_S = error_S});
}

std::vector<PositionForesight> ComputeForesights(const TextToThinkAbout& text, const ThoughtPlaces& places,
                                                 const models::ThoughtScores& scores) {
  const std::vector<size_t> first = FirstPredictions(text, places, scores);
  std::vector<PositionForesight> foresight_M(places.position_M.size());
  for (size_t m = 0; m < foresight_M.size(); ++m) {
    const size_t position = static_cast<size_t>(places.position_M[m]),
                 ahead = static_cast<size_t>(CountTokensAhead(text, places, m));
    const auto counts = [&](size_t a) { return text.Counts(static_cast<int64_t>(position + 1 + a)); };
    Sum base;
    for (size_t a = 0; a < ahead; ++a) {
      // The scores without thoughts begin with the text's second token.
      if (counts(a)) base.Add(scores.base_logprob_S[position + a], scores.base_correct_S[position + a]);
    }
    foresight_M[m].base = base.foresight();
    for (size_t g = 0; g < static_cast<size_t>(places.generations); ++g) {
      Sum sum;
      const size_t at = first[m * static_cast<size_t>(places.generations) + g];
      for (size_t a = 0; a < ahead; ++a) {
        if (counts(a)) sum.Add(scores.mixed_logprob_A[at + a], scores.mixed_correct_A[at + a]);
      }
      foresight_M[m].thought_G.push_back(sum.foresight());
    }
  }
  return foresight_M;
}

std::vector<std::vector<double>> ComputeThoughtRewards(const QuietStarConfig& quiet_star, const TextToThinkAbout& text,
                                                       const ThoughtPlaces& places,
                                                       const models::ThoughtScores& scores) {
  std::vector<std::vector<double>> reward_GM(static_cast<size_t>(places.generations));
  for (const PositionForesight& foresight : ComputeForesights(text, places, scores)) {
    const std::vector<double> reward_G =
        ThoughtRewards(quiet_star.reward, quiet_star.clamp_rewards, foresight.base, foresight.thought_G);
    for (size_t g = 0; g < reward_G.size(); ++g) reward_GM[g].push_back(reward_G[g]);
  }
  return reward_GM;
}

Prediction PredictionWith(const TextToThinkAbout& text, int64_t begin, const ThoughtPlaces& places, int64_t sample,
                          const models::ThoughtScores& scores) {
  const std::vector<size_t> first = FirstPredictions(text, places, scores);
  Prediction prediction;
  std::vector<double> logprobs;
  for (int64_t token = begin; token < static_cast<int64_t>(text.token_S.size()); ++token) {
    size_t before = places.position_M.size();  // the latest thought before the token
    while (before > 0 && places.position_M[before - 1] >= token) --before;
    const int64_t ahead = before == 0 ? places.tokens_ahead : token - 1 - places.position_M[before - 1];
    const bool is_mixed = ahead < places.tokens_ahead;
    const size_t at =
        is_mixed ? first[(before - 1) * static_cast<size_t>(places.generations) + static_cast<size_t>(sample)] +
                       static_cast<size_t>(ahead)
                 : static_cast<size_t>(token - 1);
    ++prediction.tokens;
    prediction.correct += is_mixed ? scores.mixed_correct_A[at] : scores.base_correct_S[at];
    logprobs.push_back(static_cast<double>(is_mixed ? scores.mixed_logprob_A[at] : scores.base_logprob_S[at]));
  }
  prediction.logprob = kernels::TreeSum(logprobs);
  return prediction;
}

Prediction PredictionWithout(const TextToThinkAbout& text, int64_t begin, const models::ThoughtScores& scores) {
  Prediction prediction;
  std::vector<double> logprobs;
  for (size_t token = static_cast<size_t>(begin); token < text.token_S.size(); ++token) {
    ++prediction.tokens;
    prediction.correct += scores.base_correct_S[token - 1];
    logprobs.push_back(static_cast<double>(scores.base_logprob_S[token - 1]));
  }
  prediction.logprob = kernels::TreeSum(logprobs);
  return prediction;
}

}  // namespace reprise::rl
