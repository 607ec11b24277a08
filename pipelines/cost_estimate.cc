#include "pipelines/cost_estimate.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/comm/exchange_plan.h"
#include "core/comm/ownership.h"
#include "core/comm/shard_map.h"
#include "core/status/check.h"
#include "models/decoder/parameters.h"
#include "pipelines/memory_estimate.h"
#include "rl/learner/gradient_exchange.h"
#include "rl/learner/parameter_units.h"

namespace reprise {
namespace {

// Operations of a layer's products for one row: queries, keys and values, output, router, and the experts it visits.
double OperationsOfLayer(const models::DecoderConfig& c) {
  const double d = static_cast<double>(c.hidden_size), keys = static_cast<double>(c.key_value_width());
  const double experts = static_cast<double>(c.num_experts_per_tok * c.intermediate_size);
  return 2 * d * (d + 2 * keys + d + static_cast<double>(c.num_experts) + 3 * experts);
}

}  // namespace

StepOperations EstimateOperations(const models::DecoderConfig& decoder, const StepShape& shape, int64_t updates,
                                  bool recompute) {
  const double layers = static_cast<double>(decoder.num_hidden_layers), layer = OperationsOfLayer(decoder);
  const double head = 2.0 * static_cast<double>(decoder.hidden_size * decoder.vocab_size);
  // A completion's last token is no row: nothing follows it. Its first is predicted by the prompt's last row.
  const double later = shape.prompts * shape.generations * (shape.completion_tokens - 1);
  const double rows = shape.prompts * shape.prompt_tokens + later, scored = shape.prompts + later;
  const double times = static_cast<double>(updates);
  StepOperations operations;
  operations.sampling = rows * layers * layer + scored * head;
  operations.forward = times * (rows * layers * layer + scored * head);
  // Gradients of inputs and of weights; the head computes its logits again.
  operations.backward = times * (rows * (2 * layers + (recompute ? layers - 1 : 0)) * layer + 3 * scored * head);
  return operations;
}

ExchangeTraffic EstimateTraffic(const rl::Config& config, const models::DecoderConfig& decoder, int64_t ranks) {
  ExchangeTraffic traffic;
  if (ranks == 1) return traffic;
  const absl::StatusOr<ShardMap> shards =
      ShardMap::Create(static_cast<int>(config.run.logical_shards), static_cast<int>(ranks));
  CHECK(shards.ok());
  const std::vector<rl::ParameterUnit> units = rl::MakeParameterUnits(models::MakeParameterLayout(decoder));
  const Ownership ownership = Ownership::Deal(rl::UnitExtents(units), static_cast<int>(ranks));
  for (const ExchangeBucket& bucket : rl::BackwardBuckets(units, ownership, config.execution.exchange_floats)) {
    double owners = 0;
    for (int64_t floats : bucket.floats) owners += floats > 0 ? 1 : 0;
    // Sums: from every rank to every other owner, once for each of its subtrees; weights: from every owner to all.
    traffic.messages += 2 * owners * static_cast<double>(ranks - 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const double others = static_cast<double>(bucket.total - bucket.floats[static_cast<size_t>(rank)]);
      traffic.bytes += 4 * others * static_cast<double>(shards->SubtreesOf(rank).size() + 1);
    }
  }
  return traffic;
}

std::string CostTable(const rl::Config& config, const models::DecoderConfig& decoder, int64_t ranks,
                      const StepShape& shape) {
  const StepOperations work =
      EstimateOperations(decoder, shape, config.algorithm.num_iterations, config.execution.activation_checkpointing);
  const ExchangeTraffic traffic = EstimateTraffic(config, decoder, ranks);
  std::string table = "work of a step with completions of full length, all ranks together:\n";
  const auto line = [&](absl::string_view what, double operations) {
    absl::StrAppendFormat(&table, "  %-26s %28.3f GFLOP\n", what, operations / 1e9);
  };
  line("sampling", work.sampling);
  line("forward", work.forward);
  line("backward", work.backward);
  if (ranks > 1) {
    absl::StrAppendFormat(&table, "  %-26s %15.0f messages %9s\n", "each update's exchange", traffic.messages,
                          FormatBytes(static_cast<int64_t>(traffic.bytes)));
  }
  return table;
}

}  // namespace reprise
