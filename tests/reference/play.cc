// Baselines of prompts that need additional episodes, which are not recorded: the most probable one (ReMax; Li et al.,
// 2024, arXiv 2310.10505), or samples of the reference (A*-PO; Brantley et al., 2025, arXiv 2505.20686).

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random/draw.h"
#include "rl/record/completions/completion_record.h"
#include "tests/reference/trainer.h"

namespace reprise::reference {
namespace {

size_t MostProbable(const Vector& p) { return static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin()); }

// Returns the first token at which the cumulative probability exceeds `uniform`.
size_t AtMass(const Vector& logprobs, double uniform) {
  double mass = 0;
  size_t token = 0;
  for (; token + 1 < logprobs.size(); ++token) {
    mass += std::exp(logprobs[token]);
    if (mass > uniform) break;
  }
  return token;
}

}  // namespace

// Plays an episode, or a completion, which is a single action without an answer, and returns its reward.
double Trainer::RewardOfPlay(const rl::TaskRecord& task, const Vector& weights, const Choose& choose) const {
  const bool has_turns = !parts_.config.environment.name.empty();
  const int64_t room = parts_.config.rollout.max_completion_length;
  const int64_t longest_action = has_turns ? parts_.config.environment.max_action_length : 0;
  const auto ends = [&](int32_t token) {
    return std::find(parts_.end_tokens.begin(), parts_.end_tokens.end(), token) != parts_.end_tokens.end();
  };
  Tape tape(weights);
  Decoder policy(parts_.model, places_, "", &tape);
  Context context = policy.Begin();
  Var hidden;
  for (const int32_t token : rl::CompletionOf(task).tokens) hidden = policy.Next(token, &context);
  double earned = 0;
  int64_t length = 0;
  for (int64_t turn = 0;; ++turn) {
    std::vector<int32_t> action;
    bool is_whole = false;
    while (!is_whole && length < room && (longest_action == 0 || std::ssize(action) < longest_action)) {
      const Vector p = policy.LogProbabilities(hidden, Temperature()).value();
      action.push_back(static_cast<int32_t>(choose(p, turn, std::ssize(action))));
      is_whole = ends(action.back());
      ++length;
      hidden = policy.Next(action.back(), &context);
    }
    if (!has_turns) return parts_.reward(task, action, is_whole, 0);
    earned += parts_.config.environment.turn_reward;
    if (!is_whole && length == room) return parts_.reward(task, action, false, earned);
    const Answer answer = parts_.answer(task, action);
    earned += answer.reward;
    length += std::ssize(answer.observation);
    const bool has_room = turn + 1 < parts_.config.environment.max_turns && length < room;
    if (answer.done || !has_room) return parts_.reward(task, action, answer.done, earned);
    for (const int32_t token : answer.observation) hidden = policy.Next(token, &context);
  }
}

// Returns the baseline of each prompt; NaN if it has none, so that its completions are left out.
Vector Trainer::PromptBaselines(const rl::StepRecord& record, const State& state) const {
  Vector baseline_P;
  for (const rl::TaskRecord& task : record.task_P) {
    if (row_.baseline == "greedy") {
      const auto choose = [](const Vector& p, int64_t, int64_t) { return MostProbable(p); };
      baseline_P.push_back(Clipped(a_, RewardOfPlay(task, state.weights, choose)));
      continue;
    }
    Vector rewards;
    double mean = 0;
    for (int64_t sample = 0; sample < a_.optimal.num_samples; ++sample) {
      const auto choose = [&](const Vector& p, int64_t turn, int64_t token) {
        const DrawAt at = {static_cast<uint64_t>(record.step), static_cast<uint64_t>(task.prompt),
                           static_cast<uint64_t>(sample), static_cast<uint64_t>(turn), static_cast<uint64_t>(token)};
        return AtMass(p, DrawUniform(static_cast<uint64_t>(parts_.config.run.seed), Purpose::kValueSampling, at));
      };
      rewards.push_back(Clipped(a_, RewardOfPlay(task, state.reference, choose)));
      mean += std::exp(rewards.back() / a_.optimal.beta1) / static_cast<double>(a_.optimal.num_samples);
    }
    const bool is_hopeless = a_.optimal.filter_all_incorrect && AllEqual(rewards) && rewards[0] == 0;
    baseline_P.push_back(is_hopeless ? std::numeric_limits<double>::quiet_NaN() : a_.optimal.beta1 * std::log(mean));
  }
  return baseline_P;
}

}  // namespace reprise::reference
