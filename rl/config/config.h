#ifndef RL_CONFIG_CONFIG_H_
#define RL_CONFIG_CONFIG_H_

// What a run of the language-model workloads can be told: plain data with its defaults. The keys of the TOML file are
// the members' names, their meanings and ranges stand in sections.cc and in docs/configuration.md. Names and defaults
// follow TRL where TRL has them. Everything but [execution] is part of the run's identity.

#include <cstdint>
#include <string>

#include "core/config/field_list.h"

namespace reprise::rl {

struct RunConfig {
  int64_t seed = 1;
  int64_t steps = 100;
  int64_t logical_shards = 8;
  std::string reduction = "exact";
  std::string extended_at = "";  // "": never; see extension.h

  bool operator==(const RunConfig&) const = default;
};

struct ModelConfig {
  std::string path = "";  // "": a model from scratch, of the shape below
  std::string weights_dtype = "float32";
  double router_aux_loss_coef = -1;  // -1: the checkpoint's own

  int64_t vocab_size = 128;
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
  double clip_qkv = 0;  // 0: none

  bool operator==(const ModelConfig&) const = default;
};

struct DataConfig {
  std::string task = "reverse";
  std::string path = "";  // "": the task's own problems
  int64_t min_length = 1;
  int64_t max_length = 5;
  int64_t alphabet_size = 8;

  bool operator==(const DataConfig&) const = default;
};

struct WarmUpConfig {
  int64_t steps = 0;  // 0: none
  int64_t prompts_per_step = 64;
  double learning_rate = 1e-3;

  bool operator==(const WarmUpConfig&) const = default;
};

struct RolloutConfig {
  int64_t num_generations = 8;
  int64_t prompts_per_step = 8;
  int64_t max_completion_length = 64;
  double temperature = 1.0;
  double top_p = 1.0;
  int64_t top_k = 0;  // 0: off

  bool operator==(const RolloutConfig&) const = default;
};

struct AlgorithmConfig {
  std::string name = "grpo";
  std::string loss_type = "";      // "": the algorithm's own, as everywhere here; see AlgorithmOf
  std::string scale_rewards = "";  // ""
  double epsilon = -1;             // -1
  double epsilon_high = -1;        // -1
  double beta = -1;                // -1
  int64_t num_iterations = 1;
  std::string reward = "exact_match";
  double advantage_epsilon = 1e-4;

  bool operator==(const AlgorithmConfig&) const = default;
};

struct OptimizerConfig {
  std::string name = "adamw";
  double learning_rate = 1e-6;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double max_grad_norm = 1.0;  // 0: no clipping
  std::string schedule = "linear";
  int64_t warmup_steps = 0;

  bool operator==(const OptimizerConfig&) const = default;
};

struct ArtifactConfig {
  int64_t digest_every = 1;
  int64_t checkpoint_every = 0;  // 0: only at the end

  bool operator==(const ArtifactConfig&) const = default;
};

struct ExecutionConfig {
  int64_t threads = 1;             // 0: every core
  int64_t micro_batch_tokens = 0;  // 0: a whole shard
  int64_t decode_slots = 0;        // 0: all completions at once
  bool activation_checkpointing = false;
  int64_t log_every = 0;  // 0: by time
  int64_t commit_every = 16;
  int64_t save_every = 0;  // 0: by time

  bool operator==(const ExecutionConfig&) const = default;
};

struct Config {
  RunConfig run;
  ModelConfig model;
  DataConfig data;
  WarmUpConfig warm_up;
  RolloutConfig rollout;
  AlgorithmConfig algorithm;
  OptimizerConfig optimizer;
  ArtifactConfig artifact;
  ExecutionConfig execution;

  bool operator==(const Config&) const = default;
};

// Lists every section and key of `config`, which must stay where it is while the list is used.
void Visit(config::FieldList& list, Config& config);

}  // namespace reprise::rl

#endif  // RL_CONFIG_CONFIG_H_
