#ifndef RL_CONFIG_CONFIG_H_
#define RL_CONFIG_CONFIG_H_

// The configuration: plain data with its defaults. The keys of the TOML file are the members' names, except within the
// options of a component (AlgorithmConfig); the listings of the sections, from which docs/configuration.md is written,
// define their meanings and ranges. Names and defaults follow TRL where TRL has them. Everything except [execution] is
// part of the run's identity.

#include <cstdint>
#include <optional>
#include <string>

#include "core/config/field_list.h"
#include "rl/algorithm/algorithm.h"
#include "rl/schedule/learning_rate.h"
#include "rl/workloads/bandit/section/bandit_section.h"
#include "rl/workloads/completions/section/environment_section.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "rl/workloads/morphogenesis/section/morphogenesis_section.h"
#include "rl/workloads/quiet_star/section/quiet_star_section.h"

namespace reprise::rl {

// The order of sums: fixed, or what libraries choose, which no execution repeats.
enum class Reduction { kExact, kFast };

// The type in which matrices are read.
enum class WeightsDtype { kFloat32, kBf16 };

// The end of a long prompt that is cut off.
enum class TruncationSide { kLeft, kRight };

enum class OptimizerName { kAdamW, kMuonGrokfast };

// The tensors to which weight decay applies (rl/gradient/parameter_units.h).
enum class DecayedTensors { kAll, kMatrices, kValues };

// Choices of MuonGrokfast (docs/optimizers.md): the factor of an orthogonal step of a matrix, the first value of the
// mean of gradients, and which part of a gradient is amplified.
enum class MuonScale { kAspect, kRms };
enum class GrokfastStart { kGradient, kZero };
enum class GrokfastBand { kSlow, kFast };

struct RunConfig {
  int64_t seed = 1;
  int64_t steps = 100;
  int64_t logical_shards = 8;
  Reduction reduction = Reduction::kExact;
  std::string workload = "completions";
  std::string extended_at = "";  // "": never; see extension.h

  bool operator==(const RunConfig&) const = default;
};

struct ModelConfig {
  std::string path = "";  // "": a model from scratch, of the shape below
  WeightsDtype weights_dtype = WeightsDtype::kFloat32;
  std::optional<double> router_aux_loss_coef = {};  // nullopt: the checkpoint's own

  int64_t vocab_size = 128;
  std::string words = "";  // "": none
  int64_t hidden_size = 64;
  int64_t intermediate_size = 64;
  int64_t num_hidden_layers = 2;
  int64_t num_attention_heads = 4;
  int64_t num_key_value_heads = 4;
  int64_t num_experts = 8;
  int64_t num_experts_per_tok = 2;
  int64_t max_position_embeddings = 256;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-5;
  bool norm_topk_prob = false;
  bool tie_word_embeddings = false;
  double initializer_range = 0.02;
  std::optional<double> clip_qkv = {};

  bool operator==(const ModelConfig&) const = default;
};

struct LoraSection {
  int64_t r = 0;  // 0: no adapters
  double alpha = 32;
  double dropout = 0.05;
  std::string target_modules = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj";

  bool operator==(const LoraSection&) const = default;
};

struct DataConfig {
  std::string task = "reverse";
  std::string path = "";  // "": the task's own problems
  int64_t min_length = 1;
  int64_t max_length = 5;
  int64_t alphabet_size = 8;

  bool operator==(const DataConfig&) const = default;
};

struct SftConfig {
  int64_t steps = 0;  // 0: none
  int64_t prompts_per_step = 64;
  double learning_rate = 1e-3;

  bool operator==(const SftConfig&) const = default;
};

struct RolloutConfig {
  int64_t num_generations = 8;
  int64_t prompts_per_step = 8;
  int64_t max_completion_length = 64;
  double temperature = 1.0;
  double top_p = 1.0;
  int64_t top_k = 0;  // 0: off
  int64_t min_new_tokens = 0;
  int64_t max_prompt_length = 0;  // 0: no limit
  TruncationSide truncation_side = TruncationSide::kLeft;
  std::string stop = "";            // "": none
  std::string stop_token_ids = "";  // "": none

