#include "rl/testing/loss_cases.h"

namespace reprise::rl::testing {

LossOptions LossOptionsOfCase(const nlohmann::json& config) {
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

LossNormalizer NormalizerOfCase(const nlohmann::json& config, double num_sequences, double num_tokens) {
  const double accumulation = config.value("gradient_accumulation_steps", 1.0);
  return {.num_sequences = num_sequences * accumulation,
          .num_tokens = num_tokens * accumulation,
          .mean_num_tokens = config.value("num_items_in_batch", num_tokens) * accumulation /
                             config.value("steps_per_generation", 1.0)};
}

std::string DescribeCase(const nlohmann::json& config) {
  const LossOptions o = LossOptionsOfCase(config);
  return std::string(LossTypeName(o.loss_type)) + " " + std::string(ImportanceLevelName(o.importance_sampling_level)) +
         (o.beta != 0 ? " kl" : "") + (o.delta ? " delta" : "") + (o.entropy_coef != 0 ? " entropy bonus" : "") +
         (o.top_entropy_quantile < 1 ? " top entropy" : "") + (o.off_policy_mask_threshold ? " off-policy mask" : "");
}

}  // namespace reprise::rl::testing
