#include "tests/reference/trainer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "rl/record/completions/completion_record.h"
#include "rl/schedule/minibatches.h"

namespace reprise::reference {

struct Trainer::Pass {
  Pass(const State& state, const Parts& parts, const TensorPlaces& places)
      : tape(state.weights),
        reference_tape(state.reference),
        policy(parts.model, places, "", &tape),
        network(parts.model, places, "value_model.", &tape),
        reference(parts.model, places, "", &reference_tape) {}

  Tape tape, reference_tape;
  Decoder policy, network, reference;
  std::vector<Scores> scores;  // of the minibatch's episodes, in their order
  double rows = 0;             // through the policy's decoder

  bool has_reference = false;  // whether the exact divergence is computed
  bool has_values = false, has_network = false;
};

Trainer::Trainer(Parts parts)
    : parts_(std::move(parts)), a_(parts_.config.algorithm), places_(FindTensors(parts_.layout)) {
  memory_.kl_coef = RowOf(a_).beta;
  memory_.entropy_coef = a_.entropy.entropy_coef;
}

Metrics Trainer::Step(const rl::StepRecord& record, State* state) {
  BeginStep(record);
  return record.phase == rl::Phase::kSft ? Sft(record, state) : Train(record, state);
}

void Trainer::BeginStep(const rl::StepRecord& record) {
  if (record.phase != memory_.phase) memory_.num_tokens = 0;
  memory_.phase = record.phase;
  row_ = RowOf(a_);
  if (a_.kl.schedule != rl::KlSchedule::kFixed) row_.beta = memory_.kl_coef;
  const double faded = a_.entropy.entropy_coef * std::pow(a_.entropy.decay, static_cast<double>(record.step - 1));
  entropy_coef_ = std::max(faded, std::min(a_.entropy.floor, a_.entropy.entropy_coef));
  if (a_.entropy.adaptive) entropy_coef_ = memory_.is_entropy_low ? memory_.entropy_coef : 0;
  episodes_.clear();
  for (const rl::EpisodeRecord& e : record.episode_N) {
    episodes_.push_back(EpisodeOf(parts_.config, e));
    const rl::TaskRecord& task = record.task_P[e.prompt];
    memory_.num_tokens += static_cast<double>(rl::CompletionOf(e).tokens.size() + rl::CompletionOf(task).tokens.size());
  }
  outcomes_.assign(episodes_.size(), {});
  grad_norm_ = 0;
  iteration_ = -1;
}

double Trainer::Temperature() const {
  return memory_.phase == rl::Phase::kSft ? 1.0 : parts_.config.rollout.temperature;
}

// SFT phase minimizes the cross-entropy of the answers, the mean over the step's learned tokens.
Metrics Trainer::Sft(const rl::StepRecord& record, State* state) {
  std::vector<size_t> all(episodes_.size());
  std::iota(all.begin(), all.end(), 0);
  Pass pass(*state, parts_, places_);
  Forward(record, all, *state, &pass);
  double tokens = 0, entropy = 0;
  for (const Episode& e : episodes_) tokens += static_cast<double>(e.learned.size());
  Var loss = pass.tape.Number(0);
  for (const Scores& scores : pass.scores) {
    loss = loss - (1 / tokens) * Sum(scores.logprob_L);
    entropy += Sum(scores.entropy_L).number();
  }
  const double rate = parts_.config.sft.learning_rate;
  Metrics metrics = {{"loss", loss.number()},
                     {"learning_rate", rate},
                     {"num_tokens", memory_.num_tokens},
                     {"entropy", entropy / tokens}};
  if (!record.count_C.empty()) {
    const Var balance = Balance(record, &pass);
    metrics["aux_loss"] = balance.number();
    loss = loss + parts_.model.router_aux_loss_coef * balance;
  }
  pass.tape.Backward(loss);
  const Vector& g = pass.tape.gradient();
  metrics["grad_norm"] = grad_norm_ = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
  Apply(g, rate, state);
  return metrics;
}

Metrics Trainer::Train(const rl::StepRecord& record, State* state) {
  ScoreByItself(record, *state);
  AdvantageContext context = {parts_.config, row_, 0};
  if (memory_.reward_weight > 0) context.running_mean = memory_.reward_sum / memory_.reward_weight;
  baseline_P_.clear();
  if (row_.baseline == "greedy" || row_.baseline == "optimal") baseline_P_ = PromptBaselines(record, *state);
  context.baseline_P = baseline_P_;
  SetAdvantages(context, &episodes_);
  CompareAdvantages(record);
  bool is_first = true, goes_on = true;
  for (int64_t iteration = 0; iteration < row_.num_iterations; ++iteration) {
    std::vector<Minibatch> minibatches = Minibatches(record, iteration);
    num_minibatches_ = minibatches.size();
    for (Minibatch& minibatch : minibatches) {
      minibatch.iteration = iteration;
      minibatch.is_first = is_first;
      goes_on = goes_on && Update(record, minibatch, state);
      is_first = false;
    }
  }
  Metrics metrics = ComputeMetrics(record, *state);
  AdvanceSchedules(record, metrics.at("entropy"), state);
  return metrics;
}

// ---- Forward passes

// Computes the minibatch's episodes. Episodes of the same prompt are adjacent, and their prompt is computed once.
void Trainer::Forward(const rl::StepRecord& record, const std::vector<size_t>& minibatch, const State& state,
                      Pass* pass) const {
  const bool trains = record.phase == rl::Phase::kTraining;
  pass->has_values = trains && row_.baseline == "value";
  pass->has_network = pass->has_values && a_.has_value_network;
  pass->has_reference = trains && !state.reference.empty() && row_.kl_estimator == "exact" && row_.beta != 0;
  Context context = pass->policy.Begin(), network_context = context, reference_context = context;
  Var hidden, network_hidden, reference_hidden;
  for (size_t i = 0; i < minibatch.size(); ++i) {
    const Episode& episode = episodes_[minibatch[i]];
    if (i == 0 || episodes_[minibatch[i - 1]].prompt != episode.prompt) {
      context = network_context = reference_context = pass->policy.Begin();
      for (const int32_t token : rl::CompletionOf(record.task_P[episode.prompt]).tokens) {
        hidden = pass->policy.Next(token, &context);
        if (pass->has_network) network_hidden = pass->network.Next(token, &network_context);
        if (pass->has_reference) reference_hidden = pass->reference.Next(token, &reference_context);
        ++pass->rows;
      }
    }
    ForwardEpisode(episode, {hidden, network_hidden, reference_hidden}, {context, network_context, reference_context},
                   pass);
  }
}

void Trainer::ForwardEpisode(const Episode& episode, Hidden hidden, Contexts contexts, Pass* pass) const {
  std::vector<Var> logprobs, entropies, divergences, values;
  size_t next = 0;
  for (size_t t = 0; t < episode.tokens.size(); ++t) {
    if (next < episode.learned.size() && episode.learned[next] == t) {
      ++next;
      const Var p = pass->policy.LogProbabilities(hidden.policy, Temperature());
      logprobs.push_back(Slice(p, static_cast<size_t>(episode.tokens[t]), 1));
      entropies.push_back(-Dot(Exp(p), p));
      if (pass->has_values) {
        values.push_back(pass->policy.Value(pass->has_network ? hidden.network : hidden.policy));
      }
      if (pass->has_reference) {
        const Var q = pass->reference.LogProbabilities(hidden.reference, Temperature());
        divergences.push_back(Dot(Exp(p), p - pass->tape.Constant(q.value())));
      }
    }
    if (t + 1 == episode.tokens.size()) break;
    hidden.policy = pass->policy.Next(episode.tokens[t], &contexts.policy);
    if (pass->has_network) hidden.network = pass->network.Next(episode.tokens[t], &contexts.network);
    if (pass->has_reference) hidden.reference = pass->reference.Next(episode.tokens[t], &contexts.reference);
    ++pass->rows;
  }
  Scores scores = {pass->tape.Concat(logprobs), pass->tape.Concat(entropies), std::nullopt, std::nullopt};
  if (pass->has_values) scores.value_L = pass->tape.Concat(values);
  if (pass->has_reference) scores.exact_kl_L = pass->tape.Concat(divergences);
  pass->scores.push_back(std::move(scores));
}

// Computes the values before the updates, and compares the recorded log-probabilities, entropies and experts with its
// own.
void Trainer::ScoreByItself(const rl::StepRecord& record, const State& state) {
  std::vector<size_t> all(episodes_.size());
  std::iota(all.begin(), all.end(), 0);
  Pass pass(state, parts_, places_);
  Forward(record, all, state, &pass);
  for (size_t n = 0; n < episodes_.size(); ++n) {
    Episode& episode = episodes_[n];
    if (pass.has_values) episode.value_L = pass.scores[n].value_L->value();
    if (pass.has_values && a_.advantage.bootstrap_truncated && !episode.terminated) {
      episode.bootstrap = ValueOfLastState(record, episode, state);
    }
    for (size_t l = 0; l < episode.learned.size(); ++l) {
      const double difference = std::fabs(pass.scores[n].logprob_L.value()[l] - episode.old_L[l]);
      logprob_difference_ = std::max(logprob_difference_, difference);
      const double of_entropy = std::fabs(pass.scores[n].entropy_L.value()[l] - episode.entropy_L[l]);
      entropy_difference_ = std::max(entropy_difference_, of_entropy);
    }
  }
  for (size_t i = 0; i < record.count_C.size(); ++i) {
    expert_differences_ += record.count_C[i] == pass.policy.expert_count_LE()[i] ? 0 : 1;
  }
}

// Returns the value of the state after the episode's last token.
double Trainer::ValueOfLastState(const rl::StepRecord& record, const Episode& episode, const State& state) const {
  Tape tape(state.weights);
  const Decoder policy(parts_.model, places_, "", &tape);
  Decoder trunk(parts_.model, places_, a_.has_value_network ? "value_model." : "", &tape);
  Context context = trunk.Begin();
  Var hidden;
  for (const int32_t token : rl::CompletionOf(record.task_P[episode.prompt]).tokens) {
    hidden = trunk.Next(token, &context);
  }
  for (const int32_t token : episode.tokens) hidden = trunk.Next(token, &context);
  return policy.Value(hidden).number();
}

// ---- Updates

// Returns the minibatches of an iteration as numbers of units, in drawn order: their sizes differ by at most one, and
// larger ones come first; or they have mini_batch_size units, and the last those that remain.
std::vector<std::vector<size_t>> Trainer::Deal(const rl::StepRecord& record, size_t units, int64_t iteration) const {
  std::vector<size_t> sizes;
  if (a_.update.mini_batch_size > 0) {
    const size_t size = static_cast<size_t>(a_.update.mini_batch_size);
    for (size_t dealt = 0; dealt < units; dealt += size) sizes.push_back(std::min(size, units - dealt));
  } else {
    const size_t batches = std::min(static_cast<size_t>(a_.update.num_mini_batches), units);
    for (size_t b = 0; b < batches; ++b) sizes.push_back(units / batches + (b < units % batches ? 1 : 0));
  }
  std::vector<int64_t> order(units);
  std::iota(order.begin(), order.end(), 0);
  if (sizes.size() > 1) {
    order = rl::ShuffledOrder(static_cast<int64_t>(units), static_cast<uint64_t>(parts_.config.run.seed),
                              static_cast<uint64_t>(record.step), iteration);
  }
  std::vector<std::vector<size_t>> dealt;
  size_t next = 0;
  for (const size_t size : sizes) {
    std::vector<size_t>& minibatch = dealt.emplace_back();
    for (size_t i = 0; i < size; ++i) minibatch.push_back(static_cast<size_t>(order[next++]));
    std::sort(minibatch.begin(), minibatch.end());
  }
  return dealt;
}

std::vector<Trainer::Minibatch> Trainer::Minibatches(const rl::StepRecord& record, int64_t iteration) const {
  std::vector<Minibatch> minibatches;
  const auto add = [&](size_t episode, std::optional<size_t> token) {
    Minibatch& m = minibatches.back();
    if (m.episodes.empty() || m.episodes.back() != episode) m.episodes.push_back(episode), m.tokens.emplace_back();
    if (token) m.tokens.back().push_back(*token);
    for (size_t l = 0; l < episodes_[episode].learned.size() && !token; ++l) m.tokens.back().push_back(l);
  };
  std::vector<std::pair<size_t, size_t>> decisions;  // that count: episode and learned token
  for (size_t n = 0; n < episodes_.size() && a_.update.unit == rl::MinibatchUnit::kDecision; ++n) {
    for (size_t l = 0; l < episodes_[n].counted(); ++l) decisions.emplace_back(n, l);
  }
  for (const std::vector<size_t>& dealt : Deal(record, decisions.size(), iteration)) {
    minibatches.emplace_back();
    for (const size_t place : dealt) add(decisions[place].first, decisions[place].second);
  }
  if (!minibatches.empty()) return minibatches;
  const bool is_idle =
      a_.update.unit == rl::MinibatchUnit::kDecision;  // no decision counts: one minibatch, which learns nothing
  const size_t generations = static_cast<size_t>(parts_.config.rollout.num_generations);
  const size_t of_unit = is_idle ? episodes_.size() : a_.update.unit == rl::MinibatchUnit::kEpisode ? 1 : generations;
  for (const std::vector<size_t>& dealt : Deal(record, episodes_.size() / of_unit, iteration)) {
    minibatches.emplace_back();
    for (const size_t unit : dealt) {
      for (size_t k = 0; k < of_unit; ++k) add(unit * of_unit + k, std::nullopt);
    }
  }
  return minibatches;
}

namespace {

// Returns the episode with only these of its learned tokens.
Episode SelectTokens(Episode e, const std::vector<size_t>& tokens) {
  for (Vector* values : {&e.old_L, &e.ref_L, &e.value_L, &e.advantage_L, &e.return_L}) {
    if (values->empty()) continue;
    Vector part;
    for (const size_t l : tokens) part.push_back((*values)[l]);
    *values = part;
  }
  std::vector<size_t> learned;
  for (const size_t l : tokens) learned.push_back(e.learned[l]);
  e.learned = learned;
  return e;
}

Var SelectTokens(Var values_L, const std::vector<size_t>& tokens) {
  if (tokens.size() == values_L.size()) return values_L;
  std::vector<Var> part;
  for (const size_t l : tokens) part.push_back(Slice(values_L, l, 1));
  return values_L.tape->Concat(part);
}

Scores SelectTokens(Scores scores, const std::vector<size_t>& tokens) {
  scores.logprob_L = SelectTokens(scores.logprob_L, tokens);
  scores.entropy_L = SelectTokens(scores.entropy_L, tokens);
  if (scores.exact_kl_L) scores.exact_kl_L = SelectTokens(*scores.exact_kl_L, tokens);
  if (scores.value_L) scores.value_L = SelectTokens(*scores.value_L, tokens);
  return scores;
}

// Adds what another update of the same iteration counted of an episode.
void Add(const EpisodeLoss& more, EpisodeLoss* sum) {
  sum->policy += more.policy, sum->value += more.value, sum->tokens += more.tokens, sum->entropy += more.entropy;
  sum->kl += more.kl, sum->approx_kl += more.approx_kl, sum->abs_max = std::max(sum->abs_max, more.abs_max);
  sum->ratios += more.ratios, sum->low += more.low, sum->high += more.high, sum->dual += more.dual;
  sum->value_clipped += more.value_clipped, sum->ratio += more.ratio, sum->squares += more.squares;
}

}  // namespace

Normalizer Trainer::MakeNormalizer(const std::vector<Episode>& own, const std::vector<Scores>& scores) const {
  Normalizer n;
  Vector entropies;
  for (size_t i = 0; i < own.size(); ++i) {
    const Episode& e = own[i];
    if (e.left_out) continue;
    n.completions += 1;
    n.with_tokens += e.counted() > 0 ? 1 : 0;
    n.tokens += static_cast<double>(e.counted());
    const Vector& entropy_L = scores[i].entropy_L.value();
    if (!e.masked) entropies.insert(entropies.end(), entropy_L.begin(), entropy_L.end());
  }
  double of_step = 0;
  for (const Episode& e : episodes_) of_step += static_cast<double>(e.counted());
  n.tokens_of_share = of_step / static_cast<double>(num_minibatches_);
  if (!entropies.empty()) n.entropy_threshold = Quantile(entropies, 1 - a_.loss.top_entropy_quantile);
  return n;
}

// Returns the routers' load-balancing loss (Fedus et al., 2021): the number of experts times the sum over experts of
// the fraction of the step's rows that chose the expert times its mean probability in the pass.
Var Trainer::Balance(const rl::StepRecord& record, Pass* pass) const {
  const double layers = static_cast<double>(parts_.model.num_hidden_layers);
  const double experts = static_cast<double>(parts_.model.num_experts);
  const double choices = static_cast<double>(parts_.model.num_experts_per_tok);
  double chosen = 0;  // rows of the step x layers x choices
  for (const int64_t count : record.count_C) chosen += static_cast<double>(count);
  Vector count_E(static_cast<size_t>(parts_.model.num_experts)), share_E;
  for (size_t i = 0; i < record.count_C.size(); ++i) {
    count_E[i % count_E.size()] += static_cast<double>(record.count_C[i]);
  }
  for (const double count : count_E) share_E.push_back(choices * count / chosen);
  const Vector even(pass->policy.router_probabilities().size(), 1 / (layers * pass->rows));
  const Var mean_E = pass->tape.WeightedSum(pass->tape.Constant(even), pass->policy.router_probabilities());
  return experts * Dot(pass->tape.Constant(share_E), mean_E);
}

bool Trainer::Update(const rl::StepRecord& record, const Minibatch& minibatch, State* state) {
  Pass pass(*state, parts_, places_);
  Forward(record, minibatch.episodes, *state, &pass);
  std::vector<Episode> own;
  std::vector<Scores> scores;
  for (size_t i = 0; i < minibatch.episodes.size(); ++i) {
    own.push_back(SelectTokens(episodes_[minibatch.episodes[i]], minibatch.tokens[i]));
    scores.push_back(SelectTokens(pass.scores[i], minibatch.tokens[i]));
  }
  const LossContext context = {parts_.config, row_, entropy_coef_, minibatch.is_first, MakeNormalizer(own, scores)};
  Var loss = pass.tape.Number(0);
  double approx_kl = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const EpisodeLoss part = LossOf(context, own[i], scores[i]);
    Outcome& outcome = outcomes_[minibatch.episodes[i]];
    if (outcome.iteration == minibatch.iteration) {
      outcome.loss += part.loss.number();
      Add(part, &outcome.parts);
    } else {
      outcome = {part.loss.number(), part, minibatch.iteration};
    }
    loss = loss + part.loss;
    approx_kl += part.approx_kl;
  }
  const Var balance = Balance(record, &pass);
  if (iteration_ != minibatch.iteration) aux_losses_.clear();
  iteration_ = minibatch.iteration;
  aux_losses_.push_back(balance.number());
  if (context.normalizer.tokens == 0) return true;  // nothing is learned, nothing changes
  pass.tape.Backward(loss + parts_.model.router_aux_loss_coef * balance);
  const Vector& g = pass.tape.gradient();
  grad_norm_ = std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0));
  if (a_.update.target_kl > 0 && approx_kl / context.normalizer.tokens > 1.5 * a_.update.target_kl) return false;
  Apply(g, LearningRate(record.step), state);
  return true;
}

