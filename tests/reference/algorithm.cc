#include "tests/reference/algorithm.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "rl/record/completions/completion_record.h"

namespace reprise::reference {
namespace {

Vector Subset(const Vector& values, const std::vector<size_t>& places) {
  Vector subset;
  for (const size_t place : places) subset.push_back(values[place]);
  return subset;
}

}  // namespace

double Clipped(const rl::AlgorithmConfig& a, double reward) {
  const auto& range = a.advantage.reward_clip_range;
  return range ? std::clamp(reward, range->first, range->second) : reward;
}

Vector RewardWeights(const rl::AlgorithmConfig& a, size_t functions) {
  Vector weights(functions, 1.0);
  const char* at = a.reward.weights.c_str();
  for (size_t f = 0; f < functions && *at != 0; ++f) weights[f] = strtod(at, const_cast<char**>(&at));
  return weights;
}

namespace {

// Returns the index of "environment" in algorithm.reward, if it is there.
std::optional<size_t> PlaceOfEnvironment(const rl::AlgorithmConfig& a) {
  std::istringstream names(a.reward.functions);
  size_t f = 0;
  for (std::string name; names >> name; ++f) {
    if (name == "environment") return f;
  }
  return std::nullopt;
}

// ---- Advantages of completions

struct Step {
  const AdvantageContext& context;
  const rl::AlgorithmConfig& a;
  std::vector<Episode>& episodes;
  Vector compared_N;  // the rewards that are compared with baselines

