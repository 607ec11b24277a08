#include "pipelines/estimate/cost_estimate.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pipelines/estimate/memory_estimate.h"
#include "pipelines/estimate/traffic_estimate.h"

namespace reprise {
namespace {

// Operations of a layer's products for one row: queries, keys and values, output, router, and the row's experts.
double OperationsOfLayer(const models::DecoderConfig& c) {
  const double d = static_cast<double>(c.hidden_size), keys = static_cast<double>(c.key_value_width());
  const double experts = static_cast<double>(c.num_experts_per_tok * c.intermediate_size);
  return 2 * d * (d + 2 * keys + d + static_cast<double>(c.num_experts) + 3 * experts);
}

// The messages of a step, by kind. The bytes of the small ones depend on the samples and are not estimated.
std::string TrafficTable(const rl::Config& config, const rl::Choices& choices, const models::DecoderConfig& decoder,
                         int64_t ranks) {
  const ExchangeTraffic exchange = EstimateExchange(config, decoder, ranks);
  const CollectiveCalls calls = CollectivesOfStep(config, choices);
  const int64_t updates = UpdatesOfStep(choices);
  std::string table = "messages between ranks, sent by all of them together:\n";
  const auto line = [&](absl::string_view what, double messages, absl::string_view bytes) {
    absl::StrAppendFormat(&table, "  %-36s %18.0f %12s\n", what, messages, bytes);
  };
  const auto exchanged = [&](absl::string_view what, const SentByAll& sent) {
    line(what, sent.messages, FormatBytes(static_cast<int64_t>(sent.bytes)));
  };
  exchanged(exchange.buckets == 0 ? "an update's sums, by MPI_Allreduce"
                                  : absl::StrCat("an update's sums, in ", exchange.buckets, " buckets"),
            exchange.sums);
  exchanged("an update's weights", exchange.weights);
  line(absl::StrCat("a step's ", calls.total(), " small collectives"), calls.messages(ranks), "");
  line(absl::StrCat("a step of ", updates, updates == 1 ? " update" : " updates"),
       static_cast<double>(updates) * exchange.update().messages + calls.messages(ranks), "");
  exchanged("optimizer state, where it is written", exchange.state);
  return table;
}

}  // namespace

StepOperations EstimateOperations(const models::DecoderConfig& decoder, const StepShape& shape, int64_t updates,
                                  bool recompute) {
  const double layers = static_cast<double>(decoder.num_hidden_layers), layer = OperationsOfLayer(decoder);
  const double head = 2.0 * static_cast<double>(decoder.hidden_size * decoder.vocab_size);
  // A completion's last token is not a row, because it predicts nothing. Its first token is predicted by the prompt's
  // last row.
  const double later = shape.prompts * shape.generations * (shape.completion_tokens - 1);
  const double rows = shape.prompts * shape.prompt_tokens + later, scored = shape.prompts + later;
  const double times = static_cast<double>(updates);
  StepOperations operations;
  operations.sampling = rows * layers * layer + scored * head;
  operations.forward = times * (rows * layers * layer + scored * head);
  // Gradients of inputs and of weights; the head recomputes its logits.
  operations.backward = times * (rows * (2 * layers + (recompute ? layers - 1 : 0)) * layer + 3 * scored * head);
  return operations;
}

std::string CostTable(const rl::Config& config, const rl::Choices& choices, const models::DecoderConfig& decoder,
                      int64_t ranks, const StepShape& shape) {
  const StepOperations work = EstimateOperations(decoder, shape, choices.algorithm.update.num_iterations,
                                                 config.execution.activation_checkpointing);
  std::string table = "work of a step with completions of full length, all ranks together:\n";
  const auto line = [&](absl::string_view what, double operations) {
    absl::StrAppendFormat(&table, "  %-26s %28.3f GFLOP\n", what, operations / 1e9);
  };
  line("sampling", work.sampling);
  line("forward", work.forward);
  line("backward", work.backward);
  if (ranks > 1) absl::StrAppend(&table, TrafficTable(config, choices, decoder, ranks));
  return table;
}

}  // namespace reprise
