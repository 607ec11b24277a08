#include "rl/algorithm/formulas.h"

#include "absl/strings/str_cat.h"

namespace reprise::rl {
namespace {

std::string BaselineText(Baseline baseline) {
  switch (baseline) {
    case Baseline::kGroupMean:
      return "mean of its group";
    case Baseline::kLeaveOneOut:
      return "mean of the others of its group";
    case Baseline::kNone:
      return "";
    case Baseline::kRunningMean:
      return "mean of earlier steps";
    case Baseline::kGreedy:
      return "reward of its prompt's greedy completion";
    case Baseline::kLengthWeighted:
      return "sum_j n_j R_j / sum_j n_j over its group";
    case Baseline::kOptimal:
      return "V*, V* = beta1 log(mean over the reference's completions of exp(R / beta1))";
    case Baseline::kStepGroupMean:
      return "mean of R_t of the episodes of its group that have step t";
    case Baseline::kStepLeaveOneOut:
      return "mean of R_t of the others of its group that have step t";
    case Baseline::kStepNone:
      return "";
    case Baseline::kValue:
      break;
  }
  return "value";
}

std::string ScaleFormula(const AdvantageOptions& options) {
  if (options.baseline == Baseline::kLeaveOneOut || options.baseline == Baseline::kStepLeaveOneOut ||
      options.baseline == Baseline::kStepNone || options.scale_rewards == ScaleRewards::kNone) {
    return "";
  }
  return absl::StrCat(" / (standard deviation of ",
                      options.baseline == Baseline::kStepGroupMean    ? "the same R_t"
                      : options.scale_rewards == ScaleRewards::kGroup ? "its group"
                                                                      : "the step",
                      " + ", options.advantage_epsilon, ")");
}

// The advantage A of the reward R.
std::string SampleFormula(const AdvantageOptions& options, absl::string_view A, absl::string_view R) {
  const std::string baseline = BaselineText(options.baseline), scaled = ScaleFormula(options);
  const std::string difference = baseline.empty() ? std::string(R) : absl::StrCat(R, " - ", baseline);
  return absl::StrCat(A, " = ", scaled.empty() || baseline.empty() ? difference : absl::StrCat("(", difference, ")"),
                      scaled);
}

}  // namespace

std::string AdvantageFormula(const AlgorithmConfig& row) {
  const AdvantageOptions& options = row.advantage;
  const std::string white = options.whiten_tokens ? ", then whitened over the step's tokens" : "";
  if (options.baseline == Baseline::kValue) {
    return absl::StrCat("delta_t = r_t + ", options.gamma, " V_{t+1} - V_t, A_t = delta_t + ",
                        options.gamma * options.lambda, " A_{t+1}, return_t = A_t + V_t",
                        options.bootstrap_truncated ? "" : ", V_{t+1} 0 after the last token",
                        white.empty() ? "" : "; A_t then whitened over the step's tokens");
  }
  if (options.whiten_tokens && options.baseline == Baseline::kNone) {
    return absl::StrCat("A_t = r_t + ", options.gamma, " A_{t+1}", white);
  }
  if (ByStep(options)) {
    return absl::StrCat("R_t = r_t + ", options.gamma, " R_{t+1} over steps t, ", SampleFormula(options, "A_t", "R_t"));
  }
  return absl::StrCat(SampleFormula(options, "A_i", "R_i"), white);
}

std::string RatioFormula(const LossOptions& loss) {
  if (EffectiveClip(loss) == Clip::kReinforce || EffectiveClip(loss) == Clip::kRegression) return "";
  switch (loss.importance_sampling_level) {
    case ImportanceLevel::kToken:
      return "r_t = exp(logp_t - old_t)";
    case ImportanceLevel::kSequence:
      return "r_t = exp(mean over the completion of logp - old), the same for all of its tokens";
    case ImportanceLevel::kSequenceSum:
      break;
  }
  return "r = exp(sum over the completion of logp - old), one for the completion";
}

std::string TermFormula(const LossOptions& loss) {
  switch (EffectiveClip(loss)) {
    case Clip::kTwoSided:
      return absl::StrCat("l_t = -min(r_t A, clip(r_t, ", 1 - loss.epsilon, ", ", 1 + loss.epsilon_high, ") A)");
    case Clip::kCispo:
      return absl::StrCat("l_t = -min(r_t, ", loss.epsilon_high, ") A logp_t, without a gradient through r_t");
    case Clip::kSapo:
      return absl::StrCat("l_t = -(4 / tau) sigmoid(tau (r_t - 1)) A, tau = ", loss.sapo_temperature_pos,
                          " where A > 0, else ", loss.sapo_temperature_neg);
    case Clip::kVespo:
      return absl::StrCat(
          "l_t = -phi A logp_t, phi = W^k exp(lambda (1 - W)) without a gradient, W the product of the "
          "completion's r_t, (k, lambda) = (",
          loss.vespo.k_pos, ", ", loss.vespo.lambda_pos, ") where A >= 0, else (", loss.vespo.k_neg, ", ",
          loss.vespo.lambda_neg, ")");
    case Clip::kNone:
      return "l_t = -r_t A";
    case Clip::kGmpo:
      return absl::StrCat("l_t = -exp(mean over the completion of c) A, c_t = min(log r_t, ", loss.epsilon_high,
                          ") where A > 0, else max(log r_t, ", -loss.epsilon, ")");
    case Clip::kRegression:
      return absl::StrCat("l_t = (", loss.regression_beta,
                          " x the sum over the completion of logp - ref, less A)^2, the same for all of its tokens");
    case Clip::kReinforce:
      break;
  }
  return "l_t = -A logp_t";
}

std::string LossFormula(const LossOptions& loss) {
  switch (EffectiveAggregation(loss)) {
    case Aggregation::kGrpo:
      return "mean over completions of the mean over tokens of l_t";
    case Aggregation::kBnpo:
      return "sum of l_t / tokens of the minibatch";
    case Aggregation::kDrGrpo:
      return "sum of l_t / (completions x max_completion_length)";
    case Aggregation::kDapo:
      return "sum of l_t / tokens of the step, a minibatch's share of them";
    case Aggregation::kLuspo:
      return "mean over completions of the sum over tokens of l_t";
    case Aggregation::kSum:
      return "sum of l_t";
    case Aggregation::kSequenceMean:
      return "mean over completions with an unmasked token of the mean over tokens of l_t";
    case Aggregation::kTurnMean:
      break;
  }
  return "mean over completions of the mean over turns of the mean over tokens of l_t";
}

// The factor of beta where the divergence is added to the loss.
std::string LossDivergence(const LossOptions& loss) {
  if (loss.kl_estimator == KlEstimator::kExact) return "KL(policy || reference)";
  return absl::StrCat(KlEstimatorName(loss.kl_estimator), loss.use_bias_correction_kl ? " r_t" : "");
}

std::string DivergenceFormula(const AlgorithmConfig& row) {
  const double beta = Beta(row);
  if (KlInReward(row)) {
    const bool by_token = ByToken(row.advantage);
    return absl::StrCat(by_token ? "r_t = [t last] R_i - " : "R_i less ", beta,
                        by_token ? " (old_t - ref_t)" : " x the sum over its tokens of old - ref");
  }
  if (beta == 0) {
    return absl::StrCat("none; with beta > 0, beta ", LossDivergence(row.loss), " is added to l_t");
  }
  return absl::StrCat("l_t + ", beta, " ", LossDivergence(row.loss));
}

std::string ValueFormula(const AlgorithmConfig& row) {
  if (!NeedsValues(row)) return "";
  const std::string squares = row.value.cliprange_value ? absl::StrCat("max((V_t - return_t)^2, (clip(V_t, V_old - ",
                                                                       *row.value.cliprange_value, ", V_old + ",
                                                                       *row.value.cliprange_value, ") - return_t)^2)")
                                                        : "(V_t - return_t)^2";
  return absl::StrCat(row.value.vf_coef, " / 2 x the mean over the minibatch's tokens of ", squares);
}

std::vector<std::string> Departures(const AlgorithmConfig& row) {
  std::vector<std::string> departures = {
      "A group or batch of equal numbers carries no signal and has advantages of exactly 0."};
  if (EffectiveClip(row.loss) != Clip::kReinforce && EffectiveClip(row.loss) != Clip::kRegression)
    departures.push_back("logp - old is clamped to [-20, 20] before exp.");
  if (EffectiveAggregation(row.loss) == Aggregation::kBnpo) {
    departures.push_back("The tokens are the minibatch's; TRL's bnpo divides by those of a micro-batch.");
  }
  if (EffectiveClip(row.loss) == Clip::kCispo) {
    departures.push_back("TRL's cap of the ratio itself; verl clips on both sides, open-instruct caps at 1 + epsilon.");
  }
  if (row.name == "dapo") {
    departures.push_back(
        "With dynamic_sampling, groups of equal rewards are dropped by weight; no others are "
        "sampled in their place.");
  }
  if (row.loss.loss_type == LossType::kRloo) {
    departures.push_back(
        "With mask_truncated_completions no divergence is subtracted from the reward of a truncated completion, as "
        "in TRL; the paper masks none.");
  }
  if (EffectiveClip(row.loss) == Clip::kGmpo) {
    departures.back() = "The mean of the logarithms is clamped to [-20, 20] before exp.";
  }
  if (row.advantage.baseline == Baseline::kOptimal) {
    departures.push_back(
        "The reference's completions are sampled when a prompt is drawn, not once before training; each prompt may "
        "have several completions of the policy.");
  }
  if (row.advantage.whiten_tokens && !NeedsValues(row)) {
    departures.push_back(
        "Tokens that the policy did not sample are skipped; verl drops there the return of the later "
        "tokens.");
  }
  if (ByStep(row.advantage)) {
    departures.push_back(
        "A step that a single episode of the prompt has is compared with nothing: its advantage is 0.");
    departures.push_back(
        "The paper divides by the deviation, as scale_rewards group does, and gives all steps of an episode the "
        "advantage of its final reward; here a step has its own reward, and with gamma those of later steps.");
  }
  if (NeedsValues(row)) {
    departures.push_back(
        "A truncated completion is not over: V_{t+1} after its last token is the value of the state where it was "
        "truncated (Pardo et al., 2018, arXiv 1712.00378; as Stable Baselines3), which is 0 in TRL and verl, and "
        "with bootstrap_truncated false.");
    departures.push_back(
        "Where both branches of the value loss are equal, the derivative is that of the unclipped "
        "one.");
    departures.push_back(
        "The loss reads only the values of the completion's tokens; TRL's also reads the position after "
        "the last one.");
  }
  return departures;
}

}  // namespace reprise::rl
