// Injects impossible numbers at every place of a step, under four algorithms: each is rejected in the same step, on
// every rank, by an error that names the corrupted tensor, and no weight is changed.
//
//   reward        of a reward function
//   old_logprob   recorded while sampling
//   new_logprob   computed in training
//   logits        a row of the lm-head as the kernels read it, after sampling
//   advantage     before the first update
//   gradient      of the losses, with respect to every log-probability and value
//   weight        a row of a projection, in the parameters and as the kernels read it, after sampling
//   kl            the log-probability under the reference model
//   router_logits the routers' rows as the kernels read them, after sampling
//
// The episode source, the reward function and the losses are decorated where the fault is theirs; a log-probability of
// the reference or an advantage is changed between the stages of a step that the test composes as Learner::TrainStep
// does (RunsWithoutAFaultSucceed compares the two).
//
// A subnormal number in a logit or weight makes no number of the step impossible, but it makes the log-probabilities of
// training differ from those of sampling, which never happens otherwise (sampler and trainer agree bit for bit).

#include <limits>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/stages.h"
#include "rl/learner/tests/learner_testing.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLearner;
using testing::RunOptions;

constexpr int kRanks = 3;

struct Fault {
  std::string name;
  double value;    // for numbers of type double
  float as_float;  // for numbers of type float
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

const Fault kFaults[] = {
    {"nan", std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()},
    {"inf", std::numeric_limits<double>::infinity(), std::numeric_limits<float>::infinity()},
    {"minus_inf", -std::numeric_limits<double>::infinity(), -std::numeric_limits<float>::infinity()},
    {"1e30", 1e30, 1e30f},
    {"denormal", std::numeric_limits<double>::denorm_min(), std::numeric_limits<float>::denorm_min()}};

constexpr const char* kPlaces[] = {"reward",   "old_logprob", "new_logprob", "logits",       "advantage",
                                   "gradient", "weight",      "kl",          "router_logits"};

// Returns what the error must name: the tensor into which the fault was injected, not one computed from it.
std::string FaultName(const std::string& place, const Fault& fault) {
  if (place == "reward") return "the reward character_match of prompt ";
  if (place == "old_logprob") return "; the corruption is in old_logprob: recomputed, the value of token 0 is -";
  if (place == "new_logprob") return "; the corruption is in logprob: recomputed, the value of token 0 is -";
  if (place == "logits") return "; the corruption is in logits (";
  if (place == "advantage") return ": advantage ";
  if (place == "gradient") {
    // A denormal gradient is reported as a whole: no single tensor of it is invalid.
    if (fault.name == "denormal") return ": the gradient is ";
    return ": the gradient of model.embed_tokens.weight is ";
  }
  if (place == "weight") return "; the corruption is in model.layers.1.self_attn.v_proj.weight (element 0 is ";
  if (place == "kl") return ": ref_logprob of token 0 is ";
  return "; the corruption is in router_logits of layer 0 (";
}

// Fills rows of tensors with the value, in the packed weights that the kernels read; `for_good`: in the parameters too.
void CorruptTensors(models::Model& model, absl::string_view part_of_name, float value, bool for_good) {
  const std::vector<float> healthy(model.parameters().begin(), model.parameters().end());
  for (const ParameterSpec& spec : model.layout().specs) {
    if (!absl::StrContains(spec.name, part_of_name)) continue;
    const int64_t row = spec.shape.back();
    std::fill_n(model.mutable_parameters().begin() + spec.offset, for_good ? 1 : 3 * row, value);
  }
  ThreadPool pool(1);
  model.Refresh(pool);
  if (!for_good) std::copy(healthy.begin(), healthy.end(), model.mutable_parameters().begin());
}

// The objective of another, with a fault in the numbers that its losses read or return.
class FaultyObjective : public Objective {
 public:
  FaultyObjective(const Objective& objective, std::string place, int rank, const Fault& fault)
      : objective_(objective), place_(std::move(place)), rank_(rank), fault_(fault) {}

