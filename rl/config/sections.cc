// Lists every key. These sentences are the users' documentation; after a change run reference_test as its comment
// describes.

#include "rl/config/algorithm_section.h"
#include "rl/config/config.h"
#include "rl/config/evaluation_section.h"
#include "rl/config/key_conditions.h"
#include "rl/config/workload_traits.h"

namespace reprise::rl {
namespace {

bool IsFromScratch(const Config& config) { return config.model.path.empty(); }

bool SamplesTokens(const Config& config) { return Traits(config).has_texts; }

// The end of each part of an extended run has a checkpoint.
bool HasSeveralCheckpoints(const Config& config) {
  return config.artifact.checkpoint_every > 0 || !config.run.extended_at.empty();
}

bool HasAdapters(const Config& config) { return config.lora.r > 0; }

// Environments make their own tasks, except an external process, which receives problems.
bool DrawsTasks(const Config& config) {
  const std::string& environment = config.environment.name;
  return config.data.path.empty() && (environment.empty() || environment == "process");
}

bool AsksProgram(const Config& config) { return !config.process.command.empty(); }

bool RaisesLearningRate(const Config& config) {
  return config.optimizer.warmup_steps > 0 || config.optimizer.warmup_ratio > 0;
}

bool IsMuonGrokfast(const Config& config) { return config.optimizer.name == OptimizerName::kMuonGrokfast; }

bool Orthogonalizes(const Config& config) { return IsMuonGrokfast(config) && config.optimizer.muon; }

// Adapters leave the norms' gains, which would be scaled, as they are.
bool TrainsAttention(const Config& config) { return IsMuonGrokfast(config) && config.lora.r == 0; }

bool FiltersGradients(const Config& config) { return IsMuonGrokfast(config) && config.optimizer.grokfast_lambda > 0; }

// Decays() in rl/gradient/parameter_units.cc knows the value functions of the other workloads by their names.
bool ChoosesDecay(const Config& config) {
  const bool decays_values = NeedsValues(config.algorithm) && Traits(config).decays_only_values;
  return config.optimizer.weight_decay > 0 &&
         (config.optimizer.weight_decay_on != DecayedTensors::kValues || decays_values);
}

constexpr absl::string_view kFromScratch = "a model from scratch, without model.path, whose config.json says it";
constexpr absl::string_view kAdapters = "lora.r above 0";
constexpr absl::string_view kProgram = "an external process (process.command)";
constexpr absl::string_view kDrawn = "generated tasks: no data.path, and no environment.name except process";
constexpr absl::string_view kMuonGrokfast = "optimizer.name muon_grokfast";
constexpr absl::string_view kOrthogonalizes = "optimizer.name muon_grokfast, with optimizer.muon";
constexpr absl::string_view kTrainsAttention =
    "optimizer.name muon_grokfast, and no [lora], which leaves the norms as they are";
constexpr absl::string_view kFilters = "optimizer.name muon_grokfast, with optimizer.grokfast_lambda above 0";

using config::AtLeast;
using config::Between;
using config::FieldList;
using config::Kind;
using config::PowersOfTwo;

// Draws are addressed by step < 2^32, prompt < 2^24 and sample < 2^16; dimensions stay below 2^24 as in a decoder.
constexpr int64_t kMostSteps = (int64_t{1} << 32) - 1;
constexpr int64_t kMostPrompts = int64_t{1} << 24;
constexpr int64_t kMostSamples = int64_t{1} << 16;
constexpr int64_t kMostTokens = int64_t{1} << 24;

constexpr config::DoubleRange kPositive = {.low = config::kLeastFloat, .high = config::kMostFloat};
constexpr config::DoubleRange kPositiveOrZero = {
    .low = config::kLeastFloat, .high = config::kMostFloat, .or_exactly = 0};
// With a greater one the first update would replace the weights entirely.
constexpr config::DoubleRange kLearningRate = {.low = config::kLeastFloat, .high = 1000, .or_exactly = 0};
constexpr config::DoubleRange kDecay = {.low = 0, .high = 1, .without_high = true};

void Visit(FieldList& list, RunConfig& run) {
  list.Section("run", Kind::kSemantic, "The run as a whole.");
  list.Int("seed", run.seed, AtLeast(0),
           "Every random draw of the run is a function of this seed and of the draw's place.");
  list.Int("steps", run.steps, Between(0, kMostSteps), "Updates by reinforcement learning.");
  list.Int("logical_shards", run.logical_shards, PowersOfTwo(1, 1024),
           "Parts in which each step's gradient is summed; at most as many ranks can share a run. It affects the "
           "results, unlike the number of ranks.");
  list.Name(
      "reduction", run.reduction, {"exact", "fast"},
      "Order of sums: exact gives the same bits for any number of ranks and threads; fast lets libraries choose it, "
      "for measurements only: such a run cannot be reproduced.");
  list.Name("workload", run.workload, WorkloadNames(), WorkloadsDoc());
  list.String("extended_at", run.extended_at,
              "Where the run ended before it was extended, as \"100 200\": train --resume with a greater run.steps "
              "writes it if the learning rate depends on run.steps; each part has its own schedule up to its end.");
}

void VisitShape(FieldList& list, ModelConfig& model, const Conditions& when) {
  list.Int("vocab_size", model.vocab_size, Between(2, kMostTokens), "Tokens of the vocabulary.");
  list.String("words", model.words,
              "Texts that are one token each, as a JSON list: '[\"left\", \"right\"]'; they are the "
              "last tokens of the vocabulary, the others are bytes. Empty = none.");
  list.Int("hidden_size", model.hidden_size, Between(1, kMostTokens), "Width of the model.");
  list.Int("intermediate_size", model.intermediate_size, Between(1, kMostTokens), "Width of one expert.");
  list.Int("num_hidden_layers", model.num_hidden_layers, Between(1, 1024), "Layers.");
  list.Int("num_attention_heads", model.num_attention_heads, Between(1, 4096),
           "Heads of the queries; divides hidden_size.");
  list.Int("num_key_value_heads", model.num_key_value_heads, Between(1, 4096),
           "Heads of the keys and values; divides num_attention_heads.");
  list.Int("num_experts", model.num_experts, Between(1, 4096), "Experts of a layer.");
  list.Int("num_experts_per_tok", model.num_experts_per_tok, Between(1, 4096), "Experts that process each token.");
  list.Int("max_position_embeddings", model.max_position_embeddings, Between(1, kMostTokens),
           "The longest sequence, prompt and completion together.");
  list.Double("rope_theta", model.rope_theta, {.low = 1, .high = config::kMostFloat}, "Base of the rotary positions.");
  list.Double("rms_norm_eps", model.rms_norm_eps, {.low = config::kLeastFloat, .high = 1, .without_high = true},
              "Added to the mean square in normalisations.");
  list.Bool("norm_topk_prob", model.norm_topk_prob,
            "Whether the chosen experts' probabilities are divided by their sum.");
  list.Bool("tie_word_embeddings", model.tie_word_embeddings,
            "Whether the output layer shares the embedding's weights.")
      .ReadIf(when(SamplesTokens), "a run.workload that samples tokens: an encoder has no output layer");
  list.Double("initializer_range", model.initializer_range, {.low = 1e-6, .high = 1000},
              "Standard deviation of the initial weights.");
  list.Double("clip_qkv", model.clip_qkv, kPositive, "Queries, keys and values are clamped to plus and minus this.");
}

void Visit(FieldList& list, ModelConfig& model, const Conditions& when) {
  list.Section("model", Kind::kSemantic,
               "The language model. A checkpoint has its own shape, and a key of it here is an error.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_language_model));
  list.String("path", model.path, "A Hugging Face model directory; empty = a model from scratch.");
  list.Name("weights_dtype", model.weights_dtype, {"float32", "bf16"},
            "Type in which sampling and training read the matrices: bf16 rounds them (not the routers') after every "
            "update of the optimizer's float copies; half the memory to read, but different bits.");
  list.Double("router_aux_loss_coef", model.router_aux_loss_coef, {.low = 0, .high = 1e6, .without_high = true},
              "Weight of the router's load-balancing loss; none = the checkpoint's value, 0.01 from scratch.");
  list.WhereRead(when(IsFromScratch), kFromScratch, [&] { VisitShape(list, model, when); });
}

void VisitLora(FieldList& list, LoraSection& lora, const Conditions& when) {
  list.Section("lora", Kind::kSemantic,
               "Low-rank adapters (LoRA, arXiv 2106.09685): the language model itself is frozen, in memory only as "
               "sampling and training read it (model.weights_dtype), and the adapters of its matrices are trained "
               "(docs/adapters.md).")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_language_model));
  list.Int("r", lora.r, Between(0, 4096), "Rank of the adapters; 0 = none, the whole model is trained.");
  list.Double("alpha", lora.alpha, {.low = 1e-6, .high = 1e6}, "The adapters' outputs are multiplied by alpha / r.")
      .ReadIf(when(HasAdapters), kAdapters);
  list.Double("dropout", lora.dropout, {.low = 0, .high = 0.99},
              "Share of the elements of adapters' inputs that are dropped in training: the same ones while an episode "
              "is sampled and in every pass that learns from it. Evaluations and the reference drop none.")
      .ReadIf(when(HasAdapters), kAdapters);
  list.Names("target_modules", lora.target_modules,
             {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"},
             "The matrices that have adapters: of attention, and of every expert. lora.r is at most the smaller side "
             "of each. The order of the names means nothing, and one that is repeated counts once.")
      .ReadIf(when(HasAdapters), kAdapters);
}

void Visit(FieldList& list, DataConfig& data, const Conditions& when) {
  list.Section("data", Kind::kSemantic, "The problems to solve.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_texts));
  list.Name("task", data.task, {"addition", "reverse", "sort", "lookup"},
            "Kind of problem: add two numbers, write a word's letters backwards or in order, or follow pairs of "
            "letters for some steps: \"ca,bc,ab;2a=\" is answered by c.")
      .ReadIf(when(DrawsTasks), kDrawn);
  list.String("path", data.path,
              "A file of problems, one JSON object per line: {\"prompt\": ..., \"answer\": ...}; each epoch uses all "
              "of them in its own order. Empty = the task's, drawn from run.seed. Only run.workload completions reads "
              "such a file: quiet_star has the task's problems alone.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Int("min_length", data.min_length, Between(1, 4096),
           "Digits of a number, letters of a word, or steps of a lookup, at least.")
      .ReadIf(when(DrawsTasks), kDrawn);
  list.Int("max_length", data.max_length, Between(1, 4096),
           "Digits of a number, letters of a word, or steps of a lookup, at most.")
      .ReadIf(when(DrawsTasks), kDrawn);
  list.Int("alphabet_size", data.alphabet_size, Between(2, 26),
           "Words and lookups consist of the first this many letters of the alphabet; addition does not use it.")
      .ReadIf(when([](const Config& config) { return DrawsTasks(config) && config.data.task != "addition"; }),
              "generated tasks of letters: a data.task other than addition, no data.path, no environment.name except "
              "process");
}

void Visit(FieldList& list, SftConfig& sft, const Conditions& when) {
  list.Section("sft", Kind::kSemantic,
               "Supervised fine-tuning (SFT) on solved problems, before reinforcement learning.");
  list.Int("steps", sft.steps, Between(0, kMostSteps), "Updates by supervised training; 0 = none.");
  list.Int("prompts_per_step", sft.prompts_per_step, Between(1, kMostPrompts), "Problems in each of them.")
      .ReadIf(when(HasSft), kSft);
  list.Double("learning_rate", sft.learning_rate, kLearningRate, "Constant step size of these updates.")
      .ReadIf(when(HasSft), kSft);
}

void Visit(FieldList& list, RolloutConfig& rollout, const Conditions& when) {
  list.Section("rollout", Kind::kSemantic, "How completions are sampled.");
  list.Int("num_generations", rollout.num_generations, Between(1, kMostSamples),
           "Completions for each prompt; 1 needs a baseline that does not use groups.");
  list.Int("prompts_per_step", rollout.prompts_per_step, Between(1, kMostPrompts), "Prompts in each step.");
  list.Int("max_completion_length", rollout.max_completion_length, Between(1, kMostTokens),
           "Tokens of a completion, at most.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Double("temperature", rollout.temperature, {.low = 1e-6, .high = 1e6}, "The logits are divided by it.");
  list.Double("top_p", rollout.top_p, {.low = config::kLeastFloat, .high = 1},
              "Draws only from the most probable tokens that together have this probability; 1 = from all.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_texts));
  list.Int("top_k", rollout.top_k, Between(0, kMostTokens),
           "Draws only from this many of the most probable tokens; 0 = from all.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_texts));
  list.Int("min_new_tokens", rollout.min_new_tokens, Between(0, kMostTokens),
           "Tokens of a completion, or of each action of an episode, before which no end token is drawn.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Int("max_prompt_length", rollout.max_prompt_length, Between(0, kMostTokens),
           "Longer prompts are truncated to this many tokens; 0 = never.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Name("truncation_side", rollout.truncation_side, {"left", "right"},
            "Where they are truncated: left keeps their end, right their beginning.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions))
      .ReadIf(when([](const Config& config) { return config.rollout.max_prompt_length > 0; }),
              "rollout.max_prompt_length above 0");
  list.String(
          "stop", rollout.stop,
          "Texts that end a completion, besides the end tokens, as a JSON list: '[\"</answer>\", \"\\n\"]'; rewards "
          "do not include them. Empty = none. Episodes of an environment use environment.stop.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.String("stop_token_ids", rollout.stop_token_ids,
              "Tokens that end a completion, or an action of an episode, besides the model's own end tokens, as a JSON "
              "list: '[7, 9]'. Empty = none.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
}

// The keys of optimizer.name "muon_grokfast".
void VisitMuonGrokfast(FieldList& list, OptimizerConfig& optimizer, const Conditions& when) {
  list.Double(
          "fallback_learning_rate", optimizer.fallback_learning_rate, kLearningRate,
          "Step size of the tensors that AdamW updates; it follows the schedule, and an SFT phase, in proportion to "
          "learning_rate, that of matrices.")
      .ReadIf(when(IsMuonGrokfast), kMuonGrokfast);
  list.Bool("muon", optimizer.muon, "Whether updates of hidden matrices are orthogonalised, instead of AdamW's.")
      .ReadIf(when(IsMuonGrokfast), kMuonGrokfast);
  list.Double("momentum", optimizer.momentum, kDecay, "Decay of the gradients that a matrix's update sums up.")
      .ReadIf(when(Orthogonalizes), kOrthogonalizes);
  list.Bool("nesterov", optimizer.nesterov, "Nesterov's momentum: the sum after one more decay and gradient.")
      .ReadIf(when(Orthogonalizes), kOrthogonalizes);
  list.Int("ns_steps", optimizer.ns_steps, Between(0, 100),
           "Newton-Schulz iterations that orthogonalise an update; 0 = exactly, by a singular value decomposition, "
           "which takes long for matrices of hundreds of columns.")
      .ReadIf(when(Orthogonalizes), kOrthogonalizes);
  list.Name("muon_scale", optimizer.muon_scale, {"aspect", "rms"},
            "Factor of an orthogonalised update: sqrt(max(1, rows / columns)), or 0.2 sqrt(max(rows, columns)), which "
            "gives it the size of AdamW's (arXiv 2502.16982).")
      .ReadIf(when(Orthogonalizes), kOrthogonalizes);
  list.Double("grokfast_alpha", optimizer.grokfast_alpha, {.low = 0, .high = 1},
              "Decay of the gradients' running mean, which is their slow part.")
      .ReadIf(when(FiltersGradients), kFilters);
  list.Double("grokfast_lambda", optimizer.grokfast_lambda, {.low = 0, .high = 1000},
              "How many times the running mean is added to a gradient; 0 = gradients stay as they are.")
      .ReadIf(when(IsMuonGrokfast), kMuonGrokfast);
  list.Name("grokfast_start", optimizer.grokfast_start, {"gradient", "zero"},
            "What the running mean starts at: the first gradient, or 0.")
      .ReadIf(when(FiltersGradients), kFilters);
  list.Name("grokfast_amplifies", optimizer.grokfast_amplifies, {"slow", "fast"},
            "What is added: the running mean, or, for comparisons, the gradient less its mean.")
      .ReadIf(when(FiltersGradients), kFilters);
  list.Double("qk_clip_threshold", optimizer.qk_clip_threshold, kPositiveOrZero,
              "After an update, queries and keys of heads that had a greater attention logit in its passes are scaled "
              "down until they have none (QK-clip, arXiv 2507.20534); 0 = never.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_language_model))
      .ReadIf(when(TrainsAttention), kTrainsAttention);
}

void Visit(FieldList& list, OptimizerConfig& optimizer, const Conditions& when) {
  list.Section("optimizer", Kind::kSemantic, "How gradients change the weights.");
  list.Name("name", optimizer.name, {"adamw", "muon_grokfast"},
            "AdamW (arXiv 1711.05101), or MuonGrokfast: gradients whose slow part is amplified (Grokfast, arXiv "
            "2405.20233), orthogonalised updates of hidden matrices (Muon), and AdamW's of vectors, embeddings and "
            "heads.");
  list.Name(
          "preset", optimizer.preset, {"", "phase_1", "phase_3", "phase_3_v1", "phase_5", "phase_6", "phase_7"},
          "Values of muon_grokfast under a name (docs/optimizers.md lists them), for this section's keys that are not "
          "set themselves, and for algorithm.beta; empty = none. What is stored are the values, not the name.")
      .ReadIf(when([](const Config& config) { return IsMuonGrokfast(config) && !config.optimizer.preset.empty(); }),
              "optimizer.name muon_grokfast, which a preset sets where the name is not set");
  list.Double("learning_rate", optimizer.learning_rate, kLearningRate, "Step size before the schedule.");
  list.String(
      "learning_rate_factors", optimizer.learning_rate_factors,
      "Factors of the learning rate by the names of tensors, as a JSON object of patterns: "
      "'{\"v_head.*\": 10, \"*.mlp.gate.weight\": 0.1}'. An asterisk stands for any text, the first pattern that "
      "matches decides, and tensors of factor 0 stay as they are. Empty = 1 for all.");
  list.Double("beta1", optimizer.beta1, kDecay, "Decay of the gradients' running mean.");
  list.Double("beta2", optimizer.beta2, kDecay, "Decay of the squared gradients' running mean.");
  list.Double("epsilon", optimizer.epsilon, kPositive, "Added to the root of the squared gradients' mean.");
  list.Double("weight_decay", optimizer.weight_decay, {.low = 0, .high = 1000}, "Decoupled decay of the weights.");
  list.Double("max_grad_norm", optimizer.max_grad_norm, kPositiveOrZero,
              "Gradients of a greater norm are scaled down to this norm; 0 = never.");
  list.Name("schedule", optimizer.schedule, {"constant", "linear", "cosine"},
            "The learning rate over run.steps: constant, or falling to 0 linearly or as half a cosine.");
  list.Int("warmup_steps", optimizer.warmup_steps, Between(0, kMostSteps),
           "Steps over which the learning rate rises from 0, before the schedule; no more than run.steps, unless "
           "run.steps is shortened on the command line: then it rises until the run ends.")
      .ReadIf(when([](const Config& config) { return config.optimizer.warmup_ratio == 0; }),
              "optimizer.warmup_ratio 0, which otherwise replaces it");
  list.Double("warmup_ratio", optimizer.warmup_ratio, {.low = 0, .high = 1},
              "Share of run.steps over which the learning rate rises, rounded up, instead of warmup_steps.");
  list.Double("warmup_start", optimizer.warmup_start, {.low = 0, .high = 1},
              "Share of the learning rate at which that rise begins, instead of 0.")
      .ReadIf(when([](const Config& config) {
                return RaisesLearningRate(config) && config.optimizer.warmup_form != WarmupForm::kDelay;
              }),
              "optimizer.warmup_steps or warmup_ratio above 0, and a warmup_form other than delay");
  list.Name("warmup_form", optimizer.warmup_form, {"from_zero", "to_peak", "delay"},
            "How the learning rate rises: from_zero, the first step has rate 0 (as Hugging Face's schedules); to_peak, "
            "step k of w has k / w of it; delay, it does not rise, and the schedule begins after those steps without "
            "being compressed into the rest of the run, which repeats published runs.")
      .ReadIf(when(RaisesLearningRate), "optimizer.warmup_steps or warmup_ratio above 0");
  list.Double("min_lr_rate", optimizer.min_lr_rate, {.low = 0, .high = 1},
              "Share of the learning rate at which a falling schedule ends, instead of 0.")
      .ReadIf(when([](const Config& config) { return config.optimizer.schedule != Schedule::kConstant; }),
              "optimizer.schedule linear or cosine");
  list.Name("weight_decay_on", optimizer.weight_decay_on, {"all", "matrices", "values"},
            "What weight_decay applies to: every weight, all except the weights of norms and biases, or only those of "
            "the value function (not for run.workload memory_agent and quiet_star).")
      .ReadIf(when(ChoosesDecay),
              "optimizer.weight_decay above 0, and for values a value function whose decay can be chosen: "
              "algorithm.baseline "
              "value with a run.workload other than memory_agent and quiet_star");
  VisitMuonGrokfast(list, optimizer, when);
}

void Visit(FieldList& list, ArtifactConfig& artifact, const Conditions& when) {
  list.Section("artifact", Kind::kSemantic, "What the run's file contains.");
  list.Int("digest_every", artifact.digest_every, Between(0, kMostSteps),
           "Steps between digests of every gradient and weight; 0 = only at the end.");
  list.Int("checkpoint_every", artifact.checkpoint_every, Between(0, kMostSteps),
           "Steps of training between stored weights and optimizer states; 0 = only at the end. A run whose run.steps "
           "are 0 stores none; after an SFT phase its language model is in model/.");
  list.Int("keep_checkpoints", artifact.keep_checkpoints, Between(0, kMostSteps),
           "How many of the newest ones are kept, including that of the end: an older one is removed once a newer one "
           "is durable; 0 = all. The weights of the best evaluation are kept separately (evaluation.keep_best).")
      .ReadIf(when(HasSeveralCheckpoints), "artifact.checkpoint_every above 0, or run.extended_at");
}

void Visit(FieldList& list, ExecutionConfig& execution, const Conditions& when) {
  list.Section("execution", Kind::kExecution, "How the work is done.");
  list.Int("threads", execution.threads, Between(0, 1024),
           "Threads of each rank; 0 = an equal share of the processors that it may use.");
  list.Int("micro_batch_tokens", execution.micro_batch_tokens, AtLeast(0),
           "Approximate number of tokens trained at a time: fewer need less memory; 0 = a whole logical shard.");
  list.Int("decode_slots", execution.decode_slots, AtLeast(0),
           "Completions sampled at a time on each rank; 0 = all of them.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_texts));
  list.Bool("activation_checkpointing", execution.activation_checkpointing,
            "Recomputes each layer's activations in the backward pass: slower, with less memory.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_language_model));
  list.Bool("overlap", execution.overlap,
            "Gradients of finished layers are exchanged between ranks while earlier layers are still being computed.");
  list.Int("exchange_floats", execution.exchange_floats, Between(1024, int64_t{1} << 30),
           "Approximate number of floats for each rank that are exchanged at a time: fewer need less memory.");
  list.Int("log_every", execution.log_every, Between(0, kMostSteps),
           "Steps between progress lines where stderr is not a terminal; 0 = a line about every ten seconds.");
  list.Bool("log_completions", execution.log_completions,
            "Logs a few completions with their tasks and rewards: every log_every steps, or about every ten seconds.")
      .OnlyFor(when.WorkloadWith(&WorkloadTraits::has_completions));
  list.Int("commit_every", execution.commit_every, Between(1, kMostSteps),
           "Steps that are made durable together, at the latest after about five seconds. When it is resumed, a "
           "killed run repeats steps that were not durable.");
  list.Int("save_every", execution.save_every, Between(0, kMostSteps),
           "Steps between saved states. A resumed run starts from the last one and then checks the committed steps "
           "after it; 0 = a state about every two minutes, and more often at first.");
  list.Double("process_time_limit", execution.process_time_limit, {.low = 1e-3, .high = 1e9},
              "Time limit in seconds for each reply of the external process.")
      .ReadIf(when(AsksProgram), kProgram);
  list.Int("process_restarts", execution.process_restarts, Between(0, 1024),
           "How many times the process is restarted and the request sent again after it exits or does not reply in "
           "time; then the run ends.")
      .ReadIf(when(AsksProgram), kProgram);
  list.Int("process_count", execution.process_count, Between(0, 1024),
           "How many processes answer concurrently on each rank, while other episodes are sampled; 0 = one "
           "per thread, which waits for the reply.")
      .ReadIf(when(AsksProgram), kProgram);
  list.Bool("watchdog", execution.watchdog,
            "A run in which a rank hangs, is stopped or has died ends with exit code 75 and a report "
            "(docs/watchdog.md).");
  list.Double("watchdog_seconds", execution.watchdog_seconds, {.low = 0.1, .high = 1e6},
              "For execution.watchdog: the least time in seconds after which a rank without a sign of life counts as "
              "hung or stopped. Other limits are multiples of it, or of what the phases of earlier steps took.");
}

// Keys and options under their names in TRL, Transformers and others.
constexpr config::OtherName kOtherNames[] = {
    {"adam_beta1", "optimizer.beta1"},
    {"adam_beta2", "optimizer.beta2"},
    {"adam_epsilon", "optimizer.epsilon"},
    {"batch_size", "rollout.prompts_per_step"},
    {"clip_range", "algorithm.epsilon"},
    {"dataset_name", "data.path"},
    {"discount", "algorithm.gamma"},
    {"epochs", "run.steps"},
    {"eval_steps", "evaluation.every"},
    {"gae_lambda", "algorithm.lam"},
    {"gradient_checkpointing", "execution.activation_checkpointing"},
    {"group_size", "rollout.num_generations"},
    {"kl_coef", "algorithm.beta"},
    {"logging_steps", "execution.log_every"},
    {"lora_alpha", "lora.alpha"},
    {"lora_dropout", "lora.dropout"},
    {"lora_r", "lora.r"},
    {"lora_target_modules", "lora.target_modules"},
    {"lr", "optimizer.learning_rate"},
    {"lr_scheduler_type", "optimizer.schedule"},
    {"max_new_tokens", "rollout.max_completion_length"},
    {"max_steps", "run.steps"},
    {"max_tokens", "rollout.max_completion_length"},
    {"model_name_or_path", "model.path"},
    {"num_epochs", "algorithm.num_iterations"},
    {"num_train_epochs", "run.steps"},
    {"optim", "optimizer.name"},
    {"output_dir", "--output"},
    {"per_device_train_batch_size", "rollout.prompts_per_step"},
    {"ppo_mini_batch_size", "algorithm.mini_batch_size"},
    {"reference_update_freq", "algorithm.ref_model_sync_steps"},
    {"response_length", "rollout.max_completion_length"},
    {"resume_from_checkpoint", "--resume"},
    {"reward_funcs", "algorithm.reward"},
    {"save_steps", "artifact.checkpoint_every"},
    {"save_total_limit", "artifact.keep_checkpoints"},
};

}  // namespace

void Visit(FieldList& list, Config& config) {
  const Conditions when(config);
  Visit(list, config.run);
  Visit(list, config.model, when);
  VisitLora(list, config.lora, when);
  Visit(list, config.data, when);
  Visit(list, config.sft, when);
  Visit(list, config.rollout, when);
  for (const WorkloadTraits& each : Workloads()) each.visit(list, config, when, when.Workload(each.name));
  Visit(list, config.algorithm, when);
  Visit(list, config.optimizer, when);
  Visit(list, config.evaluation, when);
  Visit(list, config.artifact, when);
  Visit(list, config.execution, when);
  list.AlsoCalled(kOtherNames);
}

}  // namespace reprise::rl
