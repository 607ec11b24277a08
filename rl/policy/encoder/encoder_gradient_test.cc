// The gradient of every tensor against central differences of a second implementation in double.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/decoder/testing/reference_decoder.h"
#include "rl/policy/encoder/encoder_testing.h"

namespace reprise::rl {
namespace {

using testing::PassOptions;
using testing::RandomPolicy;
using testing::RunPass;
using testing::SmallEncoder;
using testing::TextShard;
using Vector = std::vector<double>;

Vector Doubles(absl::Span<const float> floats) { return {floats.begin(), floats.end()}; }

// A network of a policy's shape with other parameters.
class Reference {
 public:
  struct Output {
    Vector logprob_A, probability_LTE;
    double value = 0;
  };

  explicit Reference(const EncoderPolicy& policy) : policy_(policy), trunk_(models::TrunkLayout(policy.encoder())) {}

  Output Run(const Vector& parameters, const std::vector<int32_t>& text) const {
    const auto decoded = models::testing::ReferenceForward(policy_.encoder(), trunk_, parameters, text, 1.0);
    const size_t width = static_cast<size_t>(policy_.encoder().hidden_size);
    Vector embedding(width);
    for (size_t i = 0; i < decoded.hidden_TD.size(); ++i) embedding[i % width] += decoded.hidden_TD[i];
    for (double& value : embedding) value /= static_cast<double>(text.size());
    Output output = {Head(parameters, "action_head", embedding), decoded.probability_LTE};
    double sum = 0;
    for (double& z : output.logprob_A) sum += std::exp(z /= static_cast<double>(testing::kTemperature));
    for (double& z : output.logprob_A) z -= std::log(sum);
    if (policy_.shape().has_values) output.value = Head(parameters, "value_head", embedding)[0];
    return output;
  }

 private:
  Vector Layer(const Vector& parameters, const std::string& name, const Vector& x) const {
    Vector y;
    for (const ParameterSpec& spec : policy_.layout().specs) {
      const double* const at = parameters.data() + spec.offset;
      if (spec.name == name + ".weight") {
        for (int64_t n = 0; n < spec.shape[0]; ++n) {
          y.push_back(0);
          for (size_t k = 0; k < x.size(); ++k) y.back() += at[static_cast<size_t>(n) * x.size() + k] * x[k];
        }
      }
      if (spec.name == name + ".bias") {
        for (size_t n = 0; n < y.size(); ++n) y[n] += at[n];
      }
    }
    return y;
  }

  Vector Head(const Vector& parameters, const std::string& name, const Vector& embedding) const {
    Vector hidden = Layer(parameters, name + ".0", embedding);
    for (double& value : hidden) value = std::max(value, 0.0);
    return Layer(parameters, name + ".1", hidden);
  }

  const EncoderPolicy& policy_;
  const models::DecoderLayout trunk_;
};

// The loss of testing::RunPass, and load balancing.
struct Loss {
  const Reference& network;
  const TextShard& shard;
  const PassTotals& totals;
  const models::DecoderConfig& config;
  std::map<std::vector<int32_t>, Vector> reference_logprob_A = {};  // by text
  std::map<std::vector<int32_t>, double> decisions_by = {};         // that read the text

  double Balance(const Vector& parameters) const {
    const double rows = static_cast<double>(totals.step_rows * config.num_hidden_layers);
    Vector count_E(static_cast<size_t>(config.num_experts));
    for (size_t i = 0; i < totals.count_C.size(); ++i) {
      count_E[i % count_E.size()] += static_cast<double>(totals.count_C[i]);
    }
    double sum = 0;
    for (const auto& [text, decisions] : decisions_by) {
      const Vector probability_LTE = network.Run(parameters, text).probability_LTE;
      for (size_t i = 0; i < probability_LTE.size(); ++i) {
        sum += decisions * count_E[i % count_E.size()] / rows * probability_LTE[i] / rows;
      }
    }
    return static_cast<double>(config.num_experts) * sum;
  }

