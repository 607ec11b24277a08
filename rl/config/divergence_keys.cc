#include "rl/config/divergence_keys.h"

#include <string>

namespace reprise::rl {
namespace {

using config::Between;
using config::FieldList;

constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr config::DoubleRange kPositive = {.low = config::kLeastFloat, .high = config::kMostFloat};
constexpr config::DoubleRange kNotNegative = {.low = 0, .high = config::kMostFloat};
constexpr config::DoubleRange kShare = {.low = 0, .high = 1};

void VisitKlSchedule(FieldList& list, AlgorithmConfig& algorithm) {
  const AlgorithmConfig defaults;
  list.Name("kl_schedule", algorithm.kl.schedule, {"fixed", "linear", "proportional", "banded"},
            "beta over the run: constant, linear to final_beta, in proportion to the distance from kl_target "
            "(arXiv 1909.08593), or by a factor whenever kl_target's band is left.");
  list.OmittedAt(std::string("fixed"));
  list.Double("final_beta", algorithm.kl.final, kNotNegative, "For linear: beta at the end of the run.");
  list.OmittedAt(defaults.kl.final);
  list.Double("kl_target", algorithm.kl.target, kPositive,
              "For proportional and banded: the target of a token's mean k1.");
  list.OmittedAt(defaults.kl.target);
  list.Double("kl_horizon", algorithm.kl.horizon, kPositive, "For proportional: completions over which beta adapts.");
  list.OmittedAt(defaults.kl.horizon);
  list.Double("kl_tolerance", algorithm.kl.tolerance, kNotNegative, "For banded: half the width of the band.");
  list.OmittedAt(defaults.kl.tolerance);
  list.Double("kl_rate", algorithm.kl.rate, {.low = 1, .high = config::kMostFloat}, "For banded: the factor.");
  list.OmittedAt(defaults.kl.rate);
  list.Double("kl_low", algorithm.kl.low, kNotNegative, "For banded: the least beta.");
  list.OmittedAt(defaults.kl.low);
  list.Double("kl_high", algorithm.kl.high, kNotNegative, "For banded: the greatest beta.");
  list.OmittedAt(defaults.kl.high);
  list.Int("kl_interval", algorithm.kl.interval, Between(1, kMostSteps), "For banded: steps between decisions.");
  list.OmittedAt(defaults.kl.interval);
  list.Int("kl_patience", algorithm.kl.patience, Between(0, kMostSteps),
           "For banded: steps before the first decision.");
  list.OmittedAt(defaults.kl.patience);
}

}  // namespace

void VisitDivergence(FieldList& list, AlgorithmConfig& algorithm) {
  const AlgorithmConfig defaults;
  list.Name("kl_estimator", algorithm.kl_estimator, {"", "k1", "k2", "k3", "exact"},
            "The estimator of the divergence, from only the sampled token; exact: the divergence itself, over the "
            "whole vocabulary, for which the reference runs beside every update; it can only be in the loss. Empty "
            "= "
            "the algorithm's own, and k1 in the reward.");
  list.OmittedAt(defaults.kl_estimator);
  list.Name("use_bias_correction_kl", algorithm.use_bias_correction_kl, {"", "on", "off"},
            "Whether that estimate is multiplied by the probability ratio; empty = the algorithm's own.");
  list.OmittedAt(defaults.use_bias_correction_kl);
  list.Name("kl_in_reward", algorithm.kl_in_reward, {"", "on", "off"},
            "Whether the divergence is subtracted from the reward (of the completion, or of each token where tokens "
            "have their own advantages) and not added to the loss; empty = the algorithm's own.");
  list.OmittedAt(defaults.kl_in_reward);
  list.Bool("sync_ref_model", algorithm.sync_ref_model, "Whether the reference model is updated from the policy.");
  list.OmittedAt(defaults.sync_ref_model);
  list.Double("ref_model_mixup_alpha", algorithm.ref_model_mixup_alpha, kShare,
              "The policy's share in the reference model at each synchronisation; 1 = the reference becomes the "
              "policy.");
  list.OmittedAt(defaults.ref_model_mixup_alpha);
  list.Int("ref_model_sync_steps", algorithm.ref_model_sync_steps, Between(1, kMostSteps),
           "Steps from one synchronisation to the next.");
  list.OmittedAt(defaults.ref_model_sync_steps);
  VisitKlSchedule(list, algorithm);
}

}  // namespace reprise::rl
