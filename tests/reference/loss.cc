// The loss of one episode in one update (docs/algorithms.md), as a function on the tape. It contains only the tokens
// that count; masked tokens are absent.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/reference/algorithm.h"

namespace reprise::reference {
namespace {

constexpr double kMaxLogRatio = 20;
constexpr double kNoBound = 1e300;

// The inputs of the loss; vectors have an element for each token that counts.
struct Tokens {
  const rl::AlgorithmConfig& a;
  const Row& row;
  Tape& tape;
  const Episode& episode;
  double entropy_threshold;
  Vector entropy_L;
  Var logprob_L, log_ratio_L, ratio_L;
  Vector advantage_L;

  Var Constant(Vector values) const { return tape.Constant(std::move(values)); }
  Var Ones() const { return Constant(Vector(advantage_L.size(), 1.0)); }
};

Var ComputeRatio(const Row& row, Var log_ratio_L) {
  Var log_ratio = log_ratio_L;
  if (row.level == "sequence") log_ratio = (1.0 / static_cast<double>(log_ratio_L.size())) * Sum(log_ratio_L);
  if (row.level == "sequence_sum") log_ratio = Sum(log_ratio_L);
  return Exp(Clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio));
}

// PPO's clip, with an upper bound of the ratio on the side without a clip (delta) and of the terms of negative
// advantages (dual_clip).
Var TwoSided(const Tokens& t) {
  const Var advantage = t.Constant(t.advantage_L);
  const Var capped = t.a.loss.delta ? Min(t.ratio_L, t.tape.Number(*t.a.loss.delta)) : t.ratio_L;
  const Var clipped = Clamp(t.ratio_L, 1 - t.row.epsilon, 1 + t.row.epsilon_high);
  const Var term = -Min(capped * advantage, clipped * advantage);
  if (!t.a.loss.dual_clip) return term;
  Vector bound;
  for (const double A : t.advantage_L) bound.push_back(A < 0 ? -*t.a.loss.dual_clip * A : kNoBound);
  return Min(term, t.Constant(bound));
}

Var Sapo(const Tokens& t) {
  Vector tau;
  for (const double A : t.advantage_L)
    tau.push_back(A > 0 ? t.a.loss.sapo_temperature_pos : t.a.loss.sapo_temperature_neg);
  const Var temperature = t.Constant(tau);
  return -(t.tape.Number(4) / temperature * Sigmoid(temperature * (-1.0 + t.ratio_L)) * t.Constant(t.advantage_L));
}

// W^k exp(lambda (1 - W)), W the product of the completion's ratios.
double Phi(const Tokens& t, double advantage) {
  double log_w = 0;
  for (const double log_ratio : t.log_ratio_L.value()) log_w += std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio);
  log_w = std::clamp(log_w, std::log(1e-8), kMaxLogRatio);
  const double k = advantage >= 0 ? t.a.loss.vespo.k_pos : t.a.loss.vespo.k_neg;
  const double lambda = advantage >= 0 ? t.a.loss.vespo.lambda_pos : t.a.loss.vespo.lambda_neg;
  return std::exp(k * log_w) * std::exp(lambda * (1 - std::exp(log_w)));
}

bool IsLow(const Tokens& t, size_t l) {
  return t.a.loss.top_entropy_quantile < 1 && t.entropy_L[l] < t.entropy_threshold;
}

// GMPO: the geometric mean of the ratios, each clipped on one side by its logarithm. With top_entropy_quantile, only
// the tokens of the highest entropies are in the mean.
Var GeometricMean(const Tokens& t) {
  const bool is_good = t.advantage_L[0] > 0;
  const Var bound = t.tape.Number(is_good ? t.row.epsilon_high : -t.row.epsilon);
  Vector in_mean(t.entropy_L.size(), 1.0);
  for (size_t l = 0; l < in_mean.size(); ++l) in_mean[l] = IsLow(t, l) ? 0 : 1;
  const double tokens = std::accumulate(in_mean.begin(), in_mean.end(), 0.0);
  const Var clipped_L = is_good ? Min(t.log_ratio_L, bound) : Max(t.log_ratio_L, bound);
  return Exp((1 / std::max(tokens, 1.0)) * Sum(t.Constant(in_mean) * clipped_L)) * t.Ones();
}

// A*-PO: the implicit reward, beta2 log(pi / reference) of the whole completion, is regressed on the advantage.
Var ImplicitReward(const Tokens& t) {
  return t.a.loss.regression_beta * Sum(t.logprob_L - t.Constant(t.episode.ref_L));
}

