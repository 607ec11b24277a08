// Compares with every case of loss_logps.json (loss, gradient and metrics that TRL's own trainers computed from given
// log-probs), and with the losses of loss_model.json, which also contains the model's log-probs.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/sums/sums.h"
#include "rl/loss/loss_metrics.h"
#include "rl/loss/policy_loss.h"
#include "rl/loss/sequence.h"
#include "rl/testing/golden_json.h"
#include "rl/testing/loss_cases.h"

namespace reprise::rl {
namespace {

using Json = nlohmann::json;
using testing::CaseCount;
using testing::DescribeCase;
using testing::ExpectGolden;
using testing::ExpectGoldenFloat;
using testing::LossOptionsOfCase;
using testing::NormalizerOfCase;
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

LossNormalizer MakeNormalizer(const Json& config, const Batch& batch) {
  double tokens = 0.0;
  for (const auto& mask_T : batch.mask_NT) tokens += static_cast<double>(std::count(mask_T.begin(), mask_T.end(), 1));
  return NormalizerOfCase(config, static_cast<double>(batch.advantage_N.size()), tokens);
}

double ComputeThreshold(const LossOptions& options, const Batch& batch) {
  std::vector<double> entropies;
  for (size_t n = 0; n < batch.entropy_NT.size(); ++n) {
    for (size_t t = 0; t < batch.entropy_NT[n].size(); ++t) {
      if (batch.mask_NT[n][t] != 0) entropies.push_back(batch.entropy_NT[n][t]);
    }
  }
  return TopEntropyThreshold(entropies, options.top_entropy_quantile);
}

std::vector<SequenceLoss> Losses(const Json& config, const Batch& batch) {
  const LossOptions options = LossOptionsOfCase(config);
  EXPECT_TRUE(ValidateLossOptions(options).ok());
  const LossNormalizer normalizer = MakeNormalizer(config, batch);
  const double threshold = ComputeThreshold(options, batch);
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

// Converts a metric to TRL's definition. Departure: TRL's means over sequences include those without tokens, as not
// clipped and with a phi of 1.
double AsTrl(const std::string& key, double value, const LossOptions& options,
             const std::vector<SequenceLoss>& losses) {
  const bool is_phi = key == "vespo/phi_seq_mean";
  const bool is_share = key.find("clip_ratio") != std::string::npos && key.find("mean") != std::string::npos;
  if (!is_phi && (!is_share || options.importance_sampling_level == ImportanceLevel::kToken)) return value;
  const double all = static_cast<double>(losses.size());
  const double empty = static_cast<double>(std::count_if(
      losses.begin(), losses.end(), [](const SequenceLoss& loss) { return loss.metrics.num_tokens == 0; }));
  return (value * (all - empty) + (is_phi ? empty : 0)) / all;
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
    (is_float ? ExpectGoldenFloat : ExpectGolden)(AsTrl(key, found->value, options, losses), Number(value),
                                                  name + " " + key);
  }
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
    ExpectMetrics(c["expect"]["metrics"], LossOptionsOfCase(c["config"]), losses, name);
    count.Add(DescribeCase(c["config"]));
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
    count.Add(DescribeCase(config));
  }
  EXPECT_EQ(count.Total(), static_cast<int64_t>(goldens["cases"].size()));
}

}  // namespace
}  // namespace reprise::rl
