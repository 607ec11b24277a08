#include "models/quiet_star/attention_dispersion.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/testing/testing.h"
#include "models/quiet_star/thinking_tokens.h"
#include "models/quiet_star/thought_pass.h"
#include "models/quiet_star/thought_testing.h"

namespace reprise::models {
namespace {

using testing::RandomThoughtModel;
using testing::SmallConfig;

std::vector<float> DispersionOf(const ThoughtModel& model, absl::Span<const ThoughtfulText> texts, size_t which,
                                bool recompute = false, int64_t max_rows = 0) {
  ThoughtWorkspace work(model.config(), max_rows, recompute, Team());
  ThoughtPassOptions options = {.delimiters = DelimitersOf(model.config()), .tokens_ahead = 2};
  options.dispersion = true;
  std::vector<std::vector<float>> dispersion_TS;
  ScoreThoughts(
      {model.decoder(), model.heads()}, texts, options,
      [&](int64_t, const ThoughtScores& scores) { dispersion_TS.push_back(scores.dispersion_S); }, &work);
  return dispersion_TS[which];
}

// The same by an obvious double loop over rows and the rows that they see.
std::vector<double> ObviousDispersion(const ThoughtModel& model, const std::vector<int32_t>& tokens) {
  const DecoderConfig& config = model.config();
  Activations activations(config, /*training=*/true);
  Forward(model.decoder(), testing::SequenceBatch(tokens), nullptr, &activations);
  const Projections last(config, activations.layer(config.num_hidden_layers - 1).qkv_TC);
  const int64_t width = config.head_width(), heads = config.num_attention_heads;
  std::vector<double> dispersion_S(tokens.size() - 1);
  for (int64_t s = 1; s + 1 < static_cast<int64_t>(tokens.size()); ++s) {
    double sum = 0;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t key_head = h * config.num_key_value_heads / heads;
      double total = 0;
      std::vector<double> p_J;
      for (int64_t j = 0; j <= s; ++j) {
        double score = 0;
        for (int64_t d = 0; d < width; ++d) score += last.q[s][h * width + d] * last.k[j][key_head * width + d];
        p_J.push_back(std::exp(score / std::sqrt(static_cast<double>(width))));
        total += p_J.back();
      }
      for (const double p : p_J) sum -= p / total * std::log(p / total);
    }
    dispersion_S[s] = sum / static_cast<double>(heads) / std::log(static_cast<double>(s + 1));
  }
  return dispersion_S;
}

TEST(AttentionDispersionTest, IsTheMeanNormalisedEntropyOfTheLastLayersHeads) {
  const auto model = RandomThoughtModel(SmallConfig(), {}, 3);
  const std::vector<int32_t> tokens = testing::RandomTokens(SmallConfig(), 8, 11);
  const ThoughtfulText text = {tokens, {}};
  const std::vector<float> actual = DispersionOf(*model, {&text, 1}, 0);
  const std::vector<double> expected = ObviousDispersion(*model, tokens);
  ASSERT_EQ(actual.size(), expected.size());
  double least = 1, most = 0;
  for (size_t s = 0; s < actual.size(); ++s) {
    EXPECT_NEAR(actual[s], expected[s], 1e-6) << s;
    if (s > 0) least = std::min<double>(least, actual[s]), most = std::max<double>(most, actual[s]);
  }
  EXPECT_EQ(actual[0], 0);
  EXPECT_LT(least + 1e-3, most) << "rows that attend alike would hide a wrong head or row";
}

TEST(AttentionDispersionTest, NoOtherTextNoThoughtAndNoDivisionIntoBatchesChangesABit) {
  const auto model = RandomThoughtModel(SmallConfig(), {}, 3);
  const testing::ThoughtExamples examples(SmallConfig(), {7, 9});
  const ThoughtfulText alone = {examples.texts()[1].tokens, {}};
  const std::vector<float> expected = DispersionOf(*model, {&alone, 1}, 0);
  ASSERT_EQ(expected.size(), 8u);
  EXPECT_EQ(DispersionOf(*model, examples.texts(), 1), expected);
  EXPECT_EQ(DispersionOf(*model, examples.texts(), 1, /*recompute=*/true), expected);
  EXPECT_EQ(DispersionOf(*model, examples.texts(), 1, true, /*max_rows=*/20), expected);  // cut
}

}  // namespace
}  // namespace reprise::models
