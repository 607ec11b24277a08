// Compares training on given completions, from the model's weights to the gradient of the loss, with TRL's own
// trainers, for every case of loss_model.json.

#include "rl/loss/policy_loss.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "models/decoder/load_balancing.h"
#include "rl/policy/decoder/shard_gradient.h"
#include "rl/policy/decoder/shard_scores.h"
#include "rl/testing/golden_json.h"
#include "rl/testing/loss_cases.h"
#include "tests/golden/golden_model.h"

namespace reprise::golden {
namespace {

using Json = nlohmann::json;

constexpr double kLoss = 2e-6;
constexpr double kElement = 2e-6;
constexpr double kRelativeNorm = 1e-4;

// Returns the tokens where mask is 1.
std::vector<int32_t> Unpadded(const Json& ids, const Json& mask) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (mask[i] == 1) tokens.push_back(ids[i]);
  }
  return tokens;
}

// The batch's prompts with one completion each. TRL also routes a completion's last token, which predicts nothing, and
// its load-balancing loss counts that row; here a token without loss is appended for the same effect.
struct Batch {
  Batch(const Json& batch, bool with_last_rows) {
    for (size_t n = 0; n < batch["prompt_ids"].size(); ++n) {
      prompts.push_back(Unpadded(batch["prompt_ids"][n], batch["prompt_mask"][n]));
      completions.push_back(Unpadded(batch["completion_ids"][n], batch["completion_mask"][n]));
      tokens.push_back(completions.back().size());
      if (with_last_rows) completions.back().push_back(completions.back().back());
    }
    for (size_t n = 0; n < prompts.size(); ++n) groups.push_back({prompts[n], {completions[n]}});
  }

  double num_tokens() const {
    size_t sum = 0;
    for (size_t count : tokens) sum += count;
    return static_cast<double>(sum);
  }

  std::vector<std::vector<int32_t>> prompts, completions;
  std::vector<size_t> tokens;  // number of tokens with loss, by completion
  std::vector<rl::TrainingGroup> groups;
};

struct Outcome {
  double loss = 0;
  std::vector<float> gradient;
};

// Returns the old or reference log-probs of sample n at the case's temperature, stored under `key`.
std::vector<double> Given(const Json& goldens, const char* key, const Json& config, size_t n) {
  return rl::testing::Row(goldens[key][config["temperature"].dump()][n]);
}

Outcome Train(const models::Model& model, const Json& goldens, const Json& config) {
  const double auxiliary = config["aux"];
  const Batch batch(goldens["batch"], auxiliary != 0);
  const std::vector<double> advantages = rl::testing::Row(goldens["batch"]["advantages"]);
  const rl::LossOptions options = rl::testing::LossOptionsOfCase(config);
  EXPECT_OK(rl::ValidateLossOptions(options));
  const rl::LossNormalizer normalizer =
      rl::testing::NormalizerOfCase(config, static_cast<double>(batch.groups.size()), batch.num_tokens());

  Outcome outcome;
  const rl::CompletionLoss loss = [&](int64_t group, int64_t, const rl::DecisionScores& scores,
                                      const rl::DecisionGradients& gradients) {
    const size_t n = static_cast<size_t>(group), tokens = batch.tokens[n];
    const std::vector<double> logprob(scores.logprob_T.begin(),
                                      scores.logprob_T.begin() + static_cast<std::ptrdiff_t>(tokens));
    const std::vector<double> entropy(scores.entropy_T.begin(),
                                      scores.entropy_T.begin() + static_cast<std::ptrdiff_t>(tokens));
    const std::vector<double> old = Given(goldens, "old_per_token_logps", config, n);
    const std::vector<double> reference = Given(goldens, "ref_per_token_logps", config, n);
    rl::Sequence sequence;
    sequence.logprob_T = logprob;
    if (config["old_given"]) sequence.old_logprob_T = absl::MakeConstSpan(old).first(tokens);
    sequence.ref_logprob_T = absl::MakeConstSpan(reference).first(tokens);
    sequence.entropy_T = entropy;
    sequence.advantage = advantages[n];
    const rl::SequenceLoss result = rl::PolicyLoss(sequence, options, normalizer);
    outcome.loss += result.loss;
    for (size_t t = 0; t < tokens; ++t) gradients.dlogprob_T[t] = static_cast<float>(result.dloss_dlogprob_T[t]);
    for (size_t t = 0; t < result.dloss_dentropy_T.size(); ++t) {
      gradients.dentropy_T[t] = static_cast<float>(result.dloss_dentropy_T[t]);
    }
    return absl::OkStatus();
  };

  rl::ShardWorkspace workspace(model.config());
  const std::vector<int64_t> count_LE =
      rl::CountShardExperts(model.decoder(), batch.groups, /*max_rows=*/0, &workspace);
  int64_t rows = 0;
  for (const rl::TrainingGroup& group : batch.groups) {
    rows += static_cast<int64_t>(group.prompt.size() + group.completion_G[0].size()) - 1;
  }
  outcome.gradient.resize(static_cast<size_t>(model.layout().total));
  models::ShardGradient gradient;
  models::StartShard(model.config(), model.layout(), outcome.gradient.data(), nullptr, &gradient);
  const absl::StatusOr<rl::ShardCounts> counts =
      rl::AccumulateShard(model.decoder(), batch.groups,
                          {.temperature = static_cast<float>(config["temperature"].get<double>()),
                           .auxiliary_E = models::LoadBalancingGradient(model.config(), auxiliary, count_LE, rows)},
                          loss, &workspace, &gradient);
  EXPECT_OK(counts);
  outcome.loss +=
      auxiliary * models::LoadBalancingLoss(model.config(), counts->expert_count_LE, counts->probability_sum_E, rows);
  return outcome;
}

