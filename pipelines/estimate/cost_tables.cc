#include "pipelines/estimate/cost_tables.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pipelines/estimate/traffic_estimate.h"

namespace reprise {
namespace {

// The messages of a step, by kind. The bytes of the small ones depend on the samples and are not estimated.
std::string TrafficTable(const rl::Config& config, const rl::Choices& choices, const FlatLayout& layout,
                         int64_t ranks) {
  const ExchangeTraffic exchange = EstimateExchange(config, layout, ranks);
  const CollectiveCalls calls = CollectivesOfStep(config, choices);
  const int64_t updates = UpdatesOfStep(config, choices);
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

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 || value >= 99.5 ? absl::StrFormat("%.0f %s", value, kUnits[unit])
                                    : absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string MemoryTable(const rl::MemoryEstimate& estimate) {
  const bool is_whole = estimate.not_predicted.empty();
  std::string table = is_whole ? "memory of a rank, at most:\n" : "memory of a rank, as far as it can be predicted:\n";
  for (const rl::MemoryItem& item : estimate.items) {
    absl::StrAppendFormat(&table, "  %-30s %-15s %12s\n", item.what, item.formula, FormatBytes(item.bytes));
  }
  absl::StrAppendFormat(&table, "  %-30s %-15s %12s\n", is_whole ? "total" : "total of these", "",
                        FormatBytes(estimate.total_bytes()));
  if (!is_whole) absl::StrAppend(&table, "  not predicted, on top: ", estimate.not_predicted, "\n");
  absl::StrAppend(&table, "where, in floats of 4 bytes:\n");
  for (const rl::MemorySymbol& symbol : estimate.symbols) {
    absl::StrAppendFormat(&table, "  %s = %d  %s\n", symbol.letter, symbol.value, symbol.meaning);
  }
  return table;
}

std::string CostTable(const rl::Config& config, const rl::Choices& choices, const rl::RunCost& cost, int64_t ranks) {
  std::string table = absl::StrCat("work of ", cost.step, ", all ranks together:\n");
  const auto line = [&](absl::string_view what, double operations) {
    absl::StrAppendFormat(&table, "  %-26s %28.3f GFLOP\n", what, operations / 1e9);
  };
  line("sampling", cost.operations.sampling);
  line("forward", cost.operations.forward);
  line("backward", cost.operations.backward);
  if (ranks > 1) absl::StrAppend(&table, TrafficTable(config, choices, cost.layout, ranks));
  return table;
}

}  // namespace reprise
