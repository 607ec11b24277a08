// Every case of loss_logps.json (loss, gradient and metrics that TRL's own trainers computed from given log-probs), and
// the losses of loss_model.json, which gives the model's log-probs too.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/sums/sums.h"
#include "rl/loss/loss_metrics.h"
#include "rl/loss/policy_loss.h"
#include "rl/loss/top_entropy.h"
#include "rl/testing/golden_json.h"

namespace reprise::rl {
namespace {

using Json = nlohmann::json;
using testing::CaseCount;
using testing::ExpectGolden;
using testing::ExpectGoldenFloat;
using testing::Number;
using testing::ReadGoldenJson;
using testing::Row;
using testing::Rows;

struct Batch {
  std::vector<std::vector<double>> logprob_NT, old_NT, ref_NT, entropy_NT;
  std::vector<std::vector<uint8_t>> mask_NT;
  std::vector<double> advantage_N;
};

std::vector<std::vector<uint8_t>> Mask(const Json& rows) {
  std::vector<std::vector<uint8_t>> mask_NT;
  for (const Json& row : rows) mask_NT.push_back(row.get<std::vector<uint8_t>>());
  return mask_NT;
}

LossOptions OptionsOf(const Json& config) {
  LossOptions o;
  o.epsilon = config["epsilon"];
  o.epsilon_high = config["epsilon_high"];
  if (config.value("algo", "grpo") == "rloo") {
    o.loss_type = LossType::kRloo;
    o.importance_sampling_level = ImportanceLevel::kSequenceSum;
    return o;
  }
  o.loss_type = *ParseLossType(config["loss_type"].get<std::string>());
  o.importance_sampling_level = *ParseImportanceLevel(config["importance_sampling_level"].get<std::string>());
  if (!config["delta"].is_null()) o.delta = config["delta"];
  o.beta = config["beta"];
  o.use_bias_correction_kl = config["use_bias_correction_kl"];
  o.max_completion_length = config["max_completion_length"];
  o.sapo_temperature_pos = config["sapo_temperature_pos"];
  o.sapo_temperature_neg = config["sapo_temperature_neg"];
  o.vespo = {config["vespo"][0], config["vespo"][1], config["vespo"][2], config["vespo"][3]};
  o.top_entropy_quantile = config["top_entropy_quantile"];
  if (!config["off_policy_mask_threshold"].is_null()) o.off_policy_mask_threshold = config["off_policy_mask_threshold"];
  o.entropy_coef = config["entropy_coef"];
  return o;
}

// TRL divides a micro-batch's loss by the accumulation steps; a minibatch is that many of them.
LossNormalizer NormalizerOf(const Json& config, const Batch& batch) {
  const double accumulation = config.value("gradient_accumulation_steps", 1.0);
  double tokens = 0.0;
  for (const auto& mask_T : batch.mask_NT) tokens += static_cast<double>(std::count(mask_T.begin(), mask_T.end(), 1));
  return {.num_sequences = static_cast<double>(batch.advantage_N.size()) * accumulation,
          .num_tokens = tokens * accumulation,
          .mean_num_tokens =
              config.value("num_items_in_batch", tokens) * accumulation / config.value("steps_per_generation", 1.0)};
}

double ThresholdOf(const LossOptions& options, const Batch& batch) {
  std::vector<double> entropies;
  for (size_t n = 0; n < batch.entropy_NT.size(); ++n) {
    for (size_t t = 0; t < batch.entropy_NT[n].size(); ++t) {
      if (batch.mask_NT[n][t] != 0) entropies.push_back(batch.entropy_NT[n][t]);
    }
  }
  return TopEntropyThreshold(entropies, options.top_entropy_quantile);
}

std::vector<SequenceLoss> Losses(const Json& config, const Batch& batch) {
  const LossOptions options = OptionsOf(config);
  EXPECT_TRUE(ValidateLossOptions(options).ok());
  const LossNormalizer normalizer = NormalizerOf(config, batch);
  const double threshold = ThresholdOf(options, batch);
  std::vector<SequenceLoss> losses;
  for (size_t n = 0; n < batch.advantage_N.size(); ++n) {
    Sequence sequence = {.logprob_T = batch.logprob_NT[n],
                         .old_logprob_T = {},
                         .ref_logprob_T = batch.ref_NT[n],
                         .entropy_T = {},
                         .mask_T = batch.mask_NT[n],
                         .advantage = batch.advantage_N[n]};
    if (config["old_given"]) sequence.old_logprob_T = batch.old_NT[n];
    if (!batch.entropy_NT.empty()) sequence.entropy_T = batch.entropy_NT[n];
    losses.push_back(PolicyLoss(sequence, options, normalizer, threshold));
  }
  return losses;
}

double Total(const std::vector<SequenceLoss>& losses) {
  std::vector<double> values;
  for (const SequenceLoss& loss : losses) values.push_back(loss.loss);
  return kernels::TreeSum(values);
}

void ExpectMetrics(const Json& golden, const LossOptions& options, const std::vector<SequenceLoss>& losses,
                   const std::string& name) {
  std::vector<SequenceLossMetrics> metrics_N;
  for (const SequenceLoss& loss : losses) metrics_N.push_back(loss.metrics);
  const std::vector<NamedMetric> metrics = SummarizeLoss(options, metrics_N);
  for (const auto& [key, value] : golden.items()) {
    const auto found =
        std::find_if(metrics.begin(), metrics.end(), [&](const NamedMetric& m) { return m.name == key; });
    ASSERT_NE(found, metrics.end()) << name << " lacks " << key;
    const bool is_float = key.find("clip_ratio") != std::string::npos;
    (is_float ? ExpectGoldenFloat : ExpectGolden)(found->value, Number(value), name + " " + key);
  }
}

std::string RowOf(const Json& config) {
  const LossOptions o = OptionsOf(config);
  return std::string(LossTypeName(o.loss_type)) + " " + std::string(ImportanceLevelName(o.importance_sampling_level)) +
         (o.beta != 0 ? " kl" : "") + (o.delta ? " delta" : "") + (o.entropy_coef != 0 ? " entropy bonus" : "") +
         (o.top_entropy_quantile < 1 ? " top entropy" : "") + (o.off_policy_mask_threshold ? " off-policy mask" : "");
}

void ExpectGradient(const Json& golden, const std::vector<std::vector<double>>& actual_NT, const std::string& name) {
  const std::vector<std::vector<double>> golden_NT = Rows(golden);
  for (size_t n = 0; n < golden_NT.size(); ++n) {
    for (size_t t = 0; t < golden_NT[n].size(); ++t) {
      ExpectGolden(actual_NT[n][t], golden_NT[n][t], name + " " + std::to_string(n) + "," + std::to_string(t));
    }
  }
}

TEST(LossGoldenTest, EqualsTrlOnEveryCaseOfGivenLogProbs) {
  const Json goldens = ReadGoldenJson("loss_logps.json");
  CaseCount count("loss_logps.json");
  for (const Json& c : goldens["cases"]) {
    const std::string name = c["name"];
    const Json& b = goldens["batches"][c["batch"].get<std::string>()];
    const Batch batch = {Rows(b["per_token_logps"]), Rows(b["old_per_token_logps"]), Rows(b["ref_per_token_logps"]),
                         Rows(b["entropies"]),       Mask(b["completion_mask"]),     Row(b["advantages"])};
    const std::vector<SequenceLoss> losses = Losses(c["config"], batch);
    ExpectGolden(Total(losses), c["expect"]["loss"], name);
    std::vector<std::vector<double>> dlogprob_NT, dentropy_NT;
    for (const SequenceLoss& loss : losses) {
      dlogprob_NT.push_back(loss.dloss_dlogprob_T);
      dentropy_NT.push_back(loss.dloss_dentropy_T);
    }
    ExpectGradient(c["expect"]["grad_per_token_logps"], dlogprob_NT, name + " d logprob");
    if (c["expect"].contains("grad_entropies")) {
      ExpectGradient(c["expect"]["grad_entropies"], dentropy_NT, name + " d entropy");
    }
    ExpectMetrics(c["expect"]["metrics"], OptionsOf(c["config"]), losses, name);
    count.Add(RowOf(c["config"]));
  }
  EXPECT_EQ(count.Total(), static_cast<int64_t>(goldens["cases"].size()));
  EXPECT_GT(count.Total(), 0);
}

TEST(LossGoldenTest, EqualsTrlOnTheLossesOfTheModelsLogProbs) {
  const Json goldens = ReadGoldenJson("loss_model.json");
  CaseCount count("loss_model.json");
  for (const Json& c : goldens["cases"]) {
    const Json& config = c["config"];
    if (config["aux"] != 0.0 || config["entropy_coef"] != 0.0) {
      count.Add("(left to the model's tests: they need the router or the entropies)");
      continue;
    }
    const std::string temperature = config["temperature"].dump();
    const Json& b = goldens["batch"];
    Batch batch = {Rows(goldens["per_token_logps_f64"][temperature]),
                   Rows(goldens["old_per_token_logps"][temperature]),
                   Rows(goldens["ref_per_token_logps"][temperature]),
                   {},
                   Mask(b["completion_mask"]),
                   Row(b["advantages"])};
    ExpectGolden(Total(Losses(config, batch)), c["expect"]["loss"], c["name"]);
    count.Add(RowOf(config));
  }
  EXPECT_EQ(count.Total(), static_cast<int64_t>(goldens["cases"].size()));
}

}  // namespace
}  // namespace reprise::rl