Var Regression(const Tokens& t) {
  const Var off = ImplicitReward(t) - t.Constant(t.advantage_L);
  return off * off;
}

Var PolicyTerm(const Tokens& t) {
  const Var advantage = t.Constant(t.advantage_L);
  if (t.row.clip == "two_sided") return TwoSided(t);
  if (t.row.clip == "sapo") return Sapo(t);
  if (t.row.clip == "gmpo") return -(GeometricMean(t) * advantage);
  if (t.row.clip == "regression") return Regression(t);
  if (t.row.clip == "none") return -(t.ratio_L * advantage);
  if (t.row.clip == "cispo") {
    return -(Detach(Min(t.ratio_L, t.tape.Number(t.row.epsilon_high))) * advantage * t.logprob_L);
  }
  Vector phi(t.advantage_L.size(), 1.0);  // reinforce
  if (t.row.clip == "vespo") {
    for (size_t l = 0; l < phi.size(); ++l) phi[l] = Phi(t, t.advantage_L[l]);
  }
  return -(t.Constant(phi) * advantage * t.logprob_L);
}

// Returns 1 for tokens whose policy term is kept, and 0 for those masked as off-policy or by their low entropy. (In
// GMPO all tokens share a mean, which excludes those of low entropy.)
Vector Kept(const Tokens& t) {
  const bool is_off =
      t.a.loss.off_policy_mask_threshold && -Mean(t.log_ratio_L.value()) > *t.a.loss.off_policy_mask_threshold;
  Vector kept;
  for (size_t l = 0; l < t.entropy_L.size(); ++l) {
    const bool is_passed = t.row.clip != "gmpo" && IsLow(t, l);
    kept.push_back((is_off && t.advantage_L[l] < 0) || is_passed ? 0.0 : 1.0);
  }
  return kept;
}

Var DivergenceTerm(const Tokens& t, const Episode& episode, const Scores& scores) {
  if (t.row.kl_estimator == "exact") return *scores.exact_kl_L;
  const Var d = Clamp(t.Constant(episode.ref_L) - t.logprob_L, -kMaxLogRatio, kMaxLogRatio);
  Var kl = -d;
  if (t.row.kl_estimator == "k2") kl = 0.5 * (d * d);
  if (t.row.kl_estimator == "k3") kl = Exp(d) - d - t.Ones();
  return t.row.use_bias_correction_kl ? kl * t.ratio_L : kl;
}

// Returns the factor of each token's term.
Vector TokenWeights(const LossContext& context, const Episode& e) {
  const Normalizer& n = context.normalizer;
  const std::string& aggregation = context.row.aggregation;
  const double own = static_cast<double>(e.learned.size());
  const double length = static_cast<double>(context.config.rollout.max_completion_length);
  double divisor = 1;  // sum
  if (aggregation == "grpo") divisor = n.completions * own;
  if (aggregation == "sequence_mean") divisor = n.with_tokens * own;
  if (aggregation == "bnpo") divisor = n.tokens;
  if (aggregation == "dapo") divisor = n.tokens_of_share;
  if (aggregation == "dr_grpo") divisor = n.completions * length;
  if (aggregation == "luspo") divisor = n.completions;
  Vector weights(e.learned.size(), 1 / divisor);
  if (aggregation != "turn_mean") return weights;
  std::map<size_t, double> tokens_of_turn;
  for (const size_t place : e.learned) tokens_of_turn[e.turn_T[place]] += 1;
  for (size_t l = 0; l < weights.size(); ++l) {
    const double turns = static_cast<double>(tokens_of_turn.size());
    weights[l] = 1 / (n.completions * turns * tokens_of_turn[e.turn_T[e.learned[l]]]);
  }
  return weights;
}

// Returns vf_coef / 2 times the greater of the two squares, and adds the number of clipped ones to *clipped.
Var ValueTerm(const Tokens& t, const Episode& e, Var value_L, double* clipped) {
  const Var target = t.Constant(e.return_L), old = t.Constant(e.value_L);
  const Var plain = (value_L - target) * (value_L - target);
  if (!t.a.value.cliprange_value) return (t.a.value.vf_coef / 2) * plain;
  const Var moved = old + Clamp(value_L - old, -*t.a.value.cliprange_value, *t.a.value.cliprange_value);
  const Var held = (moved - target) * (moved - target);
  for (size_t l = 0; l < plain.size(); ++l) {
    const bool has_left = std::fabs(value_L.value()[l] - e.value_L[l]) > *t.a.value.cliprange_value;
    *clipped += has_left && held.value()[l] > plain.value()[l] ? 1 : 0;
  }
  return (t.a.value.vf_coef / 2) * Max(plain, held);
}