  double At(const Vector& parameters) const {
    double loss = config.router_aux_loss_coef * Balance(parameters);
    std::map<std::vector<int32_t>, Reference::Output> outputs;
    for (const auto& [text, unused] : reference_logprob_A) outputs[text] = network.Run(parameters, text);
    for (size_t n = 0; n < shard.episode_N().size(); ++n) {
      const TextDecisions& content = TextDecisionsIn(shard.episode_N()[n]);
      for (size_t t = 0; t < content.action_T.size(); ++t) {
        const Reference::Output& output = outputs[content.token_TS[t]];
        const Vector& reference_A = reference_logprob_A.at(content.token_TS[t]);
        loss += testing::WeightOf(static_cast<int64_t>(n), t) * output.logprob_A[content.action_T[t]];
        for (size_t a = 0; a < output.logprob_A.size(); ++a) {
          const double logprob = output.logprob_A[a], probability = std::exp(logprob);
          loss -= testing::kEntropyWeight * probability * logprob;
          loss += testing::kDivergenceWeight * probability * (logprob - reference_A[a]);
        }
        loss += output.value * output.value / 2;
      }
    }
    return loss;
  }
};

TEST(EncoderGradientTest, AgreesWithCentralDifferencesInEveryTensor) {
  const models::DecoderConfig config = SmallEncoder();
  const auto policy = RandomPolicy(config, /*has_values=*/true, 1), other = RandomPolicy(config, false, 2);
  const TextShard shard(config, 3);
  const PassTotals totals = testing::ComputeTotals(*policy, shard.input());
  const testing::Pass pass = RunPass(*policy, shard.input(), {.reference = other.get(), .totals = totals});
  const Reference network(*policy), of_other(*other);
  Loss loss = {network, shard, totals, config};
  for (const std::vector<int32_t>& text : shard.DecisionTexts()) {
    loss.reference_logprob_A[text] = of_other.Run(Doubles(other->parameters()), text).logprob_A;
    loss.decisions_by[text] += 1;
  }
  Vector parameters = Doubles(policy->parameters());
  EXPECT_NEAR(policy->OwnMetrics(totals, pass.sum_M)[0].second, loss.Balance(parameters), 1e-6);
  const std::vector<int32_t> read = shard.DecisionTexts()[1];
  for (const ParameterSpec& spec : policy->layout().specs) {
    double largest = 0;
    for (int64_t i = spec.offset; i < spec.offset + spec.size; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(pass.gradient[i])));
    }
    EXPECT_GT(largest, 0) << spec.name;
    const bool is_embedding = spec.kind == ParameterKind::kEmbedding;
    for (int64_t i = 0; i < spec.size; i += std::max<int64_t>(1, (spec.size - 1) / 4)) {
      const int64_t row = is_embedding ? read[static_cast<size_t>(i) % read.size()] : 0;
      const size_t at =
          static_cast<size_t>(spec.offset + (is_embedding ? row * config.hidden_size + i % config.hidden_size : i));
      const double value = parameters[at], h = 1e-5;
      parameters[at] = value + h;
      const double above = loss.At(parameters);
      parameters[at] = value - h;
      const double below = loss.At(parameters);
      parameters[at] = value;
      EXPECT_NEAR(pass.gradient[at], (above - below) / (2 * h), std::max(3e-5 * largest, 5e-6))
          << spec.name << " element " << at - static_cast<size_t>(spec.offset);
    }
  }
}

// The exact divergence is a function of the policy that learns, and not of what was recorded: it has a gradient even
// where no log-probability has one, and none where both are the same.
TEST(EncoderGradientTest, TheDivergenceIsNotNegativeAndHasAGradient) {
  const models::DecoderConfig config = SmallEncoder();
  const auto policy = RandomPolicy(config, /*has_values=*/false, 1), other = RandomPolicy(config, false, 2);
  const TextShard shard(config, 3);
  PassOptions options = {.reference = other.get(), .with_values = false, .only_divergence = true};
  const testing::Pass pass = RunPass(*policy, shard.input(), options);
  ASSERT_EQ(pass.divergences.size(), pass.logprobs.size());
  for (const float divergence : pass.divergences) EXPECT_GT(divergence, 0);
  for (const ParameterSpec& spec : policy->layout().specs) {
    const auto begin = pass.gradient.begin() + spec.offset;
    EXPECT_TRUE(std::any_of(begin, begin + spec.size, [](float g) { return g != 0; })) << spec.name;
  }
  const std::unique_ptr<Policy> copy = policy->FrozenCopy();
  options.reference = copy.get();
  const testing::Pass same = RunPass(*policy, shard.input(), options);
  EXPECT_EQ(same.divergences, std::vector<float>(same.divergences.size(), 0.0f));
}

}  // namespace
}  // namespace reprise::rl
