#include "rl/workloads/completions/kind/completions_cost.h"

#include "core/status/status_macros.h"
#include "models/decoder/parameters.h"
#include "rl/config/workload_traits.h"
#include "rl/workloads/completions/data_file.h"
#include "rl/workloads/completions/kind/decoder_cost.h"
#include "rl/workloads/completions/kind/longest_texts.h"
#include "rl/workloads/completions/kind/memory_estimate.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise::rl {

StepOperations EstimateOperations(const models::DecoderConfig& decoder, const SequenceShape& shape, double passes,
                                  bool recompute) {
  const double layers = static_cast<double>(decoder.num_hidden_layers), layer = OperationsOfLayer(decoder);
  const double head = 2.0 * static_cast<double>(decoder.hidden_size * decoder.vocab_size);
  // A completion's last token is not a row, because it predicts nothing. Its first token is predicted by the prompt's
  // last row.
  const double later = shape.prompts * shape.generations * (shape.completion_tokens - 1);
  const double rows = shape.prompts * shape.prompt_tokens + later, scored = shape.prompts + later;
  StepOperations operations;
  operations.sampling = rows * layers * layer + scored * head;
  operations.forward = passes * (rows * layers * layer + scored * head);
  // Of frozen weights there is no gradient; the head recomputes its logits.
  const double head_passes = decoder.lora.is_on() ? 2 : 3;
  operations.backward =
      passes * (rows * (layers * BackwardOperationsOfLayer(decoder) + (recompute ? layers - 1 : 0) * layer) +
                head_passes * scored * head);
  return operations;
}

double PassesOfStep(const Config& config, int64_t num_iterations) {
  const double iterations = static_cast<double>(num_iterations);
  if (config.algorithm.update.unit != MinibatchUnit::kDecision) return iterations;
  const double minibatches = static_cast<double>(MinibatchesOfIteration(config));
  double without = 1;  // the chance that a minibatch has none of a completion's tokens
  for (int64_t t = 0; t < config.rollout.max_completion_length; ++t) without *= 1 - 1 / minibatches;
  return iterations * minibatches * (1 - without);
}

absl::StatusOr<RunCost> EstimateCompletions(const Config& config, int64_t ranks, int64_t threads) {
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadTrainedDecoderConfig(config));
  ASSIGN_OR_RETURN(const models::Tokenizer tokenizer, LoadTokenizer(config.model));
  ASSIGN_OR_RETURN(const DataFile data, ReadDataFile(config, tokenizer));
  ASSIGN_OR_RETURN(const LongestTexts longest,
                   FindLongestTexts(config, data.problems, tokenizer, decoder.max_position_embeddings));
  const AlgorithmConfig& algorithm = config.algorithm;
  const SequenceShape shape = {.prompts = static_cast<double>(config.rollout.prompts_per_step),
                               .generations = static_cast<double>(config.rollout.num_generations),
                               .prompt_tokens = static_cast<double>(longest.prompt),
                               .completion_tokens = static_cast<double>(config.rollout.max_completion_length)};
  return RunCost{models::MakeDecoderLayout(decoder), EstimateMemory(config, decoder, ranks, threads, longest),
                 EstimateOperations(decoder, shape, PassesOfStep(config, algorithm.update.num_iterations),
                                    config.execution.activation_checkpointing),
                 "a step with completions of full length"};
}

}  // namespace reprise::rl