  // Returns the episodes with which episode n is compared, including itself: those of its prompt, or all; invalid ones
  // are excluded.
  std::vector<size_t> Others(size_t n, bool of_all) const {
    std::vector<size_t> others;
    for (size_t m = 0; m < episodes.size(); ++m) {
      const bool near = of_all || episodes[m].prompt == episodes[n].prompt;
      if (near && !episodes[m].invalid) others.push_back(m);
    }
    return others;
  }
  Vector Rewards(size_t n, bool of_all) const { return Subset(compared_N, Others(n, of_all)); }
};

// Returns the clipped rewards, minus the divergence if it is part of the completions' rewards.
Vector ComparedRewards(const AdvantageContext& context, const std::vector<Episode>& episodes) {
  const rl::AlgorithmConfig& a = context.config.algorithm;
  Vector compared;
  for (const Episode& e : episodes) {
    double reward = e.reward;
    if (!e.earned_T.empty()) {  // the environment's rewards belong to tokens; the weighted sum of the others remains
      for (const double earned : e.earned_K) reward -= earned;
    }
    reward = Clipped(a, reward);
    const bool is_cut = a.mask_truncated_completions && !e.terminated;
    if (context.row.kl_in_reward && context.row.beta != 0 && !context.row.by_token() && !is_cut) {
      for (size_t l = 0; l < e.learned.size(); ++l) {
        reward -= context.row.beta * Divergence(context.row.kl_estimator, e.old_L[l], e.ref_L[l]);
      }
    }
    compared.push_back(reward);
  }
  return compared;
}

bool HasBaseline(const AdvantageContext& context, const Episode& e) {
  return context.baseline_P.empty() || !std::isnan(context.baseline_P.at(static_cast<size_t>(e.prompt)));
}

double ComputeBaseline(const Step& step, size_t n) {
  const std::string& baseline = step.context.row.baseline;
  const std::vector<size_t> others = step.Others(n, step.a.advantage.baseline_over_batch);
  if (baseline == "group_mean") return Mean(Subset(step.compared_N, others));
  if (baseline == "leave_one_out") {
    double sum = 0;
    for (const size_t m : others) sum += m == n ? 0 : step.compared_N[m];
    return sum / static_cast<double>(others.size() - 1);
  }
  if (baseline == "running_mean") return step.context.running_mean;
  if (baseline == "greedy" || baseline == "optimal") {
    return step.context.baseline_P.at(static_cast<size_t>(step.episodes[n].prompt));
  }
  if (baseline != "length_weighted") return 0;
  double sum = 0, tokens = 0;
  for (const size_t m : others) {
    sum += static_cast<double>(step.episodes[m].learned.size()) * step.compared_N[m];
    tokens += static_cast<double>(step.episodes[m].learned.size());
  }
  return sum / tokens;
}

double ComputeAdvantage(const Step& step, size_t n) {
  const Row& row = step.context.row;
  const bool of_batch = step.a.advantage.baseline_over_batch;
  const bool is_compared = row.baseline == "group_mean" || row.baseline == "leave_one_out";
  const Vector group = step.Rewards(n, of_batch), batch = step.Rewards(n, true);
  const bool keeps = step.a.advantage.lone_sample_keeps_reward && step.context.config.rollout.num_generations == 1;
  if (step.episodes[n].invalid || !HasBaseline(step.context, step.episodes[n])) return 0;
  if (is_compared && AllEqual(group) && !keeps) return 0;
  double advantage = step.compared_N[n] - (is_compared && keeps ? 0 : ComputeBaseline(step, n));
  if (row.baseline == "leave_one_out" || row.scale_rewards == "none") return advantage;
  const Vector& scaled_by = row.scale_rewards == "group" ? group : batch;
  const double ddof = static_cast<double>(step.a.advantage.ddof);
  if (keeps && scaled_by.size() == 1) return advantage / (1 + step.a.advantage.advantage_epsilon);
  return AllEqual(scaled_by) ? 0 : advantage / (Deviation(scaled_by, ddof) + step.a.advantage.advantage_epsilon);
}

// Replaces each value v by (v - mean) / (deviation + epsilon) over the step, and by 0 in a group of equal values.
void ZScore(const Step& step, bool of_batch, Vector* advantage_N) {
  const Vector before = *advantage_N;
  for (size_t n = 0; n < before.size(); ++n) {
    if (step.episodes[n].invalid) continue;
    const Vector all = Subset(before, step.Others(n, true)), group = Subset(before, step.Others(n, of_batch));
    (*advantage_N)[n] =
        AllEqual(group) ? 0 : (before[n] - Mean(all)) / (Deviation(all, 1) + step.a.advantage.advantage_epsilon);
  }
}

// multi_objective_aggregation normalize_then_sum: each reward normalised in its group, then their weighted sum over
// the step.
Vector NormalizedThenSummed(const Step& step, const Vector& weights_F) {
  Vector sum_N(step.episodes.size(), 0.0);
  for (size_t n = 0; n < sum_N.size(); ++n) {
    for (size_t f = 0; f < weights_F.size(); ++f) {
      Vector group;
      for (const size_t m : step.Others(n, false)) group.push_back(step.episodes[m].rewards_F[f]);
      if (AllEqual(group)) continue;
      const double centred = step.episodes[n].rewards_F[f] - Mean(group);
      sum_N[n] += weights_F[f] * centred / (Deviation(group, 1) + step.a.advantage.advantage_epsilon);
    }
  }
  ZScore(step, false, &sum_N);
  return sum_N;
}

Vector AdvantagesOfCompletions(const Step& step) {
  if (step.a.advantage.multi_objective_aggregation == rl::RewardAggregation::kNormalizeThenSum) {
    return NormalizedThenSummed(step, RewardWeights(step.a, step.episodes[0].rewards_F.size()));
  }
  Vector advantage_N;
  for (size_t n = 0; n < step.episodes.size(); ++n) advantage_N.push_back(ComputeAdvantage(step, n));
  if (step.context.row.baseline == "leave_one_out" && step.a.advantage.normalize_advantages) {
    ZScore(step, step.a.advantage.baseline_over_batch, &advantage_N);
  }
  return advantage_N;
}

// ---- Advantages of tokens

// Returns the reward of each learned token, minus the divergence if it is part of the reward.
Vector TokenRewards(const AdvantageContext& context, const Episode& e, double reward) {
  Vector reward_L(e.learned.size(), 0.0);
  for (size_t l = 0; l < reward_L.size(); ++l) {
    if (!e.earned_T.empty()) reward_L[l] += e.earned_T[e.learned[l]];
    if (context.row.kl_in_reward && context.row.beta != 0) {
      reward_L[l] -= context.row.beta * Divergence(context.row.kl_estimator, e.old_L[l], e.ref_L[l]);
    }
  }
  if (!reward_L.empty()) reward_L.back() += reward;
  return reward_L;
}

// Returns the rewards of an episode's turns, whether their tokens are learned or not.
Vector TurnRewards(const AdvantageContext& context, const Episode& e, double reward) {
  Vector reward_K = e.earned_K;
  reward_K.resize(e.turns, 0.0);
  for (size_t l = 0; l < e.learned.size(); ++l) {
    if (!context.row.kl_in_reward || context.row.beta == 0) continue;
    reward_K[e.turn_T[e.learned[l]]] -= context.row.beta * Divergence(context.row.kl_estimator, e.old_L[l], e.ref_L[l]);
  }
  reward_K.back() += reward;
  return reward_K;
}

// Replaces each value v by (v - mean) / sqrt(variance + 1e-8) over all tokens of the step that count, plus the mean if
// `keeps_mean`. Equal values become 0, or the mean.
void Whiten(bool keeps_mean, std::vector<Episode>* episodes, std::vector<Vector>* value_NL) {
  Vector all;
  for (size_t n = 0; n < episodes->size(); ++n) {
    if (!(*episodes)[n].masked) all.insert(all.end(), (*value_NL)[n].begin(), (*value_NL)[n].end());
  }
  if (all.empty()) return;
  const double mean = Mean(all), deviation = AllEqual(all) ? 0 : Deviation(all, 1);
  for (size_t n = 0; n < episodes->size(); ++n) {
    if ((*episodes)[n].masked) continue;
    for (double& value : (*value_NL)[n]) {
      const double white = AllEqual(all) ? 0 : (value - mean) / std::sqrt(deviation * deviation + 1e-8);
      value = white + (keeps_mean ? mean : 0);
    }
  }
}

// Generalized advantage estimation over the policy's tokens (Schulman et al., 2016). The value after the last token is
// 0 if the episode is over, otherwise the bootstrap (Pardo et al., 2018).
void EstimateAdvantages(const Row& row, double lambda, const Vector& reward_L, Episode* e) {
  e->return_L = e->advantage_L = Vector(reward_L.size(), 0.0);
  double next_value = e->bootstrap, next_advantage = 0;
  for (size_t l = reward_L.size(); l-- > 0;) {
    const double delta = reward_L[l] + row.gamma * next_value - e->value_L[l];
    e->advantage_L[l] = next_advantage = delta + row.gamma * lambda * next_advantage;
    e->return_L[l] = e->advantage_L[l] + e->value_L[l];
    next_value = e->value_L[l];
  }
}

// The same over turns, each of which has the value of its first learned token. One without learned tokens has none, and
// counts as its reward and the discounted value of the next turn. All learned tokens of a turn share its numbers.
void EstimateTurnAdvantages(const AdvantageContext& context, double reward, Episode* e) {
  const Row& row = context.row;
  const Vector reward_K = TurnRewards(context, *e, reward);
  Vector advantage_K(e->turns), return_K(e->turns);
  double next_value = e->bootstrap, next_advantage = 0;
  for (size_t k = e->turns; k-- > 0;) {
    std::optional<double> value;
    for (size_t l = 0; l < e->learned.size() && !value; ++l) {
      if (e->turn_T[e->learned[l]] == k) value = e->value_L[l];
    }
    const double expected = reward_K[k] + row.gamma * next_value;
    next_value = value.value_or(expected);
    advantage_K[k] = next_advantage =
        expected - next_value + row.gamma * context.config.algorithm.advantage.lambda * next_advantage;
    return_K[k] = next_value + advantage_K[k];
  }
  e->advantage_L.clear(), e->return_L.clear();
  for (const size_t t : e->learned) {
    e->advantage_L.push_back(advantage_K[e->turn_T[t]]);
    e->return_L.push_back(return_K[e->turn_T[t]]);
  }
}

void SetTokenAdvantages(const Step& step) {
  const Row& row = step.context.row;
  std::vector<Vector> reward_NL, advantage_NL;
  for (size_t n = 0; n < step.episodes.size(); ++n) {
    reward_NL.push_back(TokenRewards(step.context, step.episodes[n], step.compared_N[n]));
  }
  if (row.baseline == "value" && step.a.advantage.whiten_rewards) Whiten(true, &step.episodes, &reward_NL);
  for (size_t n = 0; n < step.episodes.size(); ++n) {
    Episode& e = step.episodes[n];
    if (row.baseline == "value") {
      if (step.a.advantage.value_of_turns) {
        EstimateTurnAdvantages(step.context, step.compared_N[n], &e);
      } else {
        EstimateAdvantages(row, step.a.advantage.lambda, reward_NL[n], &e);
      }
      advantage_NL.push_back(e.advantage_L);
      continue;
    }
    Vector& return_L = advantage_NL.emplace_back(reward_NL[n]);
    for (size_t l = return_L.size(); l-- > 1;) return_L[l - 1] += row.gamma * return_L[l];
  }
  if (row.whiten_tokens) Whiten(false, &step.episodes, &advantage_NL);
  for (size_t n = 0; n < step.episodes.size(); ++n) step.episodes[n].advantage_L = advantage_NL[n];
}

// Step-wise GRPO (AgeMem): the discounted rewards from each step on are compared with those of the group's other
// episodes from the same step on, if they have it.
void SetStepAdvantages(const Step& step) {
  const Row& row = step.context.row;
  std::vector<Vector> return_NS;  // by step
  const auto step_of = [](const Episode& e, size_t l) { return e.turns > 0 ? e.turn_T[e.learned[l]] : e.learned[l]; };
  for (size_t n = 0; n < step.episodes.size(); ++n) {
    const Episode& e = step.episodes[n];
    Vector& return_S =
        return_NS.emplace_back((e.turns > 0 ? TurnRewards : TokenRewards)(step.context, e, step.compared_N[n]));
    for (size_t s = return_S.size(); s-- > 1;) return_S[s - 1] += row.gamma * return_S[s];
  }
  for (size_t n = 0; n < step.episodes.size(); ++n) {
    Episode& e = step.episodes[n];
    e.advantage_L.assign(e.learned.size(), 0.0);
    for (size_t l = 0; l < e.learned.size() && !e.invalid; ++l) {
      Vector all, others;
      for (const size_t m : step.Others(n, false)) {
        if (step_of(e, l) >= return_NS[m].size()) continue;
        all.push_back(return_NS[m][step_of(e, l)]);
        if (m != n) others.push_back(all.back());
      }
      if (AllEqual(all)) continue;
      const double own = return_NS[n][step_of(e, l)];
      if (row.baseline == "step_leave_one_out") {
        e.advantage_L[l] = own - Mean(others);
      } else {
        const double ddof = static_cast<double>(step.a.advantage.ddof);
        const double divisor =
            row.scale_rewards == "none" ? 1 : Deviation(all, ddof) + step.a.advantage.advantage_epsilon;
        e.advantage_L[l] = (own - Mean(all)) / divisor;
      }
    }
  }
}

// Gives all tokens of a completion the same advantage, whitened over the tokens; 0 in a group of equal rewards.
void SetWhitenedAdvantages(const Step& step) {
  const Vector advantage_N = AdvantagesOfCompletions(step);
  std::vector<Vector> advantage_NL;
  for (size_t n = 0; n < advantage_N.size(); ++n) {
    advantage_NL.emplace_back(step.episodes[n].learned.size(), advantage_N[n]);
  }
  Whiten(false, &step.episodes, &advantage_NL);
  for (size_t n = 0; n < advantage_N.size(); ++n) {
    if (AllEqual(step.Rewards(n, false))) advantage_NL[n].assign(advantage_NL[n].size(), 0.0);
    step.episodes[n].advantage_L = advantage_NL[n];
  }
}

void SetMasks(const AdvantageContext& context, std::vector<Episode>* episodes) {
  const rl::AlgorithmConfig& a = context.config.algorithm;
  for (Episode& e : *episodes) {
    Vector group;
    for (const Episode& other : *episodes) {
      if (other.prompt == e.prompt) group.push_back(Clipped(a, other.reward));
    }
    e.left_out = e.invalid || (a.dynamic_sampling && AllEqual(group)) || !HasBaseline(context, e);
    e.masked = e.left_out || (a.mask_truncated_completions && !e.terminated);
  }
}

}  // namespace

Episode EpisodeOf(const rl::Config& config, const rl::EpisodeRecord& record) {
  const rl::CompletionEpisode& completion = rl::CompletionOf(record);
  Episode e;
  e.prompt = record.prompt;
  e.tokens = completion.tokens;
  e.turns = completion.turn_K.size();
  e.rewards_F = record.rewards_F;
  e.terminated = record.terminated;
  const bool by_turn = config.algorithm.reward.by_turn;
  const Vector weights_F = RewardWeights(config.algorithm, e.rewards_F.size());
  const std::optional<size_t> environment = PlaceOfEnvironment(config.algorithm);
  if (environment) e.rewards_F[*environment] = 0;
  if (by_turn) e.earned_T.assign(e.tokens.size(), 0.0);
  size_t at = 0, all_low = 0, failed = 0, refused = 0;
  for (size_t k = 0; k < completion.turn_K.size(); ++k) {
    const rl::TurnRecord& turn = completion.turn_K[k];
    e.turn_T.insert(e.turn_T.end(), static_cast<size_t>(turn.observation_tokens + turn.action_tokens), k);
    at += static_cast<size_t>(turn.observation_tokens);
    for (size_t i = 0; i < static_cast<size_t>(turn.action_tokens); ++i, ++at) {
      e.own.push_back(at);
      const bool is_passed = turn.check && (static_cast<int64_t>(i) < turn.check->learned_begin ||
                                            static_cast<int64_t>(i) >= turn.check->learned_end);
      if (!is_passed) e.learned.push_back(at);
    }
    if (environment) {  // a truncated turn has no reply
      const double earned = config.environment.turn_reward + (turn.reply ? turn.reply->reward : 0);
      e.rewards_F[*environment] += earned;
      if (by_turn) e.earned_K.push_back(weights_F[*environment] * earned);
      if (by_turn && !e.learned.empty()) e.earned_T[e.learned.back()] += e.earned_K.back();
    }
    if (!turn.check) continue;
    failed += turn.check->method == rl::MaskMethod::kFailed ? 1 : 0;
    all_low += turn.check->method == rl::MaskMethod::kLast ? 1 : 0;
    refused += turn.check->valid ? 0 : 1;
  }
  for (size_t f = 0; f < weights_F.size(); ++f) e.reward += weights_F[f] * e.rewards_F[f];
  if (completion.turn_K.empty()) {
    for (size_t t = 0; t < e.tokens.size(); ++t) e.own.push_back(t);
    e.learned = e.own;
    e.turn_T.assign(e.tokens.size(), 0);
  }
  e.invalid = config.environment.invalid_episodes == rl::InvalidEpisodes::kDrop && e.turns > 0 &&
              (failed > 0 || refused > 0 || all_low == e.turns);
  for (const size_t t : e.learned) {
    e.old_L.push_back(record.logprobs[t]);
    e.entropy_L.push_back(record.entropies[t]);
    if (!record.ref_logprobs.empty()) e.ref_L.push_back(record.ref_logprobs[t]);
  }
  return e;
}

double Divergence(const std::string& estimator, double logprob, double ref) {
  const double d = ref - logprob;
  return estimator == "k1" ? -d : estimator == "k2" ? d * d / 2 : std::exp(d) - d - 1;
}

void SetAdvantages(const AdvantageContext& context, std::vector<Episode>* episodes) {
  SetMasks(context, episodes);
  const Step step = {context, context.config.algorithm, *episodes, ComparedRewards(context, *episodes)};
  if (context.row.by_step()) {
    SetStepAdvantages(step);
  } else if (context.row.has_token_rewards()) {
    SetTokenAdvantages(step);
  } else if (context.row.whiten_tokens) {
    SetWhitenedAdvantages(step);
  } else {
    const Vector advantage_N = AdvantagesOfCompletions(step);
    for (size_t n = 0; n < advantage_N.size(); ++n) {
      (*episodes)[n].advantage_L.assign((*episodes)[n].learned.size(), advantage_N[n]);
    }
  }
}

double Mean(const Vector& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Deviation(const Vector& values, double ddof) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (static_cast<double>(values.size()) - ddof));
}

bool AllEqual(const Vector& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

double Quantile(Vector values, double share) {
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(rank), above = std::min(below + 1, values.size() - 1);
  return values[below] + (rank - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace reprise::reference