  bool operator==(const RolloutConfig&) const = default;
};

struct EvaluationConfig {
  int64_t every = 0;  // 0: never
  bool on_start = false;
  int64_t num_prompts = 64;
  int64_t num_generations = 8;
  std::string path = "";  // "": the task's own problems
  double held_out_share = 0;
  int64_t split_seed = 42;
  std::optional<double> correct_reward = {};  // nullopt: the task says what is correct (DefinesAccuracy)
  std::string metric_for_best_model = "eval_greedy_reward";
  int64_t reward_window = 100;
  bool greater_is_better = true;
  bool keep_best = true;
  bool load_best_model_at_end = false;
  int64_t early_stopping_patience = 0;  // 0: never
  double early_stopping_threshold = 0;

  bool operator==(const EvaluationConfig&) const = default;
};

struct OptimizerConfig {
  OptimizerName name = OptimizerName::kAdamW;
  std::string preset = "";  // "": none; else LoadConfig has set the keys that it has values for
  double learning_rate = 1e-6;
  std::string learning_rate_factors = "";  // "": 1 for every tensor
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double max_grad_norm = 1.0;  // 0: no clipping
  Schedule schedule = Schedule::kLinear;
  int64_t warmup_steps = 0;
  double warmup_ratio = 0;  // 0: warmup_steps applies
  double warmup_start = 0;
  WarmupForm warmup_form = WarmupForm::kFromZero;
  double min_lr_rate = 0;
  DecayedTensors weight_decay_on = DecayedTensors::kAll;
  // Of muon_grokfast.
  double fallback_learning_rate = 1e-3;
  bool muon = true;
  double momentum = 0.95;
  bool nesterov = true;
  int64_t ns_steps = 5;  // 0: exactly orthogonal
  MuonScale muon_scale = MuonScale::kAspect;
  double grokfast_alpha = 0.98;
  double grokfast_lambda = 2;
  GrokfastStart grokfast_start = GrokfastStart::kGradient;
  GrokfastBand grokfast_amplifies = GrokfastBand::kSlow;
  double qk_clip_threshold = 0;  // 0: never

  bool operator==(const OptimizerConfig&) const = default;
};

struct ArtifactConfig {
  int64_t digest_every = 1;
  int64_t checkpoint_every = 0;  // 0: only at the end
  int64_t keep_checkpoints = 0;  // 0: all

  bool operator==(const ArtifactConfig&) const = default;
};

struct ExecutionConfig {
  int64_t threads = 1;             // 0: every core
  int64_t micro_batch_tokens = 0;  // 0: a whole shard
  int64_t decode_slots = 0;        // 0: all completions at once
  bool activation_checkpointing = false;
  bool overlap = true;
  int64_t exchange_floats = int64_t{1} << 18;
  int64_t log_every = 0;  // 0: by time
  bool log_completions = false;
  int64_t commit_every = 16;
  int64_t save_every = 0;  // 0: by time
  double process_time_limit = 60;
  int64_t process_restarts = 2;
  int64_t process_count = 0;  // 0: one for each thread that asks
  bool watchdog = true;
  double watchdog_seconds = 10;

  bool operator==(const ExecutionConfig&) const = default;
};

struct Config {
  RunConfig run;
  ModelConfig model;
  LoraSection lora;
  DataConfig data;
  SftConfig sft;
  RolloutConfig rollout;
  EnvironmentConfig environment;
  ProcessConfig process;
  BanditConfig bandit;
  MemoryConfig memory;
  MorphogenesisConfig morphogenesis;
  QuietStarConfig quiet_star;
  AlgorithmConfig algorithm;
  OptimizerConfig optimizer;
  EvaluationConfig evaluation;
  ArtifactConfig artifact;
  ExecutionConfig execution;

  bool operator==(const Config&) const = default;
};

// Lists every section and key of `config`, which must outlive the list and not move.
void Visit(config::FieldList& list, Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_CONFIG_H_
