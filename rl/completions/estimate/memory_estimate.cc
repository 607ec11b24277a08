#include "rl/completions/estimate/memory_estimate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/experts/experts.h"
#include "kernels/lm_head/lm_head.h"
#include "models/decoder/activations.h"
#include "models/decoder/inference.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"
#include "rl/completions/estimate/gradient_shares.h"
#include "rl/gradient/sharded_optimizer.h"

namespace reprise::rl {
namespace {

constexpr int64_t kFloat = 4;  // bytes
// The memory of a nearly idle process, alone and with MPI; measured.
constexpr int64_t kProgramBytes = int64_t{22} << 20, kMpiBytes = int64_t{8} << 20;

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Floats of both packed copies of every matrix that is used in a product; `layout`: of the model, or of its PolicyPart.
int64_t PackedFloats(const models::DecoderConfig& decoder, const models::DecoderLayout& layout) {
  int64_t bytes = models::PackedWeights::Bytes(decoder, models::PolicyPart(layout), /*training=*/true);
  if (layout.value.embedding >= 0) {
    bytes += models::PackedWeights::Bytes(decoder, models::TrunkLayout(decoder), /*training=*/true);
  }
  return bytes / kFloat;
}

// Floats that the backward pass and the lm-head need in addition to the activations, for `rows` rows.
int64_t ScratchFloats(const models::DecoderConfig& c, int64_t rows) {
  const int64_t width = c.hidden_size, columns = width + 2 * c.key_value_width();
  const int64_t backward = rows * (2 * width + 2 * columns + c.num_experts + c.num_experts_per_tok) +
                           kernels::ExpertsBackwardScratch(rows * c.num_experts_per_tok, width, c.intermediate_size);
  const int64_t head =
      std::max(kernels::LmHeadBackwardScratch(rows, width, c.vocab_size), kernels::LmHeadScratch(rows, c.vocab_size));
  const int64_t values = c.value_model == models::ValueModel::kNone ? 0 : rows * (width + 1) + 32 * width;
  return backward + head + rows * 3 * width + values;
}

// The gradient of a tied embedding is stored separately from the lm-head's (models::ShardGradient).
void AddTiedEmbedding(const models::DecoderLayout& layout, int64_t at_work, MemoryEstimate* estimate) {
  const int64_t floats = layout.specs[static_cast<size_t>(layout.embedding)].size;
  estimate->items.push_back({"tied embedding's gradient", "4 e T", kFloat * floats * at_work});
  estimate->symbols.push_back({"e", "parameters of the embedding", floats});
}

// A copy that only runs forward passes has one of the two packings.
void AddReference(const models::DecoderConfig& decoder, const models::DecoderLayout& layout, MemoryEstimate* estimate) {
  const models::DecoderLayout policy = models::PolicyPart(layout);
  const int64_t policy_packed = PackedFloats(decoder, policy);
  const bool same = policy.total == layout.total;
  estimate->items.push_back(
      {"reference model", same ? "4 W + 2 P" : "4 w + 2 p", kFloat * policy.total + kFloat / 2 * policy_packed});
  if (same) return;
  estimate->symbols.push_back({"w", "parameters without the value function's", policy.total});
  estimate->symbols.push_back({"p", "their packed matrices", policy_packed});
}

// For the exact divergence the reference runs a forward pass beside every update. The logits of both are held for some
// rows at a time.
void AddReferencePass(const models::DecoderConfig& decoder, int64_t rows, int64_t prompt_floats, int64_t at_work,
                      MemoryEstimate* estimate) {
  const int64_t width = decoder.hidden_size, vocabulary = decoder.vocab_size;
  const int64_t floats = models::Activations::FloatsPerRow(decoder, /*training=*/true, /*recompute=*/true) + width;
  const int64_t logits = kernels::LmHeadBackwardScratch(rows, width, vocabulary, /*with_divergence=*/true) -
                         kernels::LmHeadBackwardScratch(rows, width, vocabulary) +
                         kernels::HeadDivergenceScratch(rows, vocabulary);
  estimate->items.push_back({"the reference's activations", "4 (r B + g + z) T",
                             kFloat * (floats * rows + prompt_floats + logits) * at_work});
  estimate->symbols.push_back({"r", "floats a row of them", floats});
  estimate->symbols.push_back({"z", "floats of logits, the policy's and its", logits});
}

// Floats of a model's matrices that LibTorch copies: none of bf16 matrices, but routers are always floats.
int64_t CopiedFloats(const models::DecoderConfig& decoder, const models::DecoderLayout& layout) {
  return decoder.bf16_weights ? 2 * decoder.num_hidden_layers * decoder.num_experts * decoder.hidden_size
                              : PackedFloats(decoder, layout);
}

// The memory of models/fast_products. A reference has only one packing.
void AddFastProducts(const models::DecoderConfig& decoder, const models::DecoderLayout& layout, bool has_reference,
                     MemoryEstimate* estimate) {
  const int64_t copied = CopiedFloats(decoder, layout), policy = CopiedFloats(decoder, models::PolicyPart(layout));
  estimate->items.push_back({"LibTorch's packed copies", has_reference ? "4 M + 2 m" : "4 M",
                             kFloat * copied + (has_reference ? kFloat / 2 * policy : 0)});
  estimate->symbols.push_back({"M", "floats of the matrices that LibTorch packs too, in both directions", copied});
  if (has_reference) estimate->symbols.push_back({"m", "those that the reference has as well", policy});
  estimate->not_predicted =
      "LibTorch itself and what its operators keep, which depend on its build and on the ways that its contests of "
      "products try (run.reduction = \"fast\"): 200 MiB and more, and more with every thread and step";
}

}  // namespace

MemoryEstimate EstimateMemory(const Config& config, const models::DecoderConfig& decoder, int64_t ranks,
                              int64_t threads, const LongestTexts& longest) {
  const models::DecoderLayout layout = models::MakeDecoderLayout(decoder);
  const bool in_any_order = config.run.reduction == Reduction::kFast;
  const GradientShares shares = EstimateShares(config, layout, ranks, threads, longest);
  const int64_t at_work = shares.at_work, rows = shares.rows, generations = config.rollout.num_generations;
  const int64_t row_floats =
      models::Activations::FloatsPerRow(decoder, /*training=*/true, config.execution.activation_checkpointing);
  // A cut group's prompt has separate activations, without recomputation.
  const int64_t prompt_rows = config.execution.micro_batch_tokens == 0 ? 0 : longest.prompt;
  const int64_t prompt_floats = models::Activations::FloatsPerRow(decoder, /*training=*/true);
  const int64_t prompts = shares.prompts, completions = prompts * generations;
  const int64_t slots =
      config.execution.decode_slots == 0 ? completions : std::min(config.execution.decode_slots, completions);
  // Every thread may have a nearly finished group in addition to those that fill its slots.
  const int64_t open_prompts = std::min(prompts, CeilDivide(slots, generations) + threads);
  const int64_t length = config.rollout.max_completion_length;
  const int64_t sampled_floats = models::Activations::FloatsPerRow(decoder, /*training=*/false);
  const int64_t sampled_rows = std::max(slots, open_prompts * longest.prompt);
  const int64_t scratch = ScratchFloats(decoder, rows);
  const int64_t packed = PackedFloats(decoder, layout), total = layout.total;
  const int64_t state = kFloat * static_cast<int64_t>(MakeOptimizer(config.optimizer)->groups().size());

  MemoryEstimate estimate;
  estimate.symbols = {
      {"W", "parameters", total},
      {"P", "the matrices, packed for the kernels in both directions; two of bf16 are one", packed},
      {"L", "logical shards", config.run.logical_shards},
      {"b",
       in_any_order ? "gradients held at a time, one a thread, two where groups may be cut"
                    : "gradients held at a time, at most 1 + log2 L for one thread",
       shares.buffers},
      {"O",
       in_any_order ? "parameters whose optimizer state the rank holds: all"
                    : "parameters whose optimizer state the rank holds, about W / ranks",
       shares.owned},
      {"x", "floats on their way to other ranks", shares.staged},
      {"T", in_any_order ? "threads" : "shards that a rank computes at a time", at_work},
      {"B", "rows of the largest micro-batch", rows},
      {"g", "floats of activations of the prompt of a group that was cut", prompt_rows * prompt_floats},
      {"A", "floats a row of activations", row_floats},
      {"S", "floats of scratch in the backward pass of a micro-batch", scratch},
      {"Q", "completions decoded at a time", slots},
      {"C", "floats of a completion's keys and values", models::KeyValueCache::Floats(decoder, length)},
      {"q", "prompts held while they are decoded", open_prompts},
      {"c", "floats of a prompt's keys and values", models::KeyValueCache::Floats(decoder, longest.prompt)},
      {"R", "rows that are sampled at a time", sampled_rows},
      {"a", "floats a sampled row, logits included", sampled_floats + decoder.vocab_size}};
  const auto value = [&](absl::string_view letter) {
    return std::find_if(estimate.symbols.begin(), estimate.symbols.end(),
                        [&](const MemorySymbol& symbol) { return symbol.letter == letter; })
        ->value;
  };
  estimate.items = {
      {"weights", "4 W", kFloat * total},
      {"packed copies", "4 P", kFloat * packed},
      {"gradient partial sums", "4 W b", kFloat * total * shares.buffers},
      {"optimizer slices", absl::StrCat(state, " O"), state * shares.owned},
      {"exchange between ranks", "4 x", kFloat * shares.staged},
      {"activations", "4 (A B + g) T", kFloat * (row_floats * rows + value("g")) * at_work},
      {"backward scratch", "4 S T", kFloat * scratch * at_work},
      {"key and value caches", "4 (C Q + c q)", kFloat * (value("C") * slots + value("c") * open_prompts)},
      {"sampled rows", "4 a R", kFloat * value("a") * sampled_rows},
      {"checkpoint, while written", absl::StrCat(state, " W"), state * total},
      {"program and libraries", "", ranks == 1 ? kProgramBytes : kProgramBytes + kMpiBytes}};
  if (decoder.tie_word_embeddings) AddTiedEmbedding(layout, at_work, &estimate);
  const bool has_reference = config.algorithm.beta > 0 || config.algorithm.kl.schedule != KlSchedule::kFixed ||
                             config.algorithm.baseline == "optimal" || config.algorithm.clip == "regression";
  if (has_reference) AddReference(decoder, layout, &estimate);
  if (config.algorithm.kl_estimator == "exact") {
    AddReferencePass(decoder, rows, value("g"), at_work, &estimate);
  }
  if (config.evaluation.every > 0 && config.evaluation.keep_best) {
    estimate.items.push_back({"weights of the best evaluation", "4 W", kFloat * total});
  }
  if (in_any_order) AddFastProducts(decoder, layout, has_reference, &estimate);
  return estimate;
}

}  // namespace reprise::rl
