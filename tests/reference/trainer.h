#ifndef TESTS_REFERENCE_TRAINER_H_
#define TESTS_REFERENCE_TRAINER_H_

// A second implementation of a training step, in double: from recorded tasks, tokens and rewards to new weights and
// metrics.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/decoder/parameters.h"
#include "rl/config/config.h"
#include "rl/record/step_record.h"
#include "tests/reference/algorithm.h"
#include "tests/reference/decoder.h"

namespace reprise::reference {

// The state that steps change.
struct State {
  Vector weights, first_moments, second_moments;
  Vector reference;     // empty without one
  int64_t updates = 0;  // of the optimizer, in this phase
};

using Metrics = std::map<std::string, double>;

// An environment's answer to an action.
struct Answer {
  std::vector<int32_t> observation;
  double reward = 0;
  bool done = false;
};

class Trainer {
 public:
  struct Parts {
    rl::Config config;
    models::DecoderConfig model;
    models::DecoderLayout layout;
    std::vector<int32_t> end_tokens;
    // `reward` returns the weighted reward of a task's episode from its last action and the environment's reward;
    // `answer` returns the environment's answer to an action. Only used for baselines with unrecorded episodes.
    std::function<double(const rl::TaskRecord& task, const std::vector<int32_t>& action, bool terminated,
                         double earned)>
        reward = {};
    std::function<Answer(const rl::TaskRecord& task, const std::vector<int32_t>& action)> answer = {};
  };
  explicit Trainer(Parts parts);

  // Replaces the state before the step with the state after it, and returns the metrics that it computes. Must be
  // called for all steps in order, because the trainer keeps further values from step to step.
  Metrics Step(const rl::StepRecord& record, State* state);

  // Over all calls of Step: the greatest difference between recorded and computed log-probabilities, and between
  // recorded and computed advantages, and the number of experts with a different count of rows.
  double logprob_difference() const { return logprob_difference_; }
  double entropy_difference() const { return entropy_difference_; }
  double advantage_difference() const { return advantage_difference_; }
  int64_t expert_differences() const { return expert_differences_; }

 private:
  // The results of the last update that contained an episode; where single decisions are dealt, of all updates of the
  // last iteration that did.
  struct Outcome {
    double loss = 0;
    EpisodeLoss parts;
    int64_t iteration = -1;
  };
  // What one update learns from: episodes, and of each the learned tokens that count, as indices among these.
  struct Minibatch {
    std::vector<size_t> episodes;
    std::vector<std::vector<size_t>> tokens;
    int64_t iteration = 0;
    bool is_first = false;  // of the step
  };
  // One forward pass over a minibatch.
  struct Pass;
  struct Hidden {
    Var policy, network, reference;
  };
  struct Contexts {
    Context policy, network, reference;
  };
  // Returns the next token of an episode, given the log-probabilities of all tokens.
  using Choose = std::function<size_t(const Vector& logprobs, int64_t turn, int64_t token_of_turn)>;
  // Values kept from step to step.
  struct Memory {
    double kl_coef = 0, entropy_coef = 0, reward_sum = 0, reward_weight = 0, num_tokens = 0;
    bool is_entropy_low = true;
    int64_t kl_updates = 0;
    Vector recent_kl;
    rl::Phase phase = rl::Phase::kSft;
  };

  void BeginStep(const rl::StepRecord& record);
  Metrics Sft(const rl::StepRecord& record, State* state);
  Metrics Train(const rl::StepRecord& record, State* state);
  void Forward(const rl::StepRecord& record, const std::vector<size_t>& minibatch, const State& state,
               Pass* pass) const;
  void ForwardEpisode(const Episode& episode, Hidden hidden, Contexts contexts, Pass* pass) const;
  void ScoreByItself(const rl::StepRecord& record, const State& state);
  double ValueOfLastState(const rl::StepRecord& record, const Episode& episode, const State& state) const;
  Vector PromptBaselines(const rl::StepRecord& record, const State& state) const;
  double RewardOfPlay(const rl::TaskRecord& task, const Vector& weights, const Choose& choose) const;
  std::vector<Minibatch> Minibatches(const rl::StepRecord& record, int64_t iteration) const;
  std::vector<std::vector<size_t>> Deal(const rl::StepRecord& record, size_t units, int64_t iteration) const;
  Normalizer MakeNormalizer(const std::vector<Episode>& own, const std::vector<Scores>& scores) const;
  Var Balance(const rl::StepRecord& record, Pass* pass) const;
  double LearningRate(int64_t step) const;
  // Returns false if the step's updates end before this one.
  bool Update(const rl::StepRecord& record, const Minibatch& minibatch, State* state);
  void Apply(const Vector& gradient, double learning_rate, State* state) const;
  void CompareAdvantages(const rl::StepRecord& record);
  void AdvanceSchedules(const rl::StepRecord& record, double entropy, State* state);
  void MoveEntropyCoefficient(double entropy);
  double Temperature() const;

  Metrics ComputeMetrics(const rl::StepRecord& record, const State& state) const;
  void AddLossMetrics(Metrics* metrics) const;
  void AddRewardMetrics(Metrics* metrics) const;
  void AddValueMetrics(Metrics* metrics) const;
  void AddLengthMetrics(Metrics* metrics) const;

  const Parts parts_;
  const rl::AlgorithmConfig& a_;
  const TensorPlaces places_;
  Memory memory_;

  // Of the current step.
  Row row_;
  double entropy_coef_ = 0, grad_norm_ = 0;
  Vector aux_losses_;  // of the last iteration's minibatches
  int64_t iteration_ = -1;
  Vector baseline_P_;  // with a greedy or optimal baseline
  std::vector<Episode> episodes_;
  std::vector<Outcome> outcomes_;
  size_t num_minibatches_ = 1;  // of an iteration

  double logprob_difference_ = 0, entropy_difference_ = 0, advantage_difference_ = 0;
  int64_t expert_differences_ = 0;
};

}  // namespace reprise::reference

#endif  // TESTS_REFERENCE_TRAINER_H_
