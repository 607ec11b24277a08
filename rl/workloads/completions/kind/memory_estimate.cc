#include "rl/workloads/completions/kind/memory_estimate.h"

#include <algorithm>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/lm_head/lm_head.h"
#include "models/decoder/activations.h"
#include "models/decoder/inference.h"
#include "models/decoder/parameters.h"
#include "rl/workloads/completions/kind/decoder_cost.h"
#include "rl/workloads/completions/kind/gradient_shares.h"

namespace reprise::rl {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Floats that the backward pass and the lm-head need in addition to the activations, for `rows` rows.
int64_t ScratchFloats(const models::DecoderConfig& c, int64_t rows) {
  const int64_t width = c.hidden_size;
  const int64_t head =
      std::max(kernels::LmHeadBackwardScratch(rows, width, c.vocab_size), kernels::LmHeadScratch(rows, c.vocab_size));
  const int64_t values = c.value_model == models::ValueModel::kNone ? 0 : rows * (width + 1) + 32 * width;
  return BackwardFloats(c, rows) + head + rows * 3 * width + values + AdapterScratchFloats(c, rows);
}

// The gradient of a tied embedding is stored separately from the lm-head's (models::ShardGradient). Frozen ones have
// none.
void AddTiedEmbedding(const models::DecoderConfig& decoder, const models::DecoderLayout& layout, int64_t at_work,
                      MemoryEstimate* estimate) {
  if (!decoder.tie_word_embeddings || decoder.lora.is_on()) return;
  const int64_t floats = layout.specs[layout.embedding].size;
  estimate->items.push_back({"tied embedding's gradient", "4 e T", kFloatBytes * floats * at_work});
  estimate->symbols.push_back({"e", "parameters of the embedding", floats});
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
                             kFloatBytes * (floats * rows + prompt_floats + logits) * at_work});
  estimate->symbols.push_back({"r", "floats a row of them", floats});
  estimate->symbols.push_back({"z", "floats of logits, the policy's and its", logits});
}

}  // namespace

MemoryEstimate EstimateMemory(const Config& config, const models::DecoderConfig& decoder, int64_t ranks,
                              int64_t threads, const LongestTexts& longest) {
  const models::DecoderLayout layout = models::MakeDecoderLayout(decoder);
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

  MemoryEstimate estimate = EstimateParameters(config, decoder, layout, shares);
  const std::vector<MemorySymbol> own = {
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
  estimate.symbols.insert(estimate.symbols.end(), own.begin(), own.end());
  const auto value = [&](absl::string_view letter) {
    return std::find_if(estimate.symbols.begin(), estimate.symbols.end(),
                        [&](const MemorySymbol& symbol) { return symbol.letter == letter; })
        ->value;
  };
  const std::vector<MemoryItem> items = {
      {"activations", "4 (A B + g) T", kFloatBytes * (row_floats * rows + value("g")) * at_work},
      {"backward scratch", "4 S T", kFloatBytes * scratch * at_work},
      {"key and value caches", "4 (C Q + c q)", kFloatBytes * (value("C") * slots + value("c") * open_prompts)},
      {"sampled rows", "4 a R", kFloatBytes * value("a") * sampled_rows}};
  estimate.items.insert(estimate.items.end(), items.begin(), items.end());
  AddProgram(config, layout, ranks, &estimate);
  AddTiedEmbedding(decoder, layout, at_work, &estimate);
  AddCopies(config, decoder, layout, &estimate);
  if (NeedsReference(config.algorithm) && Estimator(config.algorithm) == KlEstimator::kExact) {
    AddReferencePass(decoder, rows, value("g"), at_work, &estimate);
  }
  AddMergedModel(config, decoder, &estimate);
  return estimate;
}

}  // namespace reprise::rl
