#include "pipelines/stored/describe_tables.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "nlohmann/json.hpp"
#include "pipelines/stored/phase_name.h"

namespace reprise {
namespace {

constexpr int64_t kShownRows = 8;
constexpr size_t kShownValues = 8;
constexpr size_t kFirstOwn = 2;  // the columns before it are phase and step

template <typename T>
nlohmann::ordered_json Values(const StreamTable& table, int column, int64_t row, bool is_list) {
  const absl::Span<const T> values = table.Row<T>(column, row);
  if (!is_list) return values[0];
  return std::vector<T>(values.begin(), values.end());
}

nlohmann::ordered_json DescribeValue(const StreamTable& table, int column, int64_t row) {
  const ColumnSchema& schema = table.schema().columns[column];
  const bool is_list = schema.kind != ColumnKind::kScalar;
  if (schema.kind == ColumnKind::kString) return std::string(table.String(column, row));
  if (schema.kind == ColumnKind::kFixed) return ToHex(table.DigestAt(column, row));
  switch (schema.dtype) {
    case DType::kI64:
      return Values<int64_t>(table, column, row, is_list);
    case DType::kI32:
      return Values<int32_t>(table, column, row, is_list);
    case DType::kF64:
      return Values<double>(table, column, row, is_list);
    case DType::kF32:
      return Values<float>(table, column, row, is_list);
    default:
      return Values<uint8_t>(table, column, row, is_list);
  }
}

nlohmann::ordered_json DescribeRow(const StreamTable& table, int64_t row) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (size_t column = kFirstOwn; column < table.schema().columns.size(); ++column) {
    object[table.schema().columns[column].name] = DescribeValue(table, static_cast<int>(column), row);
  }
  return object;
}

// Returns the value with six significant digits, or the first values of a list.
std::string FormatValue(const nlohmann::ordered_json& value) {
  if (value.is_number_float()) return absl::StrCat(value.get<double>());
  if (!value.is_array()) return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  for (size_t i = 0; i < std::min(value.size(), kShownValues); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", FormatValue(value[i]));
  }
  return absl::StrCat("[", text, value.size() > kShownValues ? absl::StrCat(" ... ", value.size(), " values") : "",
                      "]");
}

}  // namespace

std::string DescribeTables(const rl::StepTables& step) {
  std::string text = absl::StrCat(PhaseTitle(step.phase), " step ", step.step, "\n");
  for (const StreamTable& table : step.tables) {
    const bool is_metrics = table.schema().name == "metrics";
    const int64_t shown = is_metrics ? table.rows() : std::min(kShownRows, table.rows());
    absl::StrAppend(&text, "\n", table.schema().name, ": ", table.rows(), " rows\n");
    for (int64_t row = 0; row < shown; ++row) {
      const nlohmann::ordered_json object = DescribeRow(table, row);
      for (const auto& [name, value] : object.items()) absl::StrAppend(&text, "  ", name, " ", FormatValue(value));
      absl::StrAppend(&text, "\n");
    }
    if (shown < table.rows()) absl::StrAppend(&text, "  ...\n");
  }
  return text;
}

nlohmann::ordered_json TablesJson(const rl::StepTables& step) {
  nlohmann::ordered_json json = {{"event", "step"}, {"phase", PhaseName(step.phase)}, {"step", step.step}};
  for (const StreamTable& table : step.tables) {
    nlohmann::ordered_json& rows = json[table.schema().name] = nlohmann::ordered_json::array();
    for (int64_t row = 0; row < table.rows(); ++row) rows.push_back(DescribeRow(table, row));
  }
  return json;
}

}  // namespace reprise
