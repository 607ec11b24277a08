// Tests of the gradient of a shard's values: by a head on the policy's hidden states, or by a network of its own.

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "core/parallel/thread_pool.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/decoder/shard_scores.h"
#include "rl/policy/decoder/shard_testing.h"

namespace reprise::rl {
namespace {

using models::ValueModel;
using testing::ExampleShard;
using Values = std::map<std::pair<int64_t, int64_t>, std::vector<float>>;

struct Outcome {
  std::vector<float> gradient;
  Values values;
  double sum = 0;  // of the values, each weighted
};

float WeightOf(int64_t group, int64_t completion, size_t t) {
  return 0.3f * static_cast<float>(group + 1) - 0.4f * static_cast<float>(completion) + 0.1f * static_cast<float>(t);
}

// Returns the weighted sum of all values and its gradient, without any other loss.
Outcome SumValues(const ExampleShard& shard, int64_t max_rows) {
  const models::Model& model = *shard.model;
  const models::DecoderLayout& layout = model.layout();
  Outcome outcome;
  outcome.gradient.assign(static_cast<size_t>(layout.total), 0.0f);
  std::vector<float> open(outcome.gradient.size());
  const CompletionValueLoss value_loss = [&](int64_t group, int64_t completion, absl::Span<const float> value_T,
                                             absl::Span<float> dvalue_T) {
    outcome.values[{group, completion}].assign(value_T.begin(), value_T.end());
    for (size_t t = 0; t < value_T.size(); ++t) {
      dvalue_T[t] = WeightOf(group, completion, t);
      outcome.sum += static_cast<double>(dvalue_T[t]) * static_cast<double>(value_T[t]);
    }
    return absl::OkStatus();
  };
  const auto at = [&](std::vector<float>& flat, int spec) { return flat.data() + layout.specs[spec].offset; };
  ShardValues values(model.value_head(),
                     {at(outcome.gradient, layout.value.weight), at(open, layout.value.weight),
                      at(outcome.gradient, layout.value.bias), at(open, layout.value.bias), 0},
                     value_loss);
  ShardWorkspace workspace(shard.config);
  const models::Decoder& decoder = model.value_decoder();
  models::ShardGradient gradient;
  models::StartShard(decoder.config, decoder.layout, outcome.gradient.data() + layout.value.trunk_offset,
                     open.data() + layout.value.trunk_offset, &gradient);
  if (shard.config.value_model == ValueModel::kNetwork) {
    EXPECT_OK(AccumulateShardValues(decoder, shard.groups, max_rows, &workspace, &gradient, &values));
    return outcome;
  }
  const CompletionLoss no_loss = [](int64_t, int64_t, const DecisionScores&, const DecisionGradients&) {
    return absl::OkStatus();
  };
  EXPECT_OK(AccumulateShard(decoder, shard.groups, {.max_rows = max_rows, .values = &values}, no_loss, &workspace,
                            &gradient));
  return outcome;
}

class ShardValuesTest : public ::testing::TestWithParam<std::tuple<ValueModel, bool>> {
 protected:
  ShardValuesTest() : shard_(std::get<1>(GetParam()), std::get<0>(GetParam())) {}
  ExampleShard shard_;
};

INSTANTIATE_TEST_SUITE_P(HeadOrNetworkTiedOrNot, ShardValuesTest,
                         ::testing::Combine(::testing::Values(ValueModel::kHead, ValueModel::kNetwork),
                                            ::testing::Bool()));

TEST_P(ShardValuesTest, HaveTheSameBitsWhereverBatchesAreCut) {
  const Outcome whole = SumValues(shard_, 0);
  for (int64_t max_rows : {1, 7, 16, 25, 1000}) {
    const Outcome cut = SumValues(shard_, max_rows);
    EXPECT_EQ(std::memcmp(whole.gradient.data(), cut.gradient.data(), cut.gradient.size() * sizeof(float)), 0);
    EXPECT_EQ(whole.values, cut.values);
  }
}

TEST_P(ShardValuesTest, EqualThoseOfAForwardPassAlone) {
  const Outcome outcome = SumValues(shard_, 9);
  for (int64_t max_rows : {0, 5}) {
    Values values;
    ShardWorkspace workspace(shard_.config);
    EvaluateShard(
        shard_.model->value_decoder(), shard_.model->value_head(), shard_.groups, max_rows,
        [&](int64_t group, int64_t completion, absl::Span<const float> value_T) {
          values[{group, completion}].assign(value_T.begin(), value_T.end());
        },
        &workspace);
    EXPECT_EQ(outcome.values, values);
  }
}

TEST_P(ShardValuesTest, TheFirstTokensOfAGroupHaveOneValue) {
  Outcome outcome = SumValues(shard_, 0);
  std::set<float> firsts;
  for (int64_t group = 0; group < 3; ++group) {
    for (int64_t completion = 1; completion < 4; ++completion) {
      EXPECT_EQ((outcome.values[{group, completion}][0]), (outcome.values[{group, 0}][0]));
    }
    firsts.insert(outcome.values[{group, 0}][0]);
  }
  EXPECT_EQ(firsts.size(), 3u);
}

TEST_P(ShardValuesTest, TheirGradientAgreesWithFiniteDifferences) {
  const ExampleShard shard(std::get<1>(GetParam()), std::get<0>(GetParam()), /*dense=*/true);
  const std::vector<float> gradient = SumValues(shard, 9).gradient;
  ThreadPool pool(1);
  int tried = 0;
  // The steepest weight of every tensor: float's rounding hides the others.
  for (const ParameterSpec& spec : shard.model->layout().specs) {
    size_t at = static_cast<size_t>(spec.offset);
    for (size_t i = at; i < static_cast<size_t>(spec.offset + spec.size); ++i) {
      if (std::fabs(gradient[i]) > std::fabs(gradient[at])) at = i;
    }
    float& weight = shard.model->mutable_parameters()[at];
    const float middle = weight, high = middle + 0x1p-8f, low = middle - 0x1p-8f;
    const auto at_weight = [&](float value) {
      weight = value;
      shard.model->Refresh(pool);
      return SumValues(shard, 0).sum;
    };
    const double slope = (at_weight(high) - at_weight(low)) / (static_cast<double>(high) - static_cast<double>(low));
    at_weight(middle);
    EXPECT_NEAR(gradient[at], slope, 0.02 * std::fabs(slope) + 2e-3) << spec.name;
    tried += gradient[at] != 0 ? 1 : 0;
  }
  EXPECT_GT(tried, 20);
}

}  // namespace
}  // namespace reprise::rl
