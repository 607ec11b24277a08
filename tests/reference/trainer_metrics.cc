// The metrics of a step, as docs/algorithms.md defines them.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "tests/reference/trainer.h"

namespace reprise::reference {
namespace {

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

void Summarize(const std::string& name, const Vector& values, Metrics* metrics) {
  (*metrics)[name + "mean"] = values.empty() ? 0 : Mean(values);
  (*metrics)[name + "min"] = values.empty() ? 0 : *std::min_element(values.begin(), values.end());
  (*metrics)[name + "max"] = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

Metrics Trainer::ComputeMetrics(const rl::StepRecord& record, const State& state) const {
  Metrics metrics = {{"grad_norm", grad_norm_},
                     {"aux_loss", Mean(aux_losses_)},
                     {"learning_rate", LearningRate(record.step)},
                     {"num_tokens", memory_.num_tokens}};
  if (a_.kl.schedule != rl::KlSchedule::kFixed) metrics["kl_coef"] = row_.beta;
  if (entropy_coef_ != 0 || a_.entropy.adaptive) metrics["entropy_coef"] = entropy_coef_;
  const bool is_counted = a_.update.mini_batch_size > 0 || a_.update.unit == rl::MinibatchUnit::kDecision;
  if (is_counted || a_.update.target_kl > 0 || a_.mask_truncated_completions || a_.dynamic_sampling ||
      row_.baseline == "optimal") {
    metrics["num_updates"] = static_cast<double>(state.updates);
  }
  AddLossMetrics(&metrics);
  AddRewardMetrics(&metrics);
  AddLengthMetrics(&metrics);
  if (row_.baseline == "value") AddValueMetrics(&metrics);
  if (row_.baseline == "optimal") {
    Vector values;
    std::copy_if(baseline_P_.begin(), baseline_P_.end(), std::back_inserter(values),
                 [](double value) { return !std::isnan(value); });
    metrics["v_star"] = values.empty() ? 0 : Mean(values);
  }
  return metrics;
}

void Trainer::AddLossMetrics(Metrics* metrics) const {
  Metrics& m = *metrics;
  double loss = 0, policy = 0, value = 0, tokens = 0, entropy = 0, kl = 0, ratios = 0, low = 0, high = 0, dual = 0;
  double low_min = 1, high_max = 0, abs_max = 0, value_clipped = 0, ratio = 0, squares = 0;
  Vector phi, implicit_rewards;
  for (const Outcome& outcome : outcomes_) {
    const EpisodeLoss& o = outcome.parts;
    loss += outcome.loss, policy += o.policy, value += o.value;
    tokens += o.tokens, entropy += o.entropy, kl += o.kl, value_clipped += o.value_clipped;
    ratios += o.ratios, low += o.low, high += o.high, dual += o.dual;
    ratio += o.ratio, squares += o.squares;
    abs_max = std::max(abs_max, o.abs_max);
    if (o.ratios == 0) continue;
    low_min = std::min(low_min, o.low / o.ratios);
    high_max = std::max(high_max, o.high / o.ratios);
    phi.push_back(o.phi);
    implicit_rewards.push_back(o.implicit_reward);
  }
  const double updates = static_cast<double>(num_minibatches_);  // that together process every completion once
  m["loss"] = loss / updates;
  m["entropy"] = Share(entropy, tokens);
  m["log_ratio/abs_max"] = abs_max;
  m["policy/approxkl_avg"] = Share(squares, tokens) / 2;
  m["val/ratio"] = tokens == 0 ? 1 : ratio / tokens;
  if (row_.beta != 0 && !row_.kl_in_reward) m["kl"] = Share(kl, tokens);
  if (a_.episode_metrics) m["loss/total"] = loss / updates, m["loss/policy_gradient"] = policy / updates;
  if (row_.clip == "two_sided" || row_.clip == "gmpo") {
    m["clip_ratio/low_mean"] = Share(low, ratios);
    m["clip_ratio/low_min"] = ratios == 0 ? 0 : low_min;
    m["clip_ratio/high_mean"] = Share(high, ratios);
    m["clip_ratio/high_max"] = high_max;
    m["clip_ratio/region_mean"] = Share(low + high, ratios);
    if (a_.loss.dual_clip) m["clip_ratio/dual_mean"] = Share(dual, ratios);
  }
  if (row_.clip == "regression") m["implicit_reward"] = implicit_rewards.empty() ? 0 : Mean(implicit_rewards);
  if (row_.clip == "cispo") m["cispo_clip_ratio"] = Share(high, ratios);
  if (row_.clip == "vespo") m["vespo/phi_seq_mean"] = phi.empty() ? 0 : Mean(phi);
  if (row_.baseline == "value") {
    m["loss/value_avg"] = value / updates;
    m["loss/policy_avg"] = (loss - value) / updates;
    m["val/clipfrac_avg"] = Share(value_clipped, tokens);
  }
}

void Trainer::AddRewardMetrics(Metrics* metrics) const {
  std::map<int64_t, Vector> rewards_of_prompt;
  std::vector<Vector> reward_FN(episodes_[0].rewards_F.size());
  Vector all, deviations;
  double equal = 0, kl = 0, tokens = 0;
  for (const Episode& e : episodes_) {
    rewards_of_prompt[e.prompt].push_back(e.reward);
    all.push_back(e.reward);
    for (size_t f = 0; f < reward_FN.size(); ++f) reward_FN[f].push_back(e.rewards_F[f]);
    if (e.masked) continue;
    tokens += static_cast<double>(e.learned.size());
    for (size_t l = 0; l < e.ref_L.size(); ++l) kl += Divergence(row_.kl_estimator, e.old_L[l], e.ref_L[l]);
  }
  for (const auto& [prompt, rewards] : rewards_of_prompt) {
    deviations.push_back(rewards.size() < 2 ? 0 : Deviation(rewards, 1));
    equal += AllEqual(rewards) ? 1 : 0;
  }
  Metrics& m = *metrics;
  m["reward"] = Mean(all);
  m["reward_std"] = Deviation(all, 1);
  m["reward_group_std"] = Mean(deviations);
  m["frac_reward_zero_std"] = equal / static_cast<double>(deviations.size());
  if (row_.beta != 0 && row_.kl_in_reward) m["kl"] = Share(kl, tokens);
  std::istringstream names(a_.reward.functions);
  size_t f = 0;
  for (std::string name; names >> name; ++f) {
    m["rewards/" + name + "/mean"] = Mean(reward_FN[f]);
    m["rewards/" + name + "/std"] = Deviation(reward_FN[f], 1);
  }
}

// Adds metrics over the tokens that count, with the values before the step's updates.
void Trainer::AddValueMetrics(Metrics* metrics) const {
  Vector values, returns, errors;
  for (const Episode& e : episodes_) {
    for (size_t l = 0; l < e.counted(); ++l) {
      values.push_back(e.value_L[l]);
      returns.push_back(e.return_L[l]);
      errors.push_back(e.return_L[l] - e.value_L[l]);
    }
  }
  Metrics& m = *metrics;
  m["critic/values/mean"] = values.empty() ? 0 : Mean(values);
  m["critic/returns/mean"] = returns.empty() ? 0 : Mean(returns);
  const double unexplained = AllEqual(returns) ? 1 : Deviation(errors, 1) / Deviation(returns, 1);
  m["critic/vf_explained_var"] = 1 - unexplained * unexplained;
}

void Trainer::AddLengthMetrics(Metrics* metrics) const {
  Vector lengths, ended, turns, observed;
  for (const Episode& e : episodes_) {
    lengths.push_back(static_cast<double>(e.own.size()));
    if (e.terminated) ended.push_back(lengths.back());
    turns.push_back(static_cast<double>(e.turns));
    observed.push_back(static_cast<double>(e.tokens.size() - e.own.size()));
  }
  Metrics summary;
  Summarize("", lengths, &summary);
  for (const auto& [name, value] : summary) (*metrics)["completions/" + name + "_length"] = value;
  Summarize("", ended, &summary);
  for (const auto& [name, value] : summary) (*metrics)["completions/" + name + "_terminated_length"] = value;
  (*metrics)["completions/clipped_ratio"] = 1 - static_cast<double>(ended.size()) / static_cast<double>(lengths.size());
  if (parts_.config.environment.name.empty()) return;
  Summarize("turns/", turns, metrics);
  (*metrics)["observations/mean_length"] = Mean(observed);
}

}  // namespace reprise::reference
