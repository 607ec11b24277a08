// Compares the decoder's gradient with central differences of the double-precision reference.

#include <cmath>
#include <map>

#include "gtest/gtest.h"
#include "models/decoder/load_balancing.h"
#include "models/decoder/scoring.h"
#include "models/decoder/testing/reference_decoder.h"
#include "models/decoder/testing/testing.h"

namespace reprise::models {
namespace {

constexpr double kTemperature = 0.7;

// L = sum over t of w_t log p(token_{t+1}), plus a_e times every router probability of expert e.
struct Problem {
  DecoderConfig config;
  std::vector<int32_t> tokens;
  std::vector<float> weight_T;
  AuxiliaryGradient auxiliary_E;
};

Problem MakeProblem(int variant) {
  Problem problem;
  problem.config = testing::SmallConfig();
  if (variant & 1) problem.config.clip_qkv = 0.8;
  if (variant & 2) problem.config.norm_topk_prob = true;
  if (variant & 4) problem.config.tie_word_embeddings = true;
  problem.tokens = testing::RandomTokens(problem.config, 7, 14);
  for (size_t t = 0; t + 1 < problem.tokens.size(); ++t) {
    problem.weight_T.push_back(0.3f * static_cast<float>(t % 5) - 0.5f);
  }
  for (int64_t e = 0; e < problem.config.num_experts; ++e) {
    problem.auxiliary_E.push_back(0.1f * static_cast<float>(e) - 0.2f);
  }
  return problem;
}

double Loss(const Problem& problem, const DecoderLayout& layout, const std::vector<double>& parameters) {
  const auto out = testing::ReferenceForward(problem.config, layout, parameters, problem.tokens, kTemperature);
  double loss = 0;
  for (size_t t = 0; t < problem.weight_T.size(); ++t) {
    const size_t target = static_cast<size_t>(problem.tokens[t + 1]);
    loss += problem.weight_T[t] * out.logprob_TV[t * static_cast<size_t>(problem.config.vocab_size) + target];
  }
  for (size_t i = 0; i < out.probability_LTE.size(); ++i) {
    loss += problem.auxiliary_E[i % problem.auxiliary_E.size()] * out.probability_LTE[i];
  }
  return loss;
}

std::vector<float> Gradient(const Problem& problem, const Model& model, GradientSink* sink) {
  Activations activations(problem.config, true);
  Forward(model.decoder(), testing::SequenceBatch(problem.tokens), nullptr, &activations);
  ScoredRows scored;
  for (size_t t = 0; t < problem.weight_T.size(); ++t) scored.Add(static_cast<int64_t>(t), &problem.tokens[t + 1], 1);
  ScoreBuffers buffers;
  ScoreForward(model.decoder(), activations, scored, kTemperature, &buffers);
  std::vector<float> total(static_cast<size_t>(model.layout().total), 0.0f),
      dhidden(static_cast<size_t>(activations.rows() * problem.config.hidden_size));
  ShardGradient gradient;
  StartShard(problem.config, model.layout(), total.data(), nullptr, &gradient);
  ScoreBackward(model.decoder(), activations, scored, {.dlogprob = problem.weight_T.data()}, &buffers, dhidden.data(),
                {&gradient, sink});
  Backward(model.decoder(), problem.auxiliary_E, &activations, nullptr, dhidden.data(), {&gradient, sink});
  return total;
}

class BackwardTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(EveryField, BackwardTest, ::testing::Values(0, 1, 2, 4, 7));

TEST_P(BackwardTest, AgreesWithCentralDifferencesInEveryTensor) {
  const Problem problem = MakeProblem(GetParam());
  const std::unique_ptr<Model> model = testing::RandomModel(problem.config, 11);
  const std::vector<float> gradient = Gradient(problem, *model, nullptr);
  std::vector<double> parameters(model->parameters().begin(), model->parameters().end());
  for (const ParameterSpec& spec : model->layout().specs) {
    double largest = 0;
    for (int64_t i = 0; i < spec.size; ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(gradient[spec.offset + i])));
    }
    // Tests some elements of each tensor: the first, the last, and a few between.
    for (int64_t i = 0; i < spec.size; i += std::max<int64_t>(1, (spec.size - 1) / 5)) {
      const size_t at = static_cast<size_t>(spec.offset + i);
      const double value = parameters[at], h = 1e-5;
      parameters[at] = value + h;
      const double above = Loss(problem, model->layout(), parameters);
      parameters[at] = value - h;
      const double below = Loss(problem, model->layout(), parameters);
      parameters[at] = value;
      EXPECT_NEAR(gradient[at], (above - below) / (2 * h), std::max(1e-5 * largest, 2e-6))
          << spec.name << " element " << i;
    }
  }
}

class Heard : public GradientSink {
 public:
  void Finished(int spec, const ShardGradient&) override { ++times_[spec]; }
  std::map<int, int> times_;
};

TEST_P(BackwardTest, ReportsEveryTensorToTheSinkOnce) {
  const Problem problem = MakeProblem(GetParam());
  const std::unique_ptr<Model> model = testing::RandomModel(problem.config, 11);
  Heard heard;
  Gradient(problem, *model, &heard);
  ASSERT_EQ(heard.times_.size(), model->layout().specs.size());
  for (const auto& [spec, times] : heard.times_) EXPECT_EQ(times, 1) << spec;
}

}  // namespace
}  // namespace reprise::models
