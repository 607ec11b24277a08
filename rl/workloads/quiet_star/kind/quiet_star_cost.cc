#include "rl/workloads/quiet_star/kind/quiet_star_cost.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/status/status_macros.h"
#include "models/decoder/weights.h"
#include "rl/config/quiet_star_check.h"
#include "rl/workloads/completions/kind/decoder_cost.h"
#include "rl/workloads/completions/kind/gradient_shares.h"
#include "rl/workloads/quiet_star/prepared_quiet_star.h"
#include "rl/workloads/quiet_star/thinker_weights.h"

namespace reprise::rl {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The decoder's layout with the heads' tensors behind it.
models::DecoderLayout PolicyLayout(const models::DecoderConfig& decoder, FlatLayout policy) {
  models::DecoderLayout layout = models::MakeDecoderLayout(decoder);
  static_cast<FlatLayout&>(layout) = std::move(policy);
  const auto value =
      std::ranges::find_if(layout.specs, [](const ParameterSpec& spec) { return spec.name.starts_with("value_head"); });
  layout.policy_specs = static_cast<int>(value - layout.specs.begin());
  layout.policy_total = value == layout.specs.end() ? layout.total : value->offset;
  return layout;
}

}  // namespace

models::ThoughtSizes MakeThoughtSizes(const Config& config, int64_t texts) {
  const int64_t tokens = LongestText(config.data);
  return {.texts = texts,
          .text_tokens = tokens,
          .positions = std::max<int64_t>(1, tokens - 1),
          .num_thoughts = config.rollout.num_generations,
          .max_length = config.quiet_star.max_thought_length,
          .tokens_ahead = config.quiet_star.tokens_ahead};
}

StepOperations EstimateThoughtOperations(const Config& config, const models::DecoderConfig& decoder) {
  const models::ThoughtSizes sizes = MakeThoughtSizes(config, config.rollout.prompts_per_step);
  const double rows = static_cast<double>(models::ThoughtRowsOf(sizes)),
               sampled = static_cast<double>(sizes.texts * (sizes.text_tokens + sizes.thoughts() * sizes.max_length)),
               layers = static_cast<double>(decoder.num_hidden_layers), layer = OperationsOfLayer(decoder);
  const double updates = static_cast<double>(config.algorithm.update.num_iterations);
  double scored = 1;  // rewards
  if (NeedsReference(config.algorithm)) scored += 1 + updates;
  if (decoder.router_aux_loss_coef != 0) ++scored;
  StepOperations operations;
  operations.sampling = sampled * layers * layer;
  operations.forward = (scored + updates) * rows * layers * layer;
  const double recomputed = config.execution.activation_checkpointing ? layers - 1 : 0;
  operations.backward = updates * rows * (layers * BackwardOperationsOfLayer(decoder) + recomputed * layer);
  return operations;
}

MemoryEstimate EstimateThoughtMemory(const Config& config, const models::DecoderConfig& decoder,
                                     const models::DecoderLayout& layout, int64_t ranks, int64_t threads) {
  const int64_t longest = LongestText(config.data), max_rows = config.execution.micro_batch_tokens;
  // The rows of its micro-batches would be those of completions.
  const GradientShares shares =
      EstimateShares(config, layout, ranks, threads, {.prompt = longest, .sft = LongestExample(config)});
  const int64_t parts = config.run.reduction == Reduction::kFast ? ranks * threads : config.run.logical_shards;
  const models::ThoughtSizes of_shard = MakeThoughtSizes(config, CeilDivide(config.rollout.prompts_per_step, parts)),
                             of_rank = MakeThoughtSizes(config, shares.prompts);
  const int64_t rows = models::ThoughtBatchRows(of_shard, max_rows);
  const int64_t slots = config.execution.decode_slots;
  MemoryEstimate estimate = EstimateParameters(config, decoder, layout, shares);
  const std::vector<MemorySymbol> own = {
      {"N", "tokens of a text", of_rank.text_tokens},
      {"K", "thoughts about a text", of_rank.thoughts()},
      {"R", "rows of the largest micro-batch: texts, and thoughts with the text behind them", rows},
      {"Q", "thoughts decoded at a time",
       slots == 0 ? of_rank.texts * of_rank.thoughts() : std::min(slots, of_rank.texts * of_rank.thoughts())}};
  estimate.symbols.insert(estimate.symbols.end(), own.begin(), own.end());
  const int64_t activations = models::ThoughtPassBytes(
      decoder, of_shard, max_rows, config.execution.activation_checkpointing, NeedsReference(config.algorithm));
  // Rewards are computed text by text, and evaluations too, without gradients.
  const int64_t scoring = models::ThoughtPassBytes(decoder, MakeThoughtSizes(config, 1), max_rows, /*recompute=*/true,
                                                   /*has_reference=*/false);
  const int64_t scratch = kFloatBytes * (BackwardFloats(decoder, rows) + AdapterScratchFloats(decoder, rows));
  const std::vector<MemoryItem> items = {
      {"activations and hidden states", "(R rows, and a text that is cut) T", activations * shares.at_work},
      {"backward scratch", "(R rows) T", scratch * shares.at_work},
      {"scoring of thoughts", "(one layer of R rows of a text)", scoring},
      {"sampling of thoughts", "(caches of texts and of Q thoughts)",
       models::ThoughtSamplingBytes(decoder, of_rank, slots)}};
  estimate.items.insert(estimate.items.end(), items.begin(), items.end());
  if (decoder.new_rows > 0) {
    const int64_t copies = models::PackedWeights::NewRowBytes(decoder, /*training=*/true) +
                           (NeedsReference(config.algorithm) ? models::PackedWeights::NewRowBytes(decoder, false) : 0);
    estimate.items.push_back({"embedding and lm-head with thinking tokens", "(copies)", copies});
  }
  AddProgram(config, layout, ranks, &estimate);
  AddCopies(config, decoder, layout, &estimate);
  return estimate;
}

absl::StatusOr<RunCost> EstimateQuietStar(const Config& config, int64_t ranks, int64_t threads) {
  ASSIGN_OR_RETURN(const Thinker thinker, ReadThinker(config));
  const models::DecoderConfig& decoder = thinker.grown;
  ASSIGN_OR_RETURN(FlatLayout policy, MakeQuietStarLayout(config));
  models::DecoderLayout layout = PolicyLayout(decoder, std::move(policy));
  MemoryEstimate memory = EstimateThoughtMemory(config, decoder, layout, ranks, threads);
  // The widths of the value function can outweigh the rest of a run.
  if (layout.policy_total < layout.total) memory.remedy = "a narrower quiet_star.value_hidden";
  return RunCost{std::move(layout), std::move(memory), EstimateThoughtOperations(config, decoder),
                 "a step with thoughts of full length after every token"};
}

}  // namespace reprise::rl
