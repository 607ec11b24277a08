// Compares training with every algorithm, and with every option of it, with a reference in double.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/preset_testing.h"
#include "rl/learner/tests/scripted_episodes.h"
#include "rl/record/completions/completion_record.h"
#include "tests/reference/algorithm.h"
#include "tests/reference/compare.h"
#include "tests/reference/decoder.h"

namespace reprise::reference {
namespace {

using rl::Config;
using rl::EpisodeRecord;
using rl::Phase;
using rl::StepRecord;
using rl::testing::GetMetric;
using rl::testing::RunOptions;

// ---- The reference itself

// Compares the tape's gradient with finite differences of the decoder's results.
TEST(ReferenceTest, GradientsOfTheDecoderAreFiniteDifferences) {
  models::DecoderConfig config;
  config.vocab_size = 12, config.hidden_size = 8, config.intermediate_size = 4;
  config.num_attention_heads = 2, config.num_key_value_heads = 1, config.num_experts = 4;
  config.value_model = models::ValueModel::kHead;
  for (const bool other : {false, true}) {
    config.norm_topk_prob = config.tie_word_embeddings = other;
    if (other) config.clip_qkv = 0.6;
    const models::DecoderLayout layout = models::MakeDecoderLayout(config);
    const TensorPlaces places = FindTensors(layout);
    Vector weights(static_cast<size_t>(layout.total), 0.0);
    for (const ParameterSpec& spec : layout.specs) {
      for (int64_t i = spec.offset; i < spec.offset + spec.size; ++i) {
        weights[i] = 0.6 * std::sin(1.0 + 2.3 * static_cast<double>(i));
      }
    }
    const auto run = [&](Tape* tape) {
      Decoder decoder(config, places, "", tape);
      Context context = decoder.Begin();
      Var sum = tape->Number(0);
      for (const int32_t token : {3, 5, 3, 7}) {
        const Var hidden = decoder.Next(token, &context);
        const Var p = decoder.LogProbabilities(hidden, 0.8);
        sum = sum + Slice(p, 4, 1) - 0.3 * Dot(Exp(p), p) + 0.2 * decoder.Value(hidden);
      }
      for (const Var p : decoder.router_probabilities()) sum = sum + 0.5 * Slice(p, 1, 1);
      return sum;
    };
    Tape tape(weights);
    tape.Backward(run(&tape));
    for (const ParameterSpec& spec : layout.specs) {
      for (int64_t k = 0; k < 3; ++k) {
        const size_t i = static_cast<size_t>(spec.offset + (k * 7) % spec.size);
        Vector moved = weights;
        const auto at = [&](double step) {
          moved[i] = weights[i] + step;
          Tape other_tape(moved);
          return run(&other_tape).number();
        };
        const double slope = (at(1e-5) - at(-1e-5)) / 2e-5;
        EXPECT_NEAR(tape.gradient()[i], slope, 1e-7) << spec.name << " " << k;
      }
    }
  }
}

// ---- Every row

// Marks some episodes of every length as truncated.
void CutSome(int, Phase phase, int64_t, models::Model&, rl::Episodes& episodes) {
  if (phase == Phase::kSft) return;
  for (EpisodeRecord& episode : episodes.episode_N) {
    rl::CompletionEpisode& completion = rl::CompletionOf(episode);
    episode.terminated = (completion.tokens[0] + episode.sample) % 3 != 0;
    if (completion.turn_K.empty()) continue;
    rl::Reply last = completion.turn_K.back().reply.value_or(rl::Reply());  // a record has it from the last reply
    last.done = true;
    last.truncated = !episode.terminated;
    completion.turn_K.back().reply = last;
  }
}

class ReferenceRowsTest : public ::testing::TestWithParam<absl::string_view> {};

INSTANTIATE_TEST_SUITE_P(EveryRow, ReferenceRowsTest, ::testing::ValuesIn(rl::AlgorithmNames()),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(ReferenceRowsTest, APresetHasTheValuesOfThePage) {
  const std::string name(GetParam());
  EXPECT_TRUE(RowOf(*rl::FindAlgorithm(name)) == PageRow(name));
}

TEST_P(ReferenceRowsTest, TrainingOnCompletionsEqualsTheReference) {
  Config config = NanoRun();
  SelectPreset(GetParam(), &config.algorithm);
  if (GetParam() == "a2po") config.algorithm.loss.regression_beta = 0.7;  // gradients of the size of others'
  config.algorithm.mask_truncated_completions = true;
  if (rl::FindAlgorithm(GetParam())->advantage.reward_beta == 0) rl::SetBeta(0.1, &config.algorithm);
  const std::vector<StepRecord> records = ExpectTheReferencesSteps(config);
  for (const StepRecord& record : records) {
    EXPECT_GT(GetMetric(record, "completions/clipped_ratio"), 0);
    EXPECT_LT(GetMetric(record, "completions/clipped_ratio"), 1);
    EXPECT_LT(GetMetric(record, "completions/min_length"), GetMetric(record, "completions/max_length"));
  }
}

TEST_P(ReferenceRowsTest, TrainingOnTurnsEqualsTheReference) {
  Config config = NanoTurnsRun();
  config.run.steps = 1;
  SelectPreset(GetParam(), &config.algorithm);
  if (GetParam() == "a2po") config.algorithm.loss.regression_beta = 0.7;
  config.algorithm.update.num_mini_batches = 3;
  config.algorithm.update.num_iterations = 1;
  config.optimizer.max_grad_norm = 0.05;  // every gradient's norm is greater
  if (rl::FindAlgorithm(GetParam())->advantage.reward_beta == 0) rl::SetBeta(0.1, &config.algorithm);
  const std::vector<StepRecord> records = ExpectTheReferencesSteps(config, {.spoil = CutSome});
  for (const StepRecord& record : records) {
    EXPECT_GT(GetMetric(record, "turns/max"), 1);
    EXPECT_GT(GetMetric(record, "observations/mean_length"), 1);
    EXPECT_GT(GetMetric(record, "grad_norm"), config.optimizer.max_grad_norm);
  }
}

// With checked actions, only a part of some actions is learned, and some episodes are left out.
TEST(ReferenceActionsTest, TrainingOnCheckedActionsEqualsTheReference) {
  using enum rl::InvalidEpisodes;
  const std::pair<const char*, rl::InvalidEpisodes> runs[] = {
      {"episode_rloo", kKeep}, {"grpo", kDrop}, {"reinforce_plus_plus_baseline", kDrop}, {"ppo", kDrop}};
  for (const auto& [row, invalid] : runs) {
    SCOPED_TRACE(row);
    Config config = rl::testing::RoomRun(), nano = NanoRun();
    config.model = nano.model, config.optimizer = nano.optimizer;
    config.model.num_hidden_layers = config.model.num_attention_heads = 1;
    config.model.max_position_embeddings = 512;
    config.rollout.prompts_per_step = 2;
    config.run.steps = 1;
    config.environment.action_mask = rl::LearnedTokens::kAction;
    config.environment.invalid_episodes = invalid;
    SelectPreset(row, &config.algorithm);
    config.algorithm.update.num_iterations = 2;
    config.optimizer.learning_rate = 0.005;
    const std::vector<StepRecord> script = rl::testing::Scripted(
        config, [](int64_t, int64_t prompt) { return rl::testing::FourEpisodes(static_cast<char>('A' + prompt)); });
    const StepRecord record = ExpectTheReferencesSteps(config, {.replay = &script})[0];
    EXPECT_EQ(GetMetric(record, "episodes/valid"), 4);
    EXPECT_GT(GetMetric(record, "grad_norm"), 0);
  }
}

// ---- Every choice

// An answer that is wrong; a look and another answer; a look and an action that is not found; and an action that is not
// found. Of an action that is not found nothing is learned, but it is a turn, with its reward.
std::vector<std::vector<std::string>> FourEndings(char letter) {
  using rl::testing::AnswerText;
  return {{AnswerText(letter)},
          {rl::testing::kLook, AnswerText(static_cast<char>('A' + (letter - 'A' + 1) % 4))},
          {rl::testing::kLook, "C, surely"},
          {"no, B"}};
}

TEST(ReferenceActionsTest, TurnsWithoutLearnedTokensAreStepsAsInTheReference) {
  struct Run {
    std::string row, baseline, turn_rewards, value_steps;
  };
  const Run runs[] = {{"agemem", "step_leave_one_out", "turn", "tokens"},
                      {"agemem", "step_group_mean", "turn", "tokens"},
                      {"agemem", "step_group_mean", "episode", "tokens"},
                      {"reinforce_plus_plus", "", "turn", "tokens"},
                      {"ppo", "", "turn", "tokens"},
                      {"ppo", "", "turn", "turns"},
                      {"ppo", "", "episode", "turns"}};
  for (const Run& run : runs) {
    SCOPED_TRACE(run.row + " " + run.baseline + " " + run.turn_rewards + " " + run.value_steps);
    Config config = rl::testing::RoomRun(), nano = NanoRun();
    config.model = nano.model, config.optimizer = nano.optimizer;
    config.model.num_hidden_layers = config.model.num_attention_heads = 1;
    config.model.max_position_embeddings = 512;
    config.rollout.prompts_per_step = 2;
    config.run.steps = 1;
    config.environment.action_mask = rl::LearnedTokens::kAction;
    config.environment.turn_reward = -0.1;
    SelectPreset(run.row, &config.algorithm);
    if (!run.baseline.empty()) config.algorithm.advantage.baseline = rl::ParseBaseline(run.baseline).value();
    config.algorithm.reward.by_turn = run.turn_rewards == "turn";
    config.algorithm.advantage.value_of_turns = run.value_steps == "turns";
    config.algorithm.advantage.gamma = 0.9;
    config.algorithm.update.num_iterations = 1;
    const std::vector<StepRecord> script = rl::testing::Scripted(
        config, [](int64_t, int64_t prompt) { return FourEndings(static_cast<char>('A' + prompt)); });
    const StepRecord record = ExpectTheReferencesSteps(config, {.replay = &script})[0];
    EXPECT_EQ(GetMetric(record, "episodes/without_action_tokens"), 2);
    EXPECT_GT(GetMetric(record, "grad_norm"), 0);
  }
}

struct Choice {
  std::string name;
  std::string row;
  std::function<void(Config&)> choose;
  bool has_turns = false;
  std::string reported = "";  // a metric that is greater than 0 in the last step: the choice has had an effect
};

void PrintTo(const Choice& choice, std::ostream* out) { *out << choice.name; }

#define CHOOSE(...)                         \
  [](Config& c) {                           \
    [[maybe_unused]] auto& a = c.algorithm; \
    __VA_ARGS__;                            \
  }

std::vector<Choice> OfAdvantages() {
  return {
      {"scale_batch", "grpo", CHOOSE(a.advantage.scale_rewards = rl::ScaleRewards::kBatch)},
      {"scale_none_without_minibatches", "grpo",
       CHOOSE(a.advantage.scale_rewards = rl::ScaleRewards::kNone; a.update.num_mini_batches = 1)},
      {"scale_group_against_nothing", "reinforce",
       CHOOSE(a.advantage.scale_rewards = rl::ScaleRewards::kGroup; a.advantage.ddof = 0)},
      {"whole_deviation", "dapo", CHOOSE(a.advantage.ddof = 0; a.advantage.advantage_epsilon = 0.1)},
      {"lone_samples", "grpo",
       CHOOSE(c.rollout.num_generations = 1; c.rollout.prompts_per_step = 12;
              a.advantage.lone_sample_keeps_reward = true)},
      {"running_mean", "reinforce",
       CHOOSE(a.advantage.baseline = rl::Baseline::kRunningMean; a.baseline_decay = 0.6; c.run.steps = 4)},
      {"greedy_scaled", "grpo",
       CHOOSE(a.advantage.baseline = rl::Baseline::kGreedy; a.advantage.scale_rewards = rl::ScaleRewards::kBatch)},
      {"length_weighted_scaled", "grpo", CHOOSE(a.advantage.baseline = rl::Baseline::kLengthWeighted)},
      {"leave_one_out_z_scores", "rloo", CHOOSE(a.advantage.normalize_advantages = true)},
      {"leave_one_out_of_all", "episode_rloo", CHOOSE(a.advantage.baseline_over_batch = true)},
      {"leave_one_out_of_all_z_scores", "rloo",
       CHOOSE(a.advantage.baseline_over_batch = true; a.advantage.normalize_advantages = true)},
      {"steps", "agemem",
       CHOOSE(a.advantage.gamma = 0.7; a.advantage.scale_rewards = rl::ScaleRewards::kGroup;
              a.advantage.advantage_epsilon = 0.1)},
      {"steps_of_turns", "agemem",
       CHOOSE(a.reward.by_turn = true; a.advantage.scale_rewards = rl::ScaleRewards::kGroup; a.advantage.ddof = 0),
       true},
      {"steps_of_turns_discounted", "agemem",
       CHOOSE(a.reward.by_turn = true; a.advantage.gamma = 0.9; a.reward.weights = "0.5 1";
              c.rollout.max_completion_length = 13),
       true},
      {"steps_of_others", "agemem",
       CHOOSE(a.advantage.baseline = rl::Baseline::kStepLeaveOneOut; a.advantage.gamma = 0.5)},
      {"steps_with_the_divergence_in_the_reward", "agemem",
       CHOOSE(rl::SetKlInReward(true, &a); rl::SetEstimator(rl::KlEstimator::kK2, &a); rl::SetBeta(0.3, &a);
              a.advantage.baseline = rl::Baseline::kStepLeaveOneOut),
       true},
      {"whitened", "grpo", CHOOSE(a.advantage.whiten_tokens = true; a.mask_truncated_completions = true)},
      {"discounted", "reinforce_plus_plus",
       CHOOSE(a.advantage.gamma = 0.8; rl::SetEstimator(rl::KlEstimator::kK3, &a); rl::SetBeta(0.2, &a))},
      {"dynamic_sampling", "grpo",
       CHOOSE(a.dynamic_sampling = true; c.rollout.num_generations = 2; c.rollout.prompts_per_step = 12;
              rl::SetAggregation(rl::Aggregation::kGrpo, &a)),
       false, "frac_reward_zero_std"},
      {"clipped_rewards", "grpo", CHOOSE(a.advantage.reward_clip_range = {{-0.5, 1.5}})},
      {"two_rewards", "grpo", CHOOSE(a.reward.functions = "environment character_match"; a.reward.weights = "2 0.5"),
       true},
      {"normalized_then_summed", "grpo",
       CHOOSE(a.advantage.multi_objective_aggregation = rl::RewardAggregation::kNormalizeThenSum;
              a.reward.weights = "2 0.5"),
       true},
      {"punished", "grpo", CHOOSE(a.reward.soft_punish_cache = 3; a.reward.missing_eos_penalty = 0.5), false,
       "completions/clipped_ratio"},
  };
}

std::vector<Choice> OfValues() {
  return {
      {"values_of_a_network", "ppo", CHOOSE(a.has_value_network = true; a.update.num_iterations = 2)},
      {"values_of_a_network_in_turns", "ppo", CHOOSE(a.has_value_network = true; a.update.num_iterations = 2), true},
      {"values_discounted", "ppo",
       CHOOSE(a.advantage.gamma = 0.9; a.advantage.lambda = 0.7; a.advantage.whiten_rewards = true;
              a.value.vf_coef = 0.5; a.value.cliprange_value = 0.02),
       false, "val/clipfrac_avg"},
      {"values_not_clipped", "ppo",
       CHOOSE(a.value.cliprange_value = std::nullopt; a.advantage.whiten_tokens = false; a.value.vf_coef = 1)},
      {"values_of_what_is_cut_off", "ppo",
       CHOOSE(a.advantage.bootstrap_truncated = false; a.mask_truncated_completions = false; a.advantage.gamma = 0.9)},
      {"values_of_a_network_of_what_is_cut_off", "ppo",
       CHOOSE(a.has_value_network = true; a.update.num_iterations = 2; a.advantage.whiten_rewards = true;
              a.advantage.gamma = 0.9),
       true},
      {"optimal_values", "a2po",
       CHOOSE(a.optimal.num_samples = 2; a.optimal.beta1 = 0.3; a.loss.regression_beta = 0.7;
              a.advantage.reward_clip_range = {{0, 1}}; c.rollout.prompts_per_step = 12; c.rollout.num_generations = 2),
       false, "v_star"},
      {"optimal_values_of_all", "a2po",
       CHOOSE(a.optimal.num_samples = 2; a.optimal.filter_all_incorrect = false; a.loss.regression_beta = 0.2;
              a.advantage.reward_clip_range = {{0, 1}}; rl::SetAggregation(rl::Aggregation::kSequenceMean, &a);
              a.reference.sync = true; a.reference.sync_steps = 1; c.run.steps = 3),
       false, "v_star"},
      {"optimal_values_of_turns", "a2po",
       CHOOSE(a.optimal.num_samples = 3; a.loss.regression_beta = 0.7; a.reward.weights = "2 0.5";
              c.environment.largest = 5),
       true},
      {"greedy_in_turns", "remax",
       CHOOSE(a.reward.weights = "2 0.5"; c.environment.max_action_length = 0; c.rollout.max_completion_length = 19),
       true},
      {"rewards_of_turns", "ppo", CHOOSE(a.reward.by_turn = true; a.advantage.gamma = 0.9; a.reward.weights = "0.5 1"),
       true},
      {"returns_of_turns", "reinforce_plus_plus",
       CHOOSE(a.reward.by_turn = true; a.advantage.gamma = 0.9; c.rollout.max_completion_length = 13), true},
  };
}

std::vector<Choice> OfLossTypesAndDivergences() {
  std::vector<Choice> choices;
  for (const char* type : {"grpo", "bnpo", "dr_grpo", "cispo", "sapo", "luspo", "vespo", "rloo"}) {
    choices.push_back({std::string("loss_type_") + type, "grpo",
                       [type](Config& c) { rl::SetLossType(rl::ParseLossType(type).value(), &c.algorithm); }});
  }
  for (const std::string estimator : {"k1", "k2", "k3"}) {
    for (const bool corrected : {true, false}) {
      choices.push_back({"divergence_" + estimator + (corrected ? "_on" : "_off"), "gspo", [=](Config& c) {
                           rl::SetEstimator(rl::ParseKlEstimator(estimator).value(), &c.algorithm),
                               c.algorithm.loss.use_bias_correction_kl = corrected;
                           rl::SetBeta(0.3, &c.algorithm);
                         }});
    }
  }
  return choices;
}

std::vector<Choice> OfTheLoss() {
  std::vector<Choice> choices = {
      {"sum", "grpo", CHOOSE(rl::SetAggregation(rl::Aggregation::kSum, &a))},
      {"sequence_mean", "grpo",
       CHOOSE(rl::SetAggregation(rl::Aggregation::kSequenceMean, &a); a.mask_truncated_completions = true)},
      {"turn_mean", "episode_rloo", CHOOSE(rl::SetAggregation(rl::Aggregation::kTurnMean, &a)), true},
      {"not_clipped", "grpo",
       CHOOSE(rl::SetClip(rl::Clip::kNone, &a); a.loss.importance_sampling_level = rl::ImportanceLevel::kSequence)},
      {"tightly_clipped", "grpo",
       CHOOSE(rl::SetEpsilon(0.01, &a); a.loss.epsilon_high = 0.02; a.update.num_iterations = 3), false,
       "clip_ratio/low_mean"},
      {"clipped_twice", "grpo",
       CHOOSE(rl::SetEpsilon(0.01, &a); a.loss.delta = 1.03; a.loss.dual_clip = 1.02; a.update.num_iterations = 3),
       false, "clip_ratio/dual_mean"},
      {"clipped_logarithms", "gmpo",
       CHOOSE(rl::SetEpsilon(0.01, &a); a.loss.epsilon_high = 0.02; a.update.num_iterations = 3;
              a.loss.top_entropy_quantile = 0.6; a.loss.off_policy_mask_threshold = 0.03),
       false, "clip_ratio/low_mean"},
      {"capped", "cispo", CHOOSE(a.loss.epsilon_high = 1.02; a.update.num_iterations = 3), false, "cispo_clip_ratio"},
      {"temperatures", "sapo", CHOOSE(a.loss.sapo_temperature_pos = 0.7; a.loss.sapo_temperature_neg = 2)},
      {"shapes", "vespo",
       CHOOSE(a.loss.vespo.k_pos = 1; a.loss.vespo.lambda_pos = 2; a.loss.vespo.k_neg = 2;
              a.loss.vespo.lambda_neg = 1.5)},
      {"off_policy_masked", "grpo", CHOOSE(a.loss.off_policy_mask_threshold = 0.01; a.update.num_iterations = 3)},
      {"highest_entropies", "grpo", CHOOSE(a.loss.top_entropy_quantile = 0.37)},
      {"entropy_bonus", "grpo",
       CHOOSE(a.entropy.entropy_coef = 0.3; a.entropy.decay = 0.5; a.entropy.floor = 0.1; c.run.steps = 3), false,
       "entropy_coef"},
      {"entropy_held", "grpo",
       CHOOSE(a.entropy.adaptive = true; a.entropy.entropy_coef = 0.1; a.entropy.delta = 0.05; a.entropy.target = 4.54;
              a.entropy.max = 0.6; c.run.steps = 5)},
      {"importance_correction", "grpo", CHOOSE(a.correction.mode = rl::ImportanceMode::kTokenTruncate)},
      {"minibatches_of_episodes", "grpo",
       CHOOSE(a.update.unit = rl::MinibatchUnit::kEpisode; a.update.num_mini_batches = 7)},
      {"minibatches_of_a_size", "grpo",
       CHOOSE(a.update.unit = rl::MinibatchUnit::kEpisode; a.update.num_mini_batches = 1;
              a.update.mini_batch_size = 6)},
      {"minibatches_of_decisions", "agemem",
       CHOOSE(a.update.unit = rl::MinibatchUnit::kDecision; a.update.num_mini_batches = 4; a.advantage.gamma = 1;
              rl::SetEpsilon(0.01, &a); c.run.steps = 1),
       false, "clip_ratio/low_mean"},
      {"minibatches_of_decisions_by_size", "grpo",
       CHOOSE(a.update.unit = rl::MinibatchUnit::kDecision; a.update.num_mini_batches = 1;
              a.update.mini_batch_size = 17; rl::SetAggregation(rl::Aggregation::kGrpo, &a);
              a.mask_truncated_completions = true; a.entropy.entropy_coef = 0.2)},
      {"minibatches_of_decisions_with_values", "ppo",
       CHOOSE(a.update.unit = rl::MinibatchUnit::kDecision; a.update.num_mini_batches = 3; a.update.num_iterations = 1;
              a.value.cliprange_value = 0.02),
       true},
      {"minibatches_of_decisions_of_highest_entropies", "dapo",
       CHOOSE(a.update.unit = rl::MinibatchUnit::kDecision; a.update.num_mini_batches = 3;
              a.loss.top_entropy_quantile = 0.6; a.update.target_kl = 1e-3; a.dynamic_sampling = true;
              rl::SetAggregation(rl::Aggregation::kTurnMean, &a)),
       true},
      {"ends_early", "grpo", CHOOSE(a.update.target_kl = 1e-4; a.update.num_iterations = 4)},
      {"exact_divergence", "grpo", CHOOSE(rl::SetEstimator(rl::KlEstimator::kExact, &a); rl::SetBeta(0.3, &a))},
      {"divergence_in_the_loss_of_values", "ppo", CHOOSE(rl::SetKlInReward(false, &a); rl::SetBeta(0.2, &a))},
      {"divergence_over_a_line", "grpo",
       CHOOSE(a.kl.schedule = rl::KlSchedule::kLinear; rl::SetBeta(0.3, &a); a.kl.final = 0.1; c.run.steps = 4)},
      {"divergence_in_proportion", "rloo",
       CHOOSE(a.kl.schedule = rl::KlSchedule::kProportional; rl::SetBeta(0.3, &a); a.kl.target = 0.45;
              a.kl.horizon = 50; a.mask_truncated_completions = true; c.run.steps = 6)},
      {"divergence_in_a_band", "rloo",
       CHOOSE(a.kl.schedule = rl::KlSchedule::kBanded; rl::SetBeta(0.3, &a); a.kl.high = 1; a.kl.target = 0.02;
              a.kl.tolerance = 0.001; a.kl.interval = 1; a.kl.patience = 0; a.mask_truncated_completions = true;
              c.run.steps = 4)},
      {"reference_that_follows", "grpo",
       CHOOSE(a.reference.sync = true; a.reference.sync_steps = 2; rl::SetBeta(0.3, &a); c.run.steps = 4)},
  };
  const std::vector<Choice> others = OfLossTypesAndDivergences();
  choices.insert(choices.end(), others.begin(), others.end());
  return choices;
}

std::vector<Choice> OfTheModel() {
  return {
      {"normalized_experts", "grpo", CHOOSE(c.model.norm_topk_prob = true; c.model.num_experts_per_tok = 3)},
      {"tied_embeddings", "grpo", CHOOSE(c.model.tie_word_embeddings = true; c.model.num_key_value_heads = 2)},
      {"clipped_projections", "grpo", CHOOSE(c.model.clip_qkv = 0.5; c.model.rope_theta = 100)},
      {"no_balance", "grpo", CHOOSE(c.model.router_aux_loss_coef = 0)},
      {"sft", "grpo", CHOOSE(c.sft.steps = 3; c.sft.prompts_per_step = 5; rl::SetBeta(0.1, &a))},
      {"cosine", "grpo",
       CHOOSE(c.optimizer.schedule = rl::Schedule::kCosine; c.optimizer.warmup_steps = 2;
              c.optimizer.warmup_start = 0.25; c.optimizer.min_lr_rate = 0.1; c.run.steps = 5)},
      {"line", "grpo", CHOOSE(c.optimizer.warmup_steps = 1; c.optimizer.min_lr_rate = 0.2; c.run.steps = 4)},
      {"share_of_steps", "grpo", CHOOSE(c.optimizer.warmup_ratio = 0.3; c.run.steps = 5)},
      {"moments", "grpo",
       CHOOSE(c.optimizer.schedule = rl::Schedule::kConstant; c.optimizer.beta1 = 0.5; c.optimizer.beta2 = 0.7;
              c.optimizer.weight_decay_on = rl::DecayedTensors::kMatrices; c.optimizer.weight_decay = 0.5)},
      {"clipped_gradients", "grpo", CHOOSE(c.optimizer.max_grad_norm = 0.1)},
      {"greater_temperature", "grpo",
       CHOOSE(c.rollout.temperature = 1.7; a.entropy.entropy_coef = 0.1; rl::SetBeta(0.2, &a))},
  };
}

class ReferenceChoicesTest : public ::testing::TestWithParam<Choice> {};

const auto kChoiceName = [](const ::testing::TestParamInfo<Choice>& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(Values, ReferenceChoicesTest, ::testing::ValuesIn(OfValues()), kChoiceName);
INSTANTIATE_TEST_SUITE_P(Advantages, ReferenceChoicesTest, ::testing::ValuesIn(OfAdvantages()), kChoiceName);
INSTANTIATE_TEST_SUITE_P(Loss, ReferenceChoicesTest, ::testing::ValuesIn(OfTheLoss()), kChoiceName);
INSTANTIATE_TEST_SUITE_P(Model, ReferenceChoicesTest, ::testing::ValuesIn(OfTheModel()), kChoiceName);

TEST_P(ReferenceChoicesTest, TrainingEqualsTheReference) {
  const Choice& choice = GetParam();
  Config config = choice.has_turns ? NanoTurnsRun() : NanoRun();
  SelectPreset(choice.row, &config.algorithm);
  choice.choose(config);
  const StepRecord last =
      ExpectTheReferencesSteps(config, choice.has_turns ? RunOptions{.spoil = CutSome} : RunOptions{}).back();
  if (!choice.reported.empty()) {
    EXPECT_GT(GetMetric(last, choice.reported), 0) << choice.reported;
  }
}

}  // namespace
}  // namespace reprise::reference
