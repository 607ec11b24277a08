#include "rl/record/record_schema.h"

#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

constexpr absl::string_view kRouting = "routing", kMetrics = "metrics", kDigests = "digests";

// Stored in artifacts: do not change the values.
enum DigestKind : uint8_t { kGradient = 0, kWeights = 1 };

Comparison MakeDigestComparison(absl::string_view stage, DigestKind kind) {
  return {.stage = std::string(stage),
          .stream = std::string(kDigests),
          .key = {"kind", "tensor"},
          .columns = {{"sha256", ""}},
          .rows = "tensors",
          .digest_kind = kind};
}

absl::Status CheckRows(const StreamTable& table, const StepTables& step) {
  const absl::Span<const uint8_t> phases = table.Values<uint8_t>(kPhase);
  const absl::Span<const int64_t> steps = table.Values<int64_t>(kStep);
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i] == static_cast<uint8_t>(step.phase) && steps[i] == step.step) continue;
    return RowReader(&table, static_cast<int64_t>(i))
        .Broken(absl::StrCat("it belongs to another step: its phase is ", phases[i], ", its step ", steps[i]));
  }
  return absl::OkStatus();
}

// A row for each layer has as many counts as the first one; after them, one row may have fewer.
absl::Status CheckRouting(const StreamTable& table) {
  size_t per_layer = 0, size = 0;
  int32_t layers = 0;
  for (RowReader row(&table); row.has_row(); row.Next()) {
    int32_t layer = 0;
    std::vector<int64_t> count_E;
    row.Columns(layer, count_E);
    if (layer != layers) return row.Broken("its layer is out of order");
    if (count_E.empty() || (layers > 0 && (size != per_layer || count_E.size() > per_layer))) {
      return row.Broken("its number of counts differs from that of the first layer");
    }
    size = count_E.size();
    if (layers++ == 0) per_layer = size;
  }
  return absl::OkStatus();
}

absl::Status CheckDigests(const StreamTable& table) {
  int32_t gradients = 0, weights = 0;
  for (RowReader row(&table); row.has_row(); row.Next()) {
    DigestKind kind = kGradient;
    int32_t tensor = 0;
    row.Columns(kind, tensor);
    if (kind > kWeights) return row.Broken("its kind is neither a gradient (0) nor weights (1)");
    if (kind == kGradient && weights > 0) return row.Broken("a gradient follows weights");
    if (tensor != (kind == kGradient ? gradients : weights)++) return row.Broken("its tensor is out of order");
  }
  return absl::OkStatus();
}

}  // namespace

StreamSchema RecordStream(absl::string_view name, std::vector<ColumnSchema> own) {
  StreamSchema schema;
  schema.name = std::string(name);
  schema.columns = {ScalarColumn("phase", DType::kU8), ScalarColumn("step", DType::kI64)};
  for (ColumnSchema& column : own) schema.columns.push_back(std::move(column));
  return schema;
}

std::vector<StreamTable> EmptyTables(const std::vector<StreamSchema>& streams) {
  return std::vector<StreamTable>(streams.begin(), streams.end());
}

std::vector<StreamSchema> ResultStreams(bool has_counts) {
  std::vector<StreamSchema> streams;
  if (has_counts) {
    streams.push_back(
        RecordStream(kRouting, {ScalarColumn("layer", DType::kI32), RaggedColumn("expert_counts", DType::kI64)}));
  }
  streams.push_back(RecordStream(kMetrics, {StringColumn("name"), ScalarColumn("value", DType::kF64)}));
  streams.push_back(RecordStream(kDigests, {ScalarColumn("kind", DType::kU8), ScalarColumn("tensor", DType::kI32),
                                            FixedColumn("sha256", DType::kU8, 32)}));
  return streams;
}

std::vector<StreamTable> ResultTables(const StepResults& results, bool has_counts) {
  std::vector<StreamTable> tables = EmptyTables(ResultStreams(has_counts));
  const auto append = [&](StreamTable& table, const auto&... values) {
    RowWriter(results.phase, results.step, table).Columns(values...);
  };
  StreamTable &metrics = tables[tables.size() - 2], &digests = tables.back();
  const absl::Span<const int64_t> counts = has_counts ? results.count_C : absl::Span<const int64_t>();
  const size_t per_layer = static_cast<size_t>(results.counts_per_layer);
  CHECK(counts.empty() || per_layer > 0);
  for (size_t begin = 0; begin < counts.size(); begin += per_layer) {
    append(tables.front(), static_cast<int32_t>(begin / per_layer), counts.subspan(begin, per_layer));
  }
  for (const auto& [name, value] : results.metrics) append(metrics, name, value);
  int32_t gradients = 0, weights = 0;
  for (const Digest& digest : results.gradient_digests) append(digests, kGradient, gradients++, digest);
  for (const Digest& digest : results.weight_digests) append(digests, kWeights, weights++, digest);
  return tables;
}

StepResults ReadResults(const StepTables& step) {
  StepResults results;
  results.phase = step.phase;
  results.step = step.step;
  for (RowReader routing(step.Find(kRouting)); routing.has_row(); routing.Next()) {
    int32_t layer = 0;
    std::vector<int64_t> count_E;
    routing.Columns(layer, count_E);
    if (layer == 0) results.counts_per_layer = static_cast<int64_t>(count_E.size());
    results.count_C.insert(results.count_C.end(), count_E.begin(), count_E.end());
  }
  for (RowReader row(step.Find(kMetrics)); row.has_row(); row.Next()) {
    auto& [name, value] = results.metrics.emplace_back();
    row.Columns(name, value);
  }
  for (RowReader row(step.Find(kDigests)); row.has_row(); row.Next()) {
    DigestKind kind = kGradient;
    int32_t tensor = 0;
    Digest digest;
    row.Columns(kind, tensor, digest);
    (kind == kGradient ? results.gradient_digests : results.weight_digests).push_back(digest);
  }
  return results;
}

double GetMetric(const StepResults& results, absl::string_view name) {
  for (const auto& [key, value] : results.metrics) {
    if (key == name) return value;
  }
  return 0;
}

double GetMetric(const StepTables& step, absl::string_view name) { return GetMetric(ReadResults(step), name); }

StepTables WithoutDigests(StepTables step) {
  for (StreamTable& table : step.tables) {
    if (table.schema().name == kDigests) table = StreamTable(table.schema());
  }
  return step;
}

Comparison CompareRouting() {
  return {.stage = "routing",
          .stream = std::string(kRouting),
          .key = {"layer"},
          .columns = {{"expert_counts", "", "expert"}}};
}

std::vector<Comparison> CompareDigests() {
  return {MakeDigestComparison("gradient", kGradient), MakeDigestComparison("weights", kWeights)};
}

Comparison CompareMetrics() {
  return {.stage = "metrics",
          .stream = std::string(kMetrics),
          .key = {"name"},
          .columns = {{"value", ""}},
          .row_name = [](const StreamTable& table, int64_t row) { return std::string(table.String(kFirstOwn, row)); }};
}

absl::Status CheckTables(const RecordSchema& schema, const StepTables& step) {
  for (const StreamTable& table : step.tables) RETURN_IF_ERROR(CheckRows(table, step));
  const StreamTable* const routing = step.Find(kRouting);
  if (routing != nullptr) RETURN_IF_ERROR(CheckRouting(*routing));
  RETURN_IF_ERROR(CheckDigests(*step.Find(kDigests)));
  return schema.check ? schema.check(step) : absl::OkStatus();
}

}  // namespace reprise::rl