void CountRatios(const Tokens& t, EpisodeLoss* result) {
  const size_t ratios = t.row.level == "token" ? t.advantage_L.size() : 1;
  result->ratios = static_cast<double>(ratios);
  for (size_t l = 0; l < ratios; ++l) {
    const double ratio = t.ratio_L.value()[l], A = t.advantage_L[l];
    const double capped = t.a.loss.delta ? std::min(ratio, *t.a.loss.delta) : ratio;
    if (t.row.clip == "cispo") {
      result->high += ratio > t.row.epsilon_high && A > 0 ? 1 : 0;
      continue;
    }
    if (t.row.clip == "gmpo") {
      result->low += std::log(ratio) < -t.row.epsilon && A < 0 ? 1 : 0;
      result->high += std::log(ratio) > t.row.epsilon_high && A > 0 ? 1 : 0;
      continue;
    }
    result->low += capped < 1 - t.row.epsilon && A < 0 ? 1 : 0;
    result->high += capped > 1 + t.row.epsilon_high && A > 0 ? 1 : 0;
    const double greater = std::max(capped, std::clamp(ratio, 1 - t.row.epsilon, 1 + t.row.epsilon_high));
    result->dual += t.a.loss.dual_clip && A < 0 && greater > *t.a.loss.dual_clip ? 1 : 0;
  }
  for (const double log_ratio : t.log_ratio_L.value()) {
    result->abs_max = std::max(result->abs_max, std::fabs(log_ratio));
    result->approx_kl += std::exp(log_ratio) - 1 - log_ratio;
    result->ratio += std::exp(log_ratio);
    result->squares += log_ratio * log_ratio;
  }
}

// Returns the loss of an episode without tokens that count. In RLOO's mean it is a constant term with ratio 1.
EpisodeLoss LossOfNothing(const LossContext& context, const Episode& episode, Tape& tape) {
  double loss = 0;
  if (context.row.level == "sequence_sum" && !episode.left_out) {
    const double advantage = episode.advantage_L.empty() ? 0 : episode.advantage_L[0];
    loss = -advantage / context.normalizer.completions;
  }
  return {.loss = tape.Number(loss), .policy = loss};
}

}  // namespace

EpisodeLoss LossOf(const LossContext& context, const Episode& episode, const Scores& scores) {
  Tape& tape = *scores.logprob_L.tape;
  if (episode.counted() == 0) return LossOfNothing(context, episode, tape);
  // At the first update the policy is the sampling policy: the ratio is that of the policy to itself.
  const Var old_L = context.is_first ? Detach(scores.logprob_L) : tape.Constant(episode.old_L);
  const Var log_ratio_L = scores.logprob_L - old_L;
  const Vector& entropy_L = scores.entropy_L.value();
  Tokens t = {.a = context.config.algorithm,
              .row = context.row,
              .tape = tape,
              .episode = episode,
              .entropy_threshold = context.normalizer.entropy_threshold,
              .entropy_L = entropy_L,
              .logprob_L = scores.logprob_L,
              .log_ratio_L = log_ratio_L,
              .ratio_L = {},
              .advantage_L = episode.advantage_L};
  t.ratio_L = ComputeRatio(context.row, log_ratio_L) * t.Ones();
  const Var weight_L = t.Constant(TokenWeights(context, episode));
  const Var policy = Sum(weight_L * t.Constant(Kept(t)) * PolicyTerm(t));
  EpisodeLoss result = {.loss = policy, .policy = policy.number()};
  result.tokens = static_cast<double>(entropy_L.size());
  for (const double entropy : entropy_L) result.entropy += entropy;
  CountRatios(t, &result);
  if (context.row.clip == "vespo") result.phi = Phi(t, episode.advantage_L[0]);
  if (context.row.clip == "regression") result.implicit_reward = ImplicitReward(t).number();
  if (context.row.beta != 0 && !context.row.kl_in_reward) {
    const Var kl_L = DivergenceTerm(t, episode, scores);
    for (const double kl : kl_L.value()) result.kl += kl;
    result.loss = result.loss + context.row.beta * Sum(weight_L * kl_L);
  }
  if (context.entropy_coef != 0) {
    result.loss = result.loss - (context.entropy_coef / context.normalizer.tokens) * Sum(scores.entropy_L);
  }
  if (scores.value_L) {
    const Var value =
        (1 / context.normalizer.tokens) * Sum(ValueTerm(t, episode, *scores.value_L, &result.value_clipped));
    result.value = value.number();
    result.loss = result.loss + value;
  }
  return result;
}

}  // namespace reprise::reference
