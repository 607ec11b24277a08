// Compares every parameter's gradient of the cross-entropy, with and without the load-balancing loss, with the
// reference.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/router/router.h"
#include "models/decoder/load_balancing.h"
#include "rl/testing/golden_json.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/sequence_scores.h"

namespace reprise::golden {
namespace {

constexpr double kAuxiliary = 0.01;  // grad_total is that of ce + 0.01 aux
constexpr double kRelativeNorm = 1e-5;

// Returns the gradient of ce + coefficient * aux, in the layout of the parameters.
std::vector<float> Gradient(const models::Model& model, const Vectors& vectors, double coefficient) {
  const models::DecoderConfig& config = model.config();
  SequenceScores scores = Score(model.decoder(), vectors.Sequences(), 1.0f);
  std::vector<int64_t> count_LE = models::NoExpertCounts(config);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    kernels::CountExperts(scores.activations.rows(), config.num_experts_per_tok, scores.activations.layer(i).expert_TK,
                          count_LE.data());
  }
  std::vector<float> total(static_cast<size_t>(model.layout().total));
  models::ShardGradient gradient;
  models::StartShard(config, model.layout(), total.data(), nullptr, &gradient);
  const float dlogprob = static_cast<float>(-1.0 / static_cast<double>(scores.rows.targets()));
  const std::vector<float> dlogprobs(static_cast<size_t>(scores.rows.targets()), dlogprob);
  std::vector<float> dhidden_TD(static_cast<size_t>(scores.activations.rows() * config.hidden_size));
  models::ScoreBackward(model.decoder(), scores.activations, scores.rows, {.dlogprob = dlogprobs.data()},
                        &scores.buffers, dhidden_TD.data(), {&gradient});
  models::Backward(model.decoder(),
                   models::LoadBalancingGradient(config, coefficient, count_LE, scores.activations.rows()),
                   &scores.activations, nullptr, dhidden_TD.data(), {&gradient});
  return total;
}

void CompareElements(const std::string& kind, const std::string& name, absl::Span<const float> ours,
                     const Vectors& vectors, Errors* errors) {
  const std::vector<double> golden = vectors.Doubles(name);
  ASSERT_EQ(ours.size(), golden.size()) << name;
  double largest = 0;
  for (double x : golden) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < golden.size(); ++i) {
    errors->Compare(kind, ours[i], golden[i], std::max(1e-6, 1e-5 * largest), absl::StrCat(name, "[", i, "]"));
  }
}

// Compares all gradients that the set contains for `prefix`, which is "grad_ce." or "grad_total.".
void CompareGradient(const std::string& set_name, const std::string& prefix, const models::DecoderLayout& layout,
                     const std::vector<float>& gradient, const Vectors& vectors, Errors* errors) {
  const nlohmann::json facts = rl::testing::ReadGoldenJson("fwd_" + set_name + ".tolerance.json");
  const nlohmann::json& norms = facts["grad_norm_per_tensor_f64"];
  for (const ParameterSpec& spec : layout.specs) {
    const std::string name = prefix + spec.name;
    const absl::Span<const float> ours = SelectGradient(spec, gradient);
    if (vectors.Has(name)) CompareElements(prefix + " elements", name, ours, vectors, errors);
    if (norms.contains(name)) {
      const double norm = norms[name];
      errors->Compare(prefix + " norms", Norm(ours), norm, kRelativeNorm * norm, name);
    }
  }
  const double norm = vectors.Scalar(prefix == "grad_ce." ? "f64.gradnorm_ce" : "f64.gradnorm_total");
  errors->Compare(prefix + " norm of all", Norm(gradient), norm, kRelativeNorm * norm, "all");
}

Errors GradientErrors(const std::string& name, const models::Model& model, const Vectors& vectors) {
  Errors errors;
  CompareGradient(name, "grad_ce.", model.layout(), Gradient(model, vectors, 0.0), vectors, &errors);
  CompareGradient(name, "grad_total.", model.layout(), Gradient(model, vectors, kAuxiliary), vectors, &errors);
  return errors;
}

using GradientGoldenTest = GoldenModelTest;
INSTANTIATE_ON_GOLDEN_MODELS(GradientGoldenTest);

TEST_P(GradientGoldenTest, EqualsTheReferenceForEveryParameter) {
  for (const ParameterSpec& spec : model_->layout().specs) {
    EXPECT_TRUE(vectors_->Has("grad_total." + spec.name)) << spec.name;
  }
  ExpectWithin(GradientErrors(GetParam(), *model_, *vectors_));
}

TEST_P(GradientGoldenTest, DetectsAnErrorOfOnePercentInTheWeights) {
  Perturb(0.01, model_.get());
  const Errors errors = GradientErrors(GetParam(), *model_, *vectors_);
  for (const auto& [kind, error] : errors.kinds()) EXPECT_FALSE(errors.Within(kind)) << errors.ToString();
}

TEST_P(GradientGoldenTest, DetectsAMissingLoadBalancingLoss) {
  Errors errors;
  CompareGradient(GetParam(), "grad_total.", model_->layout(), Gradient(*model_, *vectors_, 0.0), *vectors_, &errors);
  EXPECT_FALSE(errors.Within("grad_total. elements")) << errors.ToString();
}

}  // namespace
}  // namespace reprise::golden
