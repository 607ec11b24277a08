#include "rl/config/key_use.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/config/environment_section.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/memory_section.h"
#include "rl/config/workload_keys.h"

namespace reprise::rl {
namespace {

using Row = AlgorithmRow;

bool SumsNormalized(const Row& row) {
  return row.advantage.multi_objective_aggregation == RewardAggregation::kNormalizeThenSum;
}

bool ComparesInGroups(const Row& row) { return row.advantage.baseline == Baseline::kLeaveOneOut; }

// Whether scale_rewards is read.
bool AsksForScale(const Config&, const Row& row) {
  if (row.advantage.baseline == Baseline::kStepGroupMean) return true;
  return !ByToken(row.advantage) && !ComparesInGroups(row) && !SumsNormalized(row);
}

// Whether rewards are divided by a deviation.
bool Scales(const Config& config, const Row& row) {
  return AsksForScale(config, row) && row.advantage.scale_rewards != ScaleRewards::kNone;
}

bool DividesByDeviation(const Config& config, const Row& row) {
  const bool scores = ComparesInGroups(row) && row.advantage.normalize_advantages;
  return scores || SumsNormalized(row) || Scales(config, row);
}

// Whether the handling of a lone sample matters: in groups of one, which are centred or divided by their own deviation,
// or by that of a step in which a single reward can be scored.
bool MeetsLoneSamples(const Config& config, const Row& row) {
  if (config.rollout.num_generations != 1 || ByStep(row.advantage)) return false;
  if (AsksForScale(config, row) && row.advantage.baseline == Baseline::kGroupMean) return true;
  const bool can_be_one = config.rollout.prompts_per_step == 1 || config.environment.invalid_episodes == "drop" ||
                          absl::StrContains(config.algorithm.reward, "process") || config.environment.name == "process";
  return Scales(config, row) && (row.advantage.scale_rewards == ScaleRewards::kGroup || can_be_one);
}

// Whether what comes after a decision counts for it. That of a bandit ends the episode.
bool Discounts(const Config& config, const Row& row) {
  return HasTokenReturns(row.advantage) && config.run.workload != "bandit";
}

bool HasValues(const Config&, const Row& row) { return NeedsValues(row); }

// Decays() in rl/gradient/parameter_units.cc knows the value functions of the other workloads by their names.
bool ChoosesDecay(const Config& config, const Row& row) {
  const bool decays_values =
      NeedsValues(row) && config.run.workload != "memory_agent" && config.run.workload != "quiet_star";
  return config.optimizer.weight_decay > 0 && (config.optimizer.weight_decay_on != "values" || decays_values);
}

bool GrowsOnImages(const Config& config, const Row&) { return config.morphogenesis.task == "cifar10"; }
bool GrowsOnText(const Config& config, const Row&) { return !GrowsOnImages(config, {}); }

// Whether the divergence ever has a weight: a schedule becomes nonzero by final_beta or by kl_low.
bool HasDivergence(const Config& config, const Row& row) {
  const AlgorithmConfig& algorithm = config.algorithm;
  return Beta(row) != 0 || (algorithm.kl.schedule == KlSchedule::kLinear && algorithm.kl.final != 0) ||
         (algorithm.kl.schedule == KlSchedule::kBanded && algorithm.kl.low != 0);
}

bool HasReference(const Config& config, const Row& row) {
  return HasDivergence(config, row) || RegressesToReference(row.loss) || row.advantage.baseline == Baseline::kOptimal;
}

bool EstimatesInLoss(const Config& config, const Row& row) {
  return HasDivergence(config, row) && !KlInReward(row) && row.loss.kl_estimator != KlEstimator::kExact;
}

bool HasRatio(const Config& config, const Row& row) {
  const Clip clip = ClipOf(row.loss);
  const bool has_own = clip == Clip::kTwoSided || clip == Clip::kCispo || clip == Clip::kSapo || clip == Clip::kNone;
  return has_own || (EstimatesInLoss(config, row) && row.loss.use_bias_correction_kl);
}

template <Clip clip>
bool Clips(const Config&, const Row& row) {
  return ClipOf(row.loss) == clip;
}

bool HasLowerClip(const Config& config, const Row& row) {
  return Clips<Clip::kTwoSided>(config, row) || Clips<Clip::kGmpo>(config, row);
}

bool HasUpperClip(const Config& config, const Row& row) {
  return HasLowerClip(config, row) || Clips<Clip::kCispo>(config, row);
}

// After the first update of a step the policy differs from the sampling policy, which a term without a ratio ignores.
bool KnowsOfOldPolicy(const Config& config, const Row& row) { return !Clips<Clip::kReinforce>(config, row); }

// A row that makes several iterations by itself can be told to make one.
bool ChoosesIterations(const Config& config, const Row& row) {
  const absl::StatusOr<Row> own = FindAlgorithm(row.name);
  return KnowsOfOldPolicy(config, row) || (own.ok() && own->update.num_iterations > 1);
}

bool HasTurns(const Config& config, const Row&) {
  return !config.environment.name.empty() || config.run.workload == "quiet_star";
}

bool HasOptimalValues(const Config&, const Row& row) { return row.advantage.baseline == Baseline::kOptimal; }

bool Corrects(const Config&, const Row& row) { return row.correction.mode != ImportanceMode::kNone; }

bool AdaptsEntropy(const Config& config, const Row&) { return config.algorithm.entropy.adaptive; }

bool DecaysEntropyBonus(const Config& config, const Row&) {
  return config.algorithm.entropy.entropy_coef != 0 && !config.algorithm.entropy.adaptive;
}

// A bonus of 0 can rise to entropy_coef_end.
bool MayGoLinearly(const Config& config, const Row&) {
  const EntropyOptions& entropy = config.algorithm.entropy;
  return !entropy.adaptive && (entropy.entropy_coef != 0 || entropy.end != 0);
}

bool GoesLinearly(const Config& config, const Row&) {
  return !config.algorithm.entropy.adaptive && config.algorithm.entropy.steps > 0;
}

// Whether the policy chooses among actions of which some may not be allowed, as tokens and operations always are.
bool HasMasks(const Config& config) {
  return config.run.workload == "bandit" || config.run.workload == "morphogenesis";
}

bool RaisesLearningRate(const Config& config, const Row&) {
  return config.optimizer.warmup_steps > 0 || config.optimizer.warmup_ratio > 0;
}

bool IsMuonGrokfast(const Config& config, const Row&) { return config.optimizer.name == "muon_grokfast"; }

bool Orthogonalizes(const Config& config, const Row& row) {
  return IsMuonGrokfast(config, row) && config.optimizer.muon;
}

// Adapters leave the norms' gains, which would be scaled, as they are.
bool TrainsAttention(const Config& config, const Row& row) { return IsMuonGrokfast(config, row) && config.lora.r == 0; }

bool FiltersGradients(const Config& config, const Row& row) {
  return IsMuonGrokfast(config, row) && config.optimizer.grokfast_lambda > 0;
}

template <KlSchedule schedule>
bool Follows(const Config& config, const Row&) {
  return config.algorithm.kl.schedule == schedule;
}

bool FollowsDivergence(const Config& config, const Row& row) {
  return Follows<KlSchedule::kProportional>(config, row) || Follows<KlSchedule::kBanded>(config, row);
}

bool SyncsReference(const Config& config, const Row& row) {
  return config.algorithm.sync_ref_model && HasReference(config, row);
}

bool HasEnvironment(const Config& config, const Row&) { return !config.environment.name.empty(); }
bool HasRooms(const Config& config, const Row&) { return config.environment.name == "grid_navigation"; }
bool HasCheckedActions(const Config& config, const Row&) { return ChecksActions(config.environment); }

// Environments make their own tasks, except an external process, which receives problems.
bool DrawsTasks(const Config& config, const Row&) {
  const std::string& environment = config.environment.name;
  return config.data.path.empty() && (environment.empty() || environment == "process");
}

bool WarmsUp(const Config& config, const Row&) { return config.warm_up.steps > 0; }

bool LooksForBest(const Config& config, const Row&) { return TracksBest(config.evaluation); }

bool HasTools(const Config& config, const Row&) {
  return config.environment.name == "grid_navigation" || config.environment.name == "process";
}

bool IsFromScratch(const Config& config, const Row&) { return config.model.path.empty(); }

bool HasAdapters(const Config& config, const Row&) { return config.lora.r > 0; }

bool AsksProgram(const Config& config, const Row&) { return !config.process.command.empty(); }

bool IsInjected(const Config& config, const Row&) { return config.quiet_star.positions == "difficult"; }

bool MixesByAttention(const Config& config, const Row&) { return config.quiet_star.mixing == "attention"; }

bool TestsForTheater(const Config& config, const Row&) { return config.quiet_star.anti_theater; }

constexpr absl::string_view kInjected = "quiet_star.positions difficult";
constexpr absl::string_view kAttention = "quiet_star.mixing attention";
constexpr absl::string_view kTheater = "quiet_star.anti_theater true";
constexpr absl::string_view kFromScratch = "a model from scratch, without model.path, whose config.json says it";
constexpr absl::string_view kAdapters = "lora.r above 0";
constexpr absl::string_view kImages = "morphogenesis.task cifar10", kStories = "morphogenesis.task tinystories";
constexpr absl::string_view kProgram = "an external process (process.command)";
constexpr absl::string_view kDrawn = "generated tasks: no data.path, and no environment.name except process";
constexpr absl::string_view kWarmUp = "warm_up.steps above 0";
constexpr absl::string_view kMuonGrokfast = "optimizer.name muon_grokfast";
constexpr absl::string_view kOrthogonalizes = "optimizer.name muon_grokfast, with optimizer.muon";
constexpr absl::string_view kTrainsAttention =
    "optimizer.name muon_grokfast, and no [lora], which leaves the norms as they are";
constexpr absl::string_view kFilters = "optimizer.name muon_grokfast, with optimizer.grokfast_lambda above 0";
constexpr absl::string_view kBest = "evaluation.every above 0, with keep_best or early_stopping_patience";
constexpr absl::string_view kScale =
    "an algorithm.baseline other than leave_one_out, step_leave_one_out, step_none or value, without whiten_tokens";
constexpr absl::string_view kValue = "algorithm.baseline value";
constexpr absl::string_view kTwoSided = "algorithm.clip two_sided";
constexpr absl::string_view kVespo = "algorithm.clip vespo";
constexpr absl::string_view kSapo = "algorithm.clip sapo";
constexpr absl::string_view kDivergence = "a divergence: algorithm.beta above 0, or a kl_schedule that becomes nonzero";
constexpr absl::string_view kReference =
    "a reference: algorithm.beta above 0, a kl_schedule that becomes nonzero, or algorithm.name a2po";
constexpr absl::string_view kOptimal = "algorithm.baseline optimal";
constexpr absl::string_view kAdaptive = "algorithm.use_adaptive_entropy true";
constexpr absl::string_view kOldPolicy =
    "a term with a ratio to the sampling policy: an algorithm.clip other than reinforce, which makes one update a step";
constexpr absl::string_view kBanded = "algorithm.kl_schedule banded";
constexpr absl::string_view kCorrection = "an algorithm.importance_correction";
constexpr absl::string_view kEnvironment = "an environment.name";
constexpr absl::string_view kChecks = "environment.action_mask action or environment.invalid_episodes drop";

constexpr KeyUse kTable[] = {
    // The model.
    {"model.vocab_size", IsFromScratch, kFromScratch},
    {"model.words", IsFromScratch, kFromScratch},
    {"model.hidden_size", IsFromScratch, kFromScratch},
    {"model.intermediate_size", IsFromScratch, kFromScratch},
    {"model.num_hidden_layers", IsFromScratch, kFromScratch},
    {"model.num_attention_heads", IsFromScratch, kFromScratch},
    {"model.num_key_value_heads", IsFromScratch, kFromScratch},
    {"model.num_experts", IsFromScratch, kFromScratch},
    {"model.num_experts_per_tok", IsFromScratch, kFromScratch},
    {"model.max_position_embeddings", IsFromScratch, kFromScratch},
    {"model.rope_theta", IsFromScratch, kFromScratch},
    {"model.rms_norm_eps", IsFromScratch, kFromScratch},
    {"model.norm_topk_prob", IsFromScratch, kFromScratch},
    {"model.tie_word_embeddings", IsFromScratch, kFromScratch},
    {"model.initializer_range", IsFromScratch, kFromScratch},
    {"model.clip_qkv", IsFromScratch, kFromScratch},
    // Advantages.
    {"algorithm.multi_objective_aggregation", [](const Config&, const Row& row) { return !ByToken(row.advantage); },
     "algorithm.whiten_tokens off"},
    {"algorithm.scale_rewards", AsksForScale, kScale},
    {"algorithm.ddof", Scales, "algorithm.scale_rewards group or batch, and a baseline to which it applies"},
    {"algorithm.normalize_advantages", [](const Config&, const Row& row) { return ComparesInGroups(row); },
     "algorithm.baseline leave_one_out"},
    {"algorithm.advantage_epsilon", DividesByDeviation, "advantages that are divided by a deviation"},
    {"algorithm.lone_sample_keeps_reward", MeetsLoneSamples,
     "rollout.num_generations 1, and algorithm.baseline group_mean or a deviation of such a group, or of a step that "
     "can have a single reward, that divides"},
    {"algorithm.gamma", Discounts,
     "returns of tokens: algorithm.baseline value, step_group_mean, step_leave_one_out or step_none, or none with "
     "whiten_tokens on; and a run.workload other than bandit, whose episodes have one decision"},
    {"algorithm.baseline_decay",
     [](const Config&, const Row& row) { return row.advantage.baseline == Baseline::kRunningMean; },
     "algorithm.baseline running_mean"},
    {"algorithm.num_value_samples", HasOptimalValues, kOptimal},
    {"algorithm.beta1", HasOptimalValues, kOptimal},
    {"algorithm.filter_all_incorrect", HasOptimalValues, kOptimal},
    {"algorithm.value_model", HasValues, kValue},
    {"algorithm.lam",
     [](const Config& config, const Row& row) { return HasValues(config, row) && Discounts(config, row); },
     "algorithm.baseline value, and a run.workload other than bandit, whose episodes have one decision"},
    {"algorithm.value_steps",
     [](const Config& config, const Row& row) { return HasValues(config, row) && HasTurns(config, row); },
     "algorithm.baseline value, and turns of several tokens: an environment.name, or run.workload quiet_star"},
    {"algorithm.vf_coef", HasValues, kValue},
    {"algorithm.cliprange_value", HasValues, kValue},
    {"algorithm.whiten_rewards", HasValues, kValue},
    {"algorithm.reward_scaling", HasValues, kValue},
    {"algorithm.bootstrap_truncated",
     [](const Config& config, const Row& row) { return NeedsValues(row) && config.run.workload != "quiet_star"; },
     "algorithm.baseline value, and episodes that can be cut short: a run.workload other than quiet_star"},
    // Clips.
    {"algorithm.aggregation",
     [](const Config& config, const Row& row) {
       return AggregationOf(row.loss) != Aggregation::kTurnMean || HasTurns(config, row);
     },
     "turns for turn_mean: an environment.name, or run.workload quiet_star"},
    {"algorithm.importance_sampling_level", HasRatio, "algorithm.clip two_sided, cispo, sapo or none"},
    {"algorithm.epsilon", HasLowerClip, "algorithm.clip two_sided or gmpo"},
    {"algorithm.epsilon_high", HasUpperClip, "algorithm.clip two_sided, cispo or gmpo"},
    {"algorithm.delta", Clips<Clip::kTwoSided>, kTwoSided},
    {"algorithm.dual_clip", Clips<Clip::kTwoSided>, kTwoSided},
    {"algorithm.sapo_temperature_pos", Clips<Clip::kSapo>, kSapo},
    {"algorithm.sapo_temperature_neg", Clips<Clip::kSapo>, kSapo},
    {"algorithm.vespo_k_pos", Clips<Clip::kVespo>, kVespo},
    {"algorithm.vespo_lambda_pos", Clips<Clip::kVespo>, kVespo},
    {"algorithm.vespo_k_neg", Clips<Clip::kVespo>, kVespo},
    {"algorithm.vespo_lambda_neg", Clips<Clip::kVespo>, kVespo},
    {"algorithm.importance_clip_max", Corrects, kCorrection},
    {"algorithm.importance_clip_min", Corrects, kCorrection},
    {"algorithm.beta2", Clips<Clip::kRegression>, "algorithm.clip regression"},
    {"algorithm.entropy_coef_steps", MayGoLinearly,
     "algorithm.entropy_coef or entropy_coef_end above 0, without use_adaptive_entropy"},
    {"algorithm.entropy_coef_end", GoesLinearly, "algorithm.entropy_coef_steps above 0, without use_adaptive_entropy"},
    {"algorithm.entropy_coef_decay",
     [](const Config& config, const Row& row) { return DecaysEntropyBonus(config, row) && !GoesLinearly(config, row); },
     "algorithm.entropy_coef above 0, without use_adaptive_entropy and entropy_coef_steps"},
    {"algorithm.entropy_floor_by_mask",
     [](const Config& config, const Row& row) {
       return DecaysEntropyBonus(config, row) && config.algorithm.entropy.floor > 0 && HasMasks(config);
     },
     "algorithm.entropy_coef_floor above 0, and a run.workload whose actions are masked"},
    {"algorithm.entropy_coef_floor",
     [](const Config& config, const Row& row) {
       const EntropyOptions& entropy = config.algorithm.entropy;
       return DecaysEntropyBonus(config, row) && (entropy.decay < 1 || entropy.steps > 0 || entropy.floor_by_mask);
     },
     "algorithm.entropy_coef above 0 with entropy_coef_decay below 1 or entropy_coef_steps above 0, without "
     "use_adaptive_entropy"},
    {"algorithm.entropy_target", AdaptsEntropy, kAdaptive},
    {"algorithm.entropy_coef_delta", AdaptsEntropy, kAdaptive},
    {"algorithm.entropy_coef_min", AdaptsEntropy, kAdaptive},
    {"algorithm.entropy_coef_max", AdaptsEntropy, kAdaptive},
    {"algorithm.num_iterations", ChoosesIterations, kOldPolicy},
    {"algorithm.num_mini_batches", KnowsOfOldPolicy, kOldPolicy},
    {"algorithm.mini_batch_size", KnowsOfOldPolicy, kOldPolicy},
    {"algorithm.target_kl",
     [](const Config&, const Row& row) { return row.update.num_iterations > 1 || HasMinibatches(row.update); },
     "several updates per step: algorithm.num_iterations or num_mini_batches above 1, or a mini_batch_size"},
    {"algorithm.target_kl_of", [](const Config&, const Row& row) { return row.update.target_kl > 0; },
     "algorithm.target_kl above 0"},
    {"algorithm.minibatches_of", [](const Config&, const Row& row) { return HasMinibatches(row.update); },
     "algorithm.num_mini_batches above 1, or a mini_batch_size"},
    // The divergence.
    {"algorithm.kl_schedule", HasDivergence, kDivergence},
    {"algorithm.kl_in_reward", HasDivergence, kDivergence},
    {"algorithm.kl_estimator", HasDivergence, kDivergence},
    {"algorithm.use_bias_correction_kl", EstimatesInLoss,
     "an estimate of the divergence in the loss: algorithm.beta above 0, with kl_in_reward off"},
    {"algorithm.final_beta", Follows<KlSchedule::kLinear>, "algorithm.kl_schedule linear"},
    {"algorithm.kl_target", FollowsDivergence, "algorithm.kl_schedule proportional or banded"},
    {"algorithm.kl_horizon", Follows<KlSchedule::kProportional>, "algorithm.kl_schedule proportional"},
    {"algorithm.kl_tolerance", Follows<KlSchedule::kBanded>, kBanded},
    {"algorithm.kl_rate", Follows<KlSchedule::kBanded>, kBanded},
    {"algorithm.kl_low", Follows<KlSchedule::kBanded>, kBanded},
    {"algorithm.kl_high", Follows<KlSchedule::kBanded>, kBanded},
    {"algorithm.kl_interval", Follows<KlSchedule::kBanded>, kBanded},
    {"algorithm.kl_patience", Follows<KlSchedule::kBanded>, kBanded},
    {"algorithm.sync_ref_model", HasReference, kReference},
    {"algorithm.ref_model_mixup_alpha", SyncsReference, "algorithm.sync_ref_model true"},
    {"algorithm.ref_model_sync_steps", SyncsReference, "algorithm.sync_ref_model true"},
    // Environments.
    {"environment.max_turns", HasEnvironment, kEnvironment},
    {"environment.max_action_length", HasEnvironment, kEnvironment},
    {"environment.stop", HasEnvironment, kEnvironment},
    {"environment.turn_reward", HasEnvironment, kEnvironment},
    {"environment.largest",
     [](const Config& config, const Row&) {
       return config.environment.name == "number_guess" || config.environment.name == "countdown";
     },
     "environment.name number_guess or countdown"},
    {"environment.numbers", [](const Config& config, const Row&) { return config.environment.name == "countdown"; },
     "environment.name countdown"},
    {"environment.kinds", HasRooms, "environment.name grid_navigation"},
    {"environment.observation", HasRooms, "environment.name grid_navigation"},
    {"environment.feature_bins",
     [](const Config& config, const Row&) {
       return config.environment.name == "process" || config.environment.observation == "features";
     },
     "environment.name process, or environment.observation features"},
    {"environment.max_tool_calls", HasTools, "environment.name grid_navigation or process"},
    {"environment.tool_call_refusal",
     [](const Config& config, const Row&) { return HasTools(config, {}) && config.environment.max_tool_calls > 0; },
     "environment.max_tool_calls above 0"},
    {"environment.min_action_tokens", HasCheckedActions, kChecks},
    {"environment.max_action_tokens", HasCheckedActions, kChecks},
    {"memory.stage1_behaviour", [](const Config& config, const Row&) { return HasMemoryStage(config.memory, 1); },
     "memory.stage1_steps above 0"},
    {"memory.stage2_behaviour", [](const Config& config, const Row&) { return HasMemoryStage(config.memory, 2); },
     "memory.stage2_steps above 0"},
    {"memory.stage3_behaviour", [](const Config& config, const Row&) { return HasMemoryStage(config.memory, 3); },
     "memory.stage3_steps above 0"},
    {"memory.store_size", [](const Config& config, const Row&) { return HasFacts(config.memory); },
     "memory.task facts"},
    {"memory.recall_bonus", [](const Config& config, const Row&) { return !HasFacts(config.memory); },
     "memory.task notes"},
    {"memory.answer_reward",
     [](const Config& config, const Row&) { return HasFacts(config.memory) && config.memory.reward == "composite"; },
     "memory.task facts and memory.reward composite"},
    {"memory.max_rounds", [](const Config& config, const Row&) { return config.memory.reward == "agemem"; },
     "memory.reward agemem"},
    {"morphogenesis.image_size", GrowsOnImages, kImages},
    {"morphogenesis.base_channels", GrowsOnImages, kImages},
    {"morphogenesis.blocks", GrowsOnImages, kImages},
    {"morphogenesis.augments", GrowsOnImages, kImages},
    {"morphogenesis.block_size", GrowsOnText, kStories},
    {"morphogenesis.width", GrowsOnText, kStories},
    {"morphogenesis.heads", GrowsOnText, kStories},
    {"morphogenesis.layers", GrowsOnText, kStories},
    {"morphogenesis.dropout", GrowsOnText, kStories},
    {"quiet_star.injection_threshold", IsInjected, kInjected},
    {"quiet_star.injection_interval", IsInjected, kInjected},
    {"quiet_star.attention_dispersion", IsInjected, kInjected},
    {"quiet_star.kl_direction",
     [](const Config& config, const Row& row) {
       return HasDivergence(config, row) && !KlInReward(row) && row.loss.kl_estimator == KlEstimator::kExact;
     },
     "algorithm.kl_estimator exact, and a divergence in the loss: algorithm.beta above 0"},
    {"quiet_star.bounded_mixing", [](const Config& config, const Row&) { return config.quiet_star.mixing == "scalar"; },
     "quiet_star.mixing scalar"},
    {"quiet_star.mixing_heads", MixesByAttention, kAttention},
    {"quiet_star.mixing_dropout", MixesByAttention, kAttention},
    {"quiet_star.clamp_rewards",
     [](const Config& config, const Row&) { return config.quiet_star.reward != ThoughtReward::kBinary; },
     "quiet_star.reward non_myopic or graded: a binary one is never negative"},
    {"quiet_star.value_hidden", HasValues, kValue},
    {"quiet_star.values_train_decoder", HasValues, kValue},
    {"quiet_star.plain_share", WarmsUp, kWarmUp},
    {"quiet_star.baking_examples", WarmsUp, kWarmUp},
    {"quiet_star.baking_convergence", WarmsUp, kWarmUp},
    {"quiet_star.baking_window",
     [](const Config& config, const Row& row) {
       return WarmsUp(config, row) && config.quiet_star.baking_convergence > 0;
     },
     "warm_up.steps and quiet_star.baking_convergence above 0"},
    {"quiet_star.anti_theater_divergence", TestsForTheater, kTheater},
    {"quiet_star.anti_theater_ablation", TestsForTheater, kTheater},
    {"quiet_star.anti_theater_correlation", TestsForTheater, kTheater},
    {"quiet_star.continuation_tokens", TestsForTheater, kTheater},
    {"quiet_star.anti_theater_patience", TestsForTheater, kTheater},
    // Adapters.
    {"lora.alpha", HasAdapters, kAdapters},
    {"lora.dropout", HasAdapters, kAdapters},
    {"lora.target_modules", HasAdapters, kAdapters},
    // Tasks and their use.
    {"data.task", DrawsTasks, kDrawn},
    {"data.min_length", DrawsTasks, kDrawn},
    {"data.max_length", DrawsTasks, kDrawn},
    {"data.alphabet_size",
     [](const Config& config, const Row& row) { return DrawsTasks(config, row) && config.data.task != "addition"; },
     "generated tasks of letters: a data.task other than addition, no data.path, no environment.name except process"},
    {"warm_up.prompts_per_step", WarmsUp, kWarmUp},
    {"warm_up.learning_rate", WarmsUp, kWarmUp},
    {"rollout.truncation_side", [](const Config& config, const Row&) { return config.rollout.max_prompt_length > 0; },
     "rollout.max_prompt_length above 0"},
    {"optimizer.warmup_steps", [](const Config& config, const Row&) { return config.optimizer.warmup_ratio == 0; },
     "optimizer.warmup_ratio 0, which otherwise replaces it"},
    {"optimizer.warmup_start",
     [](const Config& config, const Row& row) {
       return RaisesLearningRate(config, row) && config.optimizer.warmup_form != WarmupForm::kDelay;
     },
     "optimizer.warmup_steps or warmup_ratio above 0, and a warmup_form other than delay"},
    {"optimizer.warmup_form", RaisesLearningRate, "optimizer.warmup_steps or warmup_ratio above 0"},
    {"optimizer.min_lr_rate", [](const Config& config, const Row&) { return config.optimizer.schedule != "constant"; },
     "optimizer.schedule linear or cosine"},
    {"optimizer.preset", IsMuonGrokfast, kMuonGrokfast},
    {"optimizer.fallback_learning_rate", IsMuonGrokfast, kMuonGrokfast},
    {"optimizer.muon", IsMuonGrokfast, kMuonGrokfast},
    {"optimizer.momentum", Orthogonalizes, kOrthogonalizes},
    {"optimizer.nesterov", Orthogonalizes, kOrthogonalizes},
    {"optimizer.ns_steps", Orthogonalizes, kOrthogonalizes},
    {"optimizer.muon_scale", Orthogonalizes, kOrthogonalizes},
    {"optimizer.grokfast_alpha", FiltersGradients, kFilters},
    {"optimizer.grokfast_lambda", IsMuonGrokfast, kMuonGrokfast},
    {"optimizer.grokfast_start", FiltersGradients, kFilters},
    {"optimizer.grokfast_amplifies", FiltersGradients, kFilters},
    {"optimizer.qk_clip_threshold", TrainsAttention, kTrainsAttention},
    {"optimizer.weight_decay_on", ChoosesDecay,
     "optimizer.weight_decay above 0, and for values a value function whose decay can be chosen: algorithm.baseline "
     "value with a run.workload other than memory_agent and quiet_star"},
    // The verb evaluate reads the sizes and splits of evaluations in every run.
    {"evaluation.keep_best", [](const Config& config, const Row&) { return config.evaluation.every > 0; },
     "evaluation.every above 0"},
    {"evaluation.metric_for_best_model", LooksForBest, kBest},
    {"evaluation.greater_is_better", LooksForBest, kBest},
    {"evaluation.reward_window", [](const Config& config, const Row&) { return AveragesRewards(config); },
     "evaluation.metric_for_best_model reward_moving_average, or quiet_star.paper_metrics"},
    {"evaluation.early_stopping_threshold", LooksForBest, kBest},
    {"execution.process_time_limit", AsksProgram, kProgram},
    {"execution.process_restarts", AsksProgram, kProgram},
    {"execution.process_count", AsksProgram, kProgram},
};

}  // namespace

absl::Span<const KeyUse> KeyUses() { return kTable; }

bool IsRead(absl::string_view key, const Config& config, const AlgorithmRow& row) {
  for (const KeyUse& use : kTable) {
    if (use.key == key) return use.is_read(config, row);
  }
  return true;
}

}  // namespace reprise::rl