double Trainer::LearningRate(int64_t step) const {
  const rl::OptimizerConfig& o = parts_.config.optimizer;
  const double done = static_cast<double>(step - 1), total = static_cast<double>(parts_.config.run.steps);
  const double warmup = o.warmup_ratio > 0 ? std::ceil(o.warmup_ratio * total) : static_cast<double>(o.warmup_steps);
  if (done < warmup) return o.learning_rate * (o.warmup_start + (1 - o.warmup_start) * done / warmup);
  double factor = 1;
  if (o.schedule == rl::Schedule::kLinear) factor = (total - done) / (total - warmup);
  if (o.schedule == rl::Schedule::kCosine)
    factor = (1 + std::cos(std::numbers::pi * (done - warmup) / (total - warmup))) / 2;
  return o.learning_rate * (o.min_lr_rate + (1 - o.min_lr_rate) * factor);
}

// AdamW (Loshchilov and Hutter, 2019) as in PyTorch, on the gradient scaled down to max_grad_norm.
void Trainer::Apply(const Vector& gradient, double learning_rate, State* state) const {
  const rl::OptimizerConfig& o = parts_.config.optimizer;
  const double scale = o.max_grad_norm > 0 ? std::min(1.0, o.max_grad_norm / (grad_norm_ + 1e-6)) : 1.0;
  const double t = static_cast<double>(++state->updates);
  for (const ParameterSpec& spec : parts_.layout.specs) {
    const double decay =
        o.weight_decay_on == rl::DecayedTensors::kMatrices && spec.shape.size() == 1 ? 0 : o.weight_decay;
    for (size_t i = static_cast<size_t>(spec.offset); i < static_cast<size_t>(spec.offset + spec.size); ++i) {
      const double g = scale * gradient[i];
      double &m = state->first_moments[i], &v = state->second_moments[i], &w = state->weights[i];
      w -= learning_rate * decay * w;
      m = o.beta1 * m + (1 - o.beta1) * g;
      v = o.beta2 * v + (1 - o.beta2) * g * g;
      const double mean = m / (1 - std::pow(o.beta1, t)), square = v / (1 - std::pow(o.beta2, t));
      w -= learning_rate * mean / (std::sqrt(square) + o.epsilon);
    }
  }
}

