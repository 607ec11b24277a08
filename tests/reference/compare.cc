#include "tests/reference/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/record/completions/completion_record.h"
#include "rl/run/prepare.h"
#include "rl/workloads/completions/prepared_completions.h"
#include "tests/reference/trainer.h"

namespace reprise::reference {
namespace {

using rl::LearnerState;
using rl::Phase;
using rl::StepRecord;

// Tolerances for the learner, which computes in float: as fractions of the norm of an update (of all tensors, or of
// one) and of the gradients' running mean; then for log-probabilities, advantages and metrics.
constexpr double kOfUpdate = 2e-5, kOfTensor = 2e-4, kOfAll = 2e-6;
constexpr double kLogprob = 1e-5, kAdvantage = 2e-5, kMetric = 2e-5;
// The rounding of a step's new weights, as a fraction of the norm of the weights.
constexpr double kRounding = 1e-7;

Vector ToVector(const std::vector<float>& floats) { return {floats.begin(), floats.end()}; }

// Returns the state at the start of a run.
State FirstState(const models::Model& model) {
  State state;
  state.weights = Vector(model.parameters().begin(), model.parameters().end());
  state.first_moments = state.second_moments = Vector(state.weights.size(), 0.0);
  return state;
}

State MakeState(const LearnerState& after) {
  return {ToVector(after.weights), ToVector(after.optimizer[0].values), ToVector(after.optimizer[1].values),
          ToVector(after.reference), after.updates};
}

// Sets the state at the start of training: moments of 0, and copies of the policy as the reference and of the policy's
// decoder as the value network.
void BeginTraining(const models::DecoderLayout& layout, State* state) {
  state->first_moments.assign(state->weights.size(), 0.0);
  state->second_moments.assign(state->weights.size(), 0.0);
  state->updates = 0;
  const TensorPlaces places = FindTensors(layout);
  for (const ParameterSpec& spec : layout.specs) {
    const auto copy = places.find("value_model." + spec.name);
    if (copy == places.end()) continue;
    std::copy_n(state->weights.begin() + spec.offset, spec.size,
                state->weights.begin() + static_cast<int64_t>(copy->second));
  }
  state->reference = state->weights;
}

// Returns the norm of a - b over the elements [begin, begin + size).
double Distance(const Vector& a, const Vector& b, int64_t begin, int64_t size) {
  double squares = 0;
  for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(begin + size); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(squares);
}

// Expects the changes from `before` to `actual` and to `expected` to be equal within the tolerances.
void ExpectMoved(const models::DecoderLayout& layout, const Vector& before, const Vector& expected,
                 const Vector& actual, const std::string& what) {
  const int64_t size = static_cast<int64_t>(before.size());
  const double all = Distance(expected, before, 0, size), wrong = Distance(expected, actual, 0, size);
  const Vector nothing(before.size(), 0.0);
  const double rounding = kRounding * Distance(before, nothing, 0, size);
  EXPECT_LE(wrong, kOfUpdate * all + rounding) << what << ": relative error " << wrong / all << " of the change";
  for (const ParameterSpec& spec : layout.specs) {
    const double own = Distance(expected, before, spec.offset, spec.size);
    const double off = Distance(expected, actual, spec.offset, spec.size);
    EXPECT_LE(off, kOfTensor * own + kOfAll * all + rounding)
        << what << " of " << spec.name << ": relative error " << off / own;
  }
}

// Returns whether the reference does not recompute the metric: differences that the learner itself checks to be 0, and
// counts that other tests check.
bool IsLeftToOthers(const std::string& name) {
  for (const char* prefix :
       {"sampling/", "loader/", "episodes/", "masking/", "action_tokens/", "advantages/", "baselines/", "logprobs/",
        "rewards/", "log_ratio/clamped", "lr", "epoch", "eval_", "num_updates"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

void ExpectMetrics(const StepRecord& record, const Metrics& expected) {
  std::set<std::string> reported;
  for (const auto& [name, value] : record.metrics) {
    reported.insert(name);
    const auto own = expected.find(name);
    if (own == expected.end()) {
      EXPECT_TRUE(IsLeftToOthers(name)) << "the reference does not compute " << name;
      continue;
    }
    EXPECT_NEAR(value, own->second, kMetric * std::max(std::fabs(own->second), 0.1)) << name;
  }
  for (const auto& [name, value] : expected) EXPECT_TRUE(reported.count(name)) << "the learner did not report " << name;
}

// Returns the environment's answer by the rules of number_guess.
Answer AnswerTo(const std::string& guess, const std::string& number, int64_t largest,
                const models::Tokenizer& tokenizer) {
  const bool is_number = !guess.empty() && guess.size() < 10 && guess[0] != '0' &&
                         guess.find_first_not_of("0123456789") == std::string::npos && std::stol(guess) <= largest;
  if (is_number && guess == number) return {.observation = {}, .reward = 1, .done = true};
  const std::string said = !is_number ? "invalid\n" : std::stol(guess) < std::stol(number) ? "higher\n" : "lower\n";
  return {.observation = *tokenizer.Encode(said)};
}

Trainer::Parts MakeTrainerParts(const rl::Config& config, const rl::PreparedCompletions& run,
                                rl::RewardFunction reward) {
  Trainer::Parts parts = {config, run.model->config(), run.model->layout(), run.end_tokens};
  for (int32_t token = 3; token < 128 && !config.rollout.stop_token_ids.empty(); token += 5) {
    parts.end_tokens.push_back(token);
  }
  const auto text_of = [&run, ends = parts.end_tokens](std::vector<int32_t> action) {
    if (std::count(ends.begin(), ends.end(), action.back()) > 0) action.pop_back();
    return run.tokenizer->Decode(action, models::Tokenizer::SpecialTokens::kKeep);
  };
  parts.reward = [=](const rl::TaskRecord& task, const std::vector<int32_t>& action, bool terminated, double earned) {
    std::istringstream names(config.algorithm.reward.functions);
    const std::vector<std::string> name_F(std::istream_iterator<std::string>(names), {});
    const Vector weights_F = RewardWeights(config.algorithm, name_F.size());
    const rl::CompletionTask& asked = rl::CompletionOf(task);
    double sum = 0;
    for (size_t f = 0; f < name_F.size(); ++f) {
      const bool is_environments = name_F[f] == "environment";
      sum +=
          weights_F[f] * (is_environments ? earned : reward({asked.text, asked.answer, text_of(action), terminated}));
    }
    return sum;
  };
  parts.answer = [=, &run](const rl::TaskRecord& task, const std::vector<int32_t>& action) {
    return AnswerTo(text_of(action), rl::CompletionOf(task).answer, config.environment.largest, *run.tokenizer);
  };
  return parts;
}

}  // namespace

rl::Config NanoRun() {
  rl::Config config;
  config.run.seed = 11;
  config.run.steps = 2;
  config.model.hidden_size = 8;
  config.model.intermediate_size = 6;
  config.model.num_attention_heads = 2;
  config.model.num_key_value_heads = 1;
  config.model.num_experts = 4;
  config.model.max_position_embeddings = 64;
  config.model.initializer_range = 0.3;
  config.model.router_aux_loss_coef = 0.02;
  config.data.min_length = 2;
  config.data.max_length = 3;
  config.data.alphabet_size = 4;
  config.rollout.prompts_per_step = 5;
  config.rollout.num_generations = 4;
  config.rollout.max_completion_length = 5;
  config.rollout.temperature = 0.9;
  // One in five tokens ends a completion.
  config.rollout.stop_token_ids = "[3";
  for (int token = 8; token < 128; token += 5) config.rollout.stop_token_ids += ", " + std::to_string(token);
  config.rollout.stop_token_ids += "]";
  config.algorithm.update.num_iterations = 2;
  config.algorithm.update.num_mini_batches = 2;
  config.optimizer.learning_rate = 0.02;
  // As large as an element of a gradient, so that an update is a smooth function of gradients and depends on their
  // scale.
  config.optimizer.epsilon = 1e-2;
  config.optimizer.weight_decay = 0.1;
  config.optimizer.max_grad_norm = 0;
  return config;
}

rl::Config NanoTurnsRun() {
  rl::Config config = NanoRun();
  config.environment.name = "number_guess";
  config.environment.max_turns = 3;
  config.environment.max_action_length = 3;
  config.environment.largest = 12;
  config.environment.turn_reward = -0.125;
  config.rollout.max_completion_length = 26;
  config.rollout.prompts_per_step = 4;
  config.rollout.num_generations = 3;
  config.algorithm.reward.functions = "environment character_match";
  return config;
}

double SomeReward(const rl::Completion& completion) {
  int sum = 0;
  for (const char c : completion.text) sum += c;
  return sum % 4 - 1;
}

std::vector<StepRecord> ExpectTheReferencesSteps(const rl::Config& config, rl::testing::RunOptions how) {
  if (how.reward == nullptr) how.reward = SomeReward;
  rl::testing::Outcome outcome;
  outcome.sink.keep_states = true;
  const absl::Status status = rl::testing::RunLearner(config, how, &outcome);
  EXPECT_OK(status);
  const auto run = rl::PrepareRun(config);
  EXPECT_OK(run.status());
  if (!status.ok() || !run.ok()) return std::vector<StepRecord>(1);
  const rl::PreparedCompletions& completions = rl::GetPreparedCompletions(*run);
  Trainer trainer(MakeTrainerParts(config, completions, how.reward));
  State state = FirstState(*completions.model);
  const models::DecoderLayout& layout = completions.model->layout();
  const std::vector<StepRecord>& records = outcome.sink.records;
  EXPECT_EQ(static_cast<int64_t>(records.size()), config.sft.steps + config.run.steps);
  for (size_t i = 0; i < records.size(); ++i) {
    SCOPED_TRACE((records[i].phase == Phase::kSft ? "SFT step " : "step ") + std::to_string(records[i].step));
    if (records[i].phase == Phase::kTraining && records[i].step == 1) BeginTraining(layout, &state);
    const State before = state, after = MakeState(outcome.sink.states[i]);
    ExpectMetrics(records[i], trainer.Step(records[i], &state));
    ExpectMoved(layout, before.weights, state.weights, after.weights, "weights");
    const Vector nothing(before.weights.size(), 0.0);
    ExpectMoved(layout, nothing, state.first_moments, after.first_moments, "first moments");
    ExpectMoved(layout, nothing, state.second_moments, after.second_moments, "second moments");
    EXPECT_EQ(state.updates, after.updates);
    if (!after.reference.empty()) {
      const double off = Distance(state.reference, after.reference, 0, static_cast<int64_t>(after.reference.size()));
      EXPECT_LE(off, 1e-5) << "the reference model";
    }
    state = after;
    if (state.reference.empty()) state.reference = before.reference;
  }
  EXPECT_LE(trainer.logprob_difference(), kLogprob);
  EXPECT_LE(trainer.entropy_difference(), kLogprob);
  EXPECT_LE(trainer.advantage_difference(), kAdvantage);
  EXPECT_EQ(trainer.expert_differences(), 0);
  return records;
}

}  // namespace reprise::reference