void CompareCase(const Json& golden, const std::string& name, const models::Model& model, const Outcome& outcome,
                 Errors* errors) {
  const Json& expect = golden["expect"];
  errors->Compare("loss", outcome.loss, expect["loss"], kLoss, name);
  const double norm = expect["grad_norm"];
  errors->Compare("gradient norm", Norm(outcome.gradient), norm, kRelativeNorm * norm, name);
  for (const auto& [tensor, values] : expect["grads"].items()) {
    const Json& rows = values;
    const std::vector<double> expected = rows[0].is_array() ? rl::testing::Flat(rows) : rl::testing::Row(rows);
    bool found = false;
    for (const ParameterSpec& spec : model.layout().specs) {
      if (spec.name != tensor) continue;
      found = true;
      const absl::Span<const float> ours = SelectGradient(spec, outcome.gradient);
      ASSERT_EQ(ours.size(), expected.size()) << name << " " << tensor;
      for (size_t i = 0; i < expected.size(); ++i) {
        errors->Compare("gradient elements", ours[i], expected[i], kElement,
                        absl::StrCat(name, " ", tensor, "[", i, "]"));
      }
    }
    EXPECT_TRUE(found) << tensor;
  }
}

class PolicyLossGoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    goldens_ = rl::testing::ReadGoldenJson("loss_model.json");
    ASSERT_OK_AND_ASSIGN(model_, LoadGoldenModel(goldens_["model"]));
  }

  Errors CaseErrors(const Json& golden) const {
    Errors errors;
    CompareCase(golden, golden["name"], *model_, Train(*model_, goldens_, golden["config"]), &errors);
    return errors;
  }

  Json goldens_;
  std::unique_ptr<models::Model> model_;
};

TEST_F(PolicyLossGoldenTest, LossAndGradientEqualTrlsOnEveryCase) {
  Errors errors;
  int64_t compared = 0;
  for (const Json& golden : goldens_["cases"]) {
    const std::string name = golden["name"];
    CompareCase(golden, name, *model_, Train(*model_, goldens_, golden["config"]), &errors);
    ++compared;
  }
  std::printf("loss_model.json: %lld of %lld cases\n%s", static_cast<long long>(compared),
              static_cast<long long>(goldens_["cases"].size()), errors.ToString().c_str());
  EXPECT_EQ(compared, 18);
  EXPECT_TRUE(errors.Within()) << errors.ToString();
}

TEST_F(PolicyLossGoldenTest, DetectsAMissingEntropyBonus) {
  for (Json golden : goldens_["cases"]) {
    if (golden["config"]["entropy_coef"] == 0.0) continue;
    golden["config"]["entropy_coef"] = 0.0;
    Errors errors;
    CompareCase(golden, golden["name"], *model_, Train(*model_, goldens_, golden["config"]), &errors);
    EXPECT_FALSE(errors.Within("loss")) << errors.ToString();
    EXPECT_FALSE(errors.Within("gradient elements")) << errors.ToString();
    return;
  }
  FAIL() << "no case has an entropy bonus";
}

TEST_F(PolicyLossGoldenTest, DetectsAnErrorOfOnePercentInTheWeights) {
  Perturb(0.01, model_.get());
  const Errors errors = CaseErrors(goldens_["cases"][0]);
  for (const auto& [kind, error] : errors.kinds()) EXPECT_FALSE(errors.Within(kind)) << errors.ToString();
}

TEST_F(PolicyLossGoldenTest, DetectsADifferentAdvantage) {
  goldens_["batch"]["advantages"][0] = goldens_["batch"]["advantages"][0].get<double>() + 0.01;
  const Errors errors = CaseErrors(goldens_["cases"][0]);
  EXPECT_FALSE(errors.Within("loss")) << errors.ToString();
  EXPECT_FALSE(errors.Within("gradient elements")) << errors.ToString();
}

}  // namespace
}  // namespace reprise::golden