// ---- Between steps

// Compares the mean of the tokens' advantages with the recorded advantage.
void Trainer::CompareAdvantages(const rl::StepRecord& record) {
  for (size_t n = 0; n < episodes_.size(); ++n) {
    const Episode& e = episodes_[n];
    if (e.learned.empty() || (e.masked && row_.by_token())) continue;
    const double difference = std::fabs(Mean(e.advantage_L) - record.episode_N[n].advantage);
    if (!(difference <= advantage_difference_)) advantage_difference_ = difference;  // or not a number
  }
}

// Adapts the entropy coefficient as in Skywork-OR1 (He et al., 2025, arXiv 2505.22312), once per step.
void Trainer::MoveEntropyCoefficient(double entropy) {
  double& c = memory_.entropy_coef;
  memory_.is_entropy_low = entropy <= a_.entropy.target;
  c = memory_.is_entropy_low ? std::min(c + a_.entropy.delta, a_.entropy.max)
                             : std::max(c - a_.entropy.delta, a_.entropy.min);
}

void Trainer::AdvanceSchedules(const rl::StepRecord& record, double entropy, State* state) {
  // kl is the sum of k1 over the tokens that count.
  double kl = 0, tokens = 0, completions = 0;
  for (const Episode& e : episodes_) {
    if (e.masked) continue;
    completions += 1;
    tokens += static_cast<double>(e.learned.size());
    for (size_t l = 0; l < e.ref_L.size(); ++l) kl += e.old_L[l] - e.ref_L[l];
  }
  if (a_.entropy.adaptive && tokens > 0) MoveEntropyCoefficient(entropy);
  const double mean = tokens > 0 ? kl / tokens : 0;
  Memory& m = memory_;
  if (a_.kl.schedule == rl::KlSchedule::kLinear) {
    const double share = static_cast<double>(record.step) / static_cast<double>(parts_.config.run.steps);
    m.kl_coef = RowOf(a_).beta + (a_.kl.final - RowOf(a_).beta) * share;
  } else if (a_.kl.schedule == rl::KlSchedule::kProportional && tokens > 0) {
    m.kl_coef *= 1 + std::clamp(mean / a_.kl.target - 1, -0.2, 0.2) * completions / a_.kl.horizon;
  } else if (a_.kl.schedule == rl::KlSchedule::kBanded && tokens > 0) {
    m.recent_kl.push_back(mean);
    if (++m.kl_updates % a_.kl.interval == 0) {
      const double recent = Mean(std::exchange(m.recent_kl, {}));
      if (m.kl_updates >= a_.kl.patience) {
        if (recent > a_.kl.target + a_.kl.tolerance) m.kl_coef *= a_.kl.rate;
        if (recent < a_.kl.target - a_.kl.tolerance) m.kl_coef /= a_.kl.rate;
        m.kl_coef = std::clamp(m.kl_coef, a_.kl.low, a_.kl.high);
      }
    }
  }
  Vector rewards;
  for (const Episode& e : episodes_) rewards.push_back(Clipped(a_, e.reward));
  m.reward_sum = a_.baseline_decay * m.reward_sum + (1 - a_.baseline_decay) * Mean(rewards);
  m.reward_weight = a_.baseline_decay * m.reward_weight + (1 - a_.baseline_decay);
  if (!a_.reference.sync || record.step % a_.reference.sync_steps != 0) return;
  for (size_t i = 0; i < state->reference.size(); ++i) {
    const double alpha = a_.reference.mixup_alpha;
    state->reference[i] = alpha * state->weights[i] + (1 - alpha) * state->reference[i];
  }
}

}  // namespace reprise::reference
