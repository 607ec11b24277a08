#include "rl/workloads/memory_agent/kind/memory_agent_cost.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "models/decoder/activations.h"
#include "rl/algorithm/token_advantages.h"
#include "rl/workloads/completions/kind/decoder_cost.h"
#include "rl/workloads/completions/kind/gradient_shares.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/memory_agent/memory_metrics.h"
#include "rl/workloads/memory_agent/policy_weights.h"

namespace reprise::rl {
StepOperations EstimateEncoderOperations(const Config& config, const models::DecoderConfig& encoder,
                                         const AlgorithmConfig& algorithm, const ExpectedRows& rows) {
  const double layers = static_cast<double>(encoder.num_hidden_layers), layer = OperationsOfLayer(encoder);
  double scored = 0;  // passes over whole shards before the updates
  if (NeedsReference(config.algorithm)) ++scored;
  if (algorithm.correction.mode != ImportanceMode::kNone) ++scored;
  if (NeedsValues(algorithm)) ++scored;
  double of_update = 1;  // forward passes of an update; those of the reference are kept from its scores
  if (algorithm.loss.top_entropy_quantile < 1) ++of_update;
  StepOperations operations;
  operations.sampling = (rows.drawn + (encoder.router_aux_loss_coef != 0 ? rows.shards : 0)) * layers * layer;
  operations.forward = (scored * rows.shards + of_update * rows.updates + rows.repeated) * layers * layer;
  const double recomputed = config.execution.activation_checkpointing ? layers - 1 : 0;
  operations.backward = rows.updates * (layers * BackwardOperationsOfLayer(encoder) + recomputed * layer);
  return operations;
}

MemoryEstimate EstimateEncoderMemory(const Config& config, const models::DecoderConfig& encoder,
                                     const models::DecoderLayout& layout, const ExpectedRows& rows, int64_t ranks,
                                     int64_t threads) {
  // The rows of its micro-batches would be those of completions.
  const GradientShares shares = EstimateShares(config, layout, ranks, threads, LongestTexts());
  const int64_t kept =
      models::Activations::FloatsPerRow(encoder, /*training=*/true, config.execution.activation_checkpointing);
  const int64_t drawn = models::Activations::FloatsPerRow(encoder, /*training=*/true, /*recompute=*/true);
  const int64_t scratch = BackwardFloats(encoder, rows.update_batch) + rows.update_batch * encoder.hidden_size +
                          AdapterScratchFloats(encoder, rows.update_batch);
  MemoryEstimate estimate = EstimateParameters(config, encoder, layout, shares);
  const std::vector<MemorySymbol> own = {
      {"B", "rows of the largest micro-batch, tokens of distinct states", rows.update_batch},
      {"A", "floats a row of activations", kept},
      {"S", "floats of scratch in the backward pass of a micro-batch", scratch},
      {"R", "rows that are encoded at a time in drawing and evaluations", rows.drawn_batch},
      {"a", "floats of each of these rows", drawn}};
  estimate.symbols.insert(estimate.symbols.end(), own.begin(), own.end());
  const std::vector<MemoryItem> items = {
      {"activations", "4 A B T", kFloatBytes * kept * rows.update_batch * shares.at_work},
      {"backward scratch", "4 S T", kFloatBytes * scratch * shares.at_work},
      {"states encoded to draw", "4 a R", kFloatBytes * drawn * rows.drawn_batch}};
  estimate.items.insert(estimate.items.end(), items.begin(), items.end());
  AddProgram(config, layout, ranks, &estimate);
  AddCopies(config, encoder, layout, &estimate);
  AddMergedModel(config, encoder, &estimate);
  return estimate;
}

absl::StatusOr<RunCost> EstimateMemoryAgent(const Config& config, int64_t ranks, int64_t threads) {
  ASSIGN_OR_RETURN(const models::DecoderConfig encoder, ReadTrainedEncoderConfig(config));
  ASSIGN_OR_RETURN(const models::Tokenizer tokenizer, LoadTokenizer(config.model));
  const AlgorithmConfig& algorithm = config.algorithm;
  const int64_t parts = config.run.reduction == Reduction::kFast ? ranks * threads : config.run.logical_shards;
  ASSIGN_OR_RETURN(const ExpectedRows rows,
                   ExpectRows(config, algorithm, tokenizer, encoder.max_position_embeddings, ranks, parts));
  models::DecoderLayout layout = MakePolicyLayout(encoder, NeedsValues(algorithm));
  MemoryEstimate memory = EstimateEncoderMemory(config, encoder, layout, rows, ranks, threads);
  return RunCost{std::move(layout), std::move(memory), EstimateEncoderOperations(config, encoder, algorithm, rows),
                 absl::StrCat("a step of stage ", LastStage(config.memory), " with a policy that has learned nothing")};
}

}  // namespace reprise::rl