  UpdateLosses MakeLosses(const Minibatch& minibatch, absl::Span<EpisodeOutcome> outcome_N) const override {
    UpdateLosses losses = objective_.MakeLosses(minibatch, outcome_N);
    if (place_ == "new_logprob" && rank_ == 1) {
      losses.policy = [fault = fault_, loss = losses.policy](int64_t episode, const DecisionScores& scores,
                                                             const DecisionGradients& gradients) {
        std::vector<float> logprob_T(scores.logprob_T.begin(), scores.logprob_T.end());
        logprob_T.front() = fault.as_float;
        return loss(episode, {logprob_T, scores.entropy_T, scores.divergence_T}, gradients);
      };
    }
    if (place_ == "gradient") {
      losses.policy = [fault = fault_, loss = losses.policy](int64_t episode, const DecisionScores& scores,
                                                             const DecisionGradients& gradients) {
        const absl::Status status = loss(episode, scores, gradients);
        std::fill(gradients.dlogprob_T.begin(), gradients.dlogprob_T.end(), fault.as_float);
        return status;
      };
    }
    if (place_ == "gradient" && losses.values) {
      losses.values = [fault = fault_, loss = losses.values](int64_t episode, absl::Span<const float> value_T,
                                                             absl::Span<float> dvalue_T) {
        const absl::Status status = loss(episode, value_T, dvalue_T);
        std::fill(dvalue_T.begin(), dvalue_T.end(), fault.as_float);
        return status;
      };
    }
    return losses;
  }

 private:
  const Objective& objective_;
  const std::string place_;
  const int rank_;
  const Fault fault_;
};

// The first step of training without its commit: the stages of Learner::TrainStep, with the fault between two of them
// or in the losses. No place: without a fault.
absl::Status TrainOneStep(StepContext* step_context, const std::string& place, const Fault& fault) {
  step_context->BeginTraining();
  const int rank = step_context->parts.comm.rank();
  const RolloutConfig& rollout = step_context->parts.config.rollout;
  ScheduleState schedules = InitialSchedules(step_context->choices.algorithm);
  const StepPlan plan = PlanStep(*step_context, schedules, 1);
  const StepShape shape =
      step_context->MakeStepShape(Phase::kTraining, 1, rollout.prompts_per_step, rollout.num_generations);
  ASSIGN_OR_RETURN(StepBatch batch, DrawStep(shape, step_context));
  ASSIGN_OR_RETURN(const StepScores scores, ScoreStep(plan, step_context, &batch));
  if (place == "kl" && rank == 1) batch.episode_N[2].ref_logprobs[0] = fault.as_float;
  ASSIGN_OR_RETURN(const StepAdvantages advantages, ComputeAdvantages(plan, scores, step_context, &batch));
  if (place == "advantage" && rank == 1) {
    EpisodeRecord& episode = batch.episode_N[1];
    episode.advantage = fault.value;
    if (!episode.advantage_T.empty()) episode.advantage_T[0] = fault.value;
  }
  const PolicyObjective objective(plan, scores, advantages, *step_context, &batch);
  const FaultyObjective faulty(objective, place, rank, fault);
  ASSIGN_OR_RETURN(const StepUpdates updates, UpdateByMinibatches(plan, advantages, faulty, batch, step_context));
  return AdvanceSchedules(batch, advantages, updates, step_context, &schedules);
}

// Returns a run with the fault at its place; only on rank 1, unless the place belongs to all ranks.
RunOptions CorruptedRun(const std::string& place, const Fault& fault) {
  RunOptions how;
  how.ranks = kRanks;
  how.spoil = [place, fault](int rank, Phase, int64_t, models::Model& model, Episodes& episodes) {
    if (rank != 1) return;
    if (place == "old_logprob") episodes.episode_N[1].logprobs[0] = fault.as_float;
    if (place == "logits") CorruptTensors(model, "lm_head", fault.as_float, false);
    if (place == "router_logits") CorruptTensors(model, "mlp.gate.weight", fault.as_float, false);
    if (place == "weight") CorruptTensors(model, "layers.1.self_attn.v_proj", fault.as_float, true);
  };
  if (place == "kl" || place == "advantage" || place == "new_logprob" || place == "gradient") {
    how.instead = [place, fault](StepContext& step_context) {
      return WithContext(TrainOneStep(&step_context, place, fault), "step 1");
    };
  }
  return how;
}

// With this reward every group has advantages.
double Length(const Completion& completion) { return static_cast<double>(completion.text.size()); }

// The fault that the reward function returns: a global, because a reward function is a plain pointer.
double reward_fault = 0;
double CorruptedReward(const Completion& completion) {
  return completion.answer.size() == 3 ? reward_fault : Length(completion);
}

Config RunOf(const std::string& algorithm) {
  Config config = testing::SmallRun();
  config.sft.steps = 0;  // the weights at the end must be those of the start
  config.run.steps = 1;
  config.run.logical_shards = 4;
  config.rollout.prompts_per_step = 6;
  SelectPreset(algorithm, &config.algorithm);
  config.model.router_aux_loss_coef = 0;  // its gradient would hide that of the losses
  if (algorithm == "grpo" || algorithm == "reinforce") SetBeta(0.1, &config.algorithm);
  return config;
}

class FaultMatrixTest : public ::testing::TestWithParam<std::tuple<std::string, std::string, Fault>> {};

INSTANTIATE_TEST_SUITE_P(
    Each, FaultMatrixTest,
    ::testing::Combine(::testing::Values("grpo", "rloo", "reinforce", "ppo"),
                       ::testing::ValuesIn(std::vector<std::string>(std::begin(kPlaces), std::end(kPlaces))),
                       ::testing::ValuesIn(kFaults)),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_", std::get<1>(info.param), "_", std::get<2>(info.param).name);
    });

TEST_P(FaultMatrixTest, IsRejectedOnEveryRankInTheSameStepWithoutChangingWeights) {
  const auto& [algorithm, place, fault] = GetParam();
  RunOptions how = CorruptedRun(place, fault);
  reward_fault = fault.value;
  how.reward = place == "reward" ? CorruptedReward : Length;
  std::mutex mutex;
  std::vector<Digest> before_R(kRanks);
  const auto spoil = how.spoil;
  how.spoil = [&](int rank, Phase phase, int64_t step, models::Model& model, Episodes& episodes) {
    spoil(rank, phase, step, model, episodes);
    const std::lock_guard<std::mutex> lock(mutex);
    before_R[rank] = Sha256(AsBytes(absl::MakeConstSpan(model.parameters())));
  };
  Outcome outcome;
  RunLearner(RunOf(algorithm), how, &outcome).IgnoreError();
  EXPECT_TRUE(outcome.sink.records.empty());
  for (size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(outcome.status_R[rank], StatusIs(absl::StatusCode::kInternal,
                                                 AllOf(HasSubstr("step 1: "), HasSubstr(FaultName(place, fault)))));
    EXPECT_EQ(outcome.status_R[rank], outcome.status_R[0]) << rank;
    EXPECT_EQ(outcome.last_weights_R[rank], before_R[rank]) << rank;
  }
}

TEST(FaultMatrixOnceTest, HasAHundredAndEightyCases) { EXPECT_EQ(std::size(kPlaces) * std::size(kFaults) * 4, 180u); }

// Otherwise the matrix would prove nothing. The composed step must be the learner's: it makes the same weights.
TEST(FaultMatrixOnceTest, RunsWithoutAFaultSucceed) {
  for (const char* algorithm : {"grpo", "rloo", "reinforce", "ppo"}) {
    Outcome outcome, composed;
    EXPECT_OK(RunLearner(RunOf(algorithm), {.ranks = kRanks, .reward = Length}, &outcome));
    EXPECT_EQ(outcome.sink.records.size(), 1u);
    const auto train = [](StepContext& step_context) { return TrainOneStep(&step_context, /*place=*/"", kFaults[0]); };
    EXPECT_OK(RunLearner(RunOf(algorithm), {.ranks = kRanks, .reward = Length, .instead = train}, &composed));
    EXPECT_EQ(composed.last_weights_R, outcome.last_weights_R) << algorithm;
  }
}

}  // namespace
}  // namespace reprise::rl
