#include "tests/tamper/streams.h"

#include <utility>

#include "core/status/check.h"
#include "rl/record/step_record.h"

namespace reprise::testing {

int ColumnIndex(const StreamTable& table, absl::string_view name) {
  const absl::StatusOr<int> column = FindColumn(table.schema(), name);
  CHECK(column.ok());
  return *column;
}

std::vector<int64_t> RowsOfStep(const StreamTable& table, int64_t step) {
  const int phase_column = ColumnIndex(table, "phase"), step_column = ColumnIndex(table, "step");
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < table.rows(); ++row) {
    const bool training = table.Row<uint8_t>(phase_column, row)[0] == static_cast<uint8_t>(rl::Phase::kTraining);
    if (training && table.Row<int64_t>(step_column, row)[0] == step) rows.push_back(row);
  }
  CHECK(!rows.empty());
  return rows;
}

void ReplaceRow(StreamTable& table, absl::string_view name, int64_t row, absl::Span<const std::byte> values) {
  const int replaced = ColumnIndex(table, name);
  const StreamTable before = table;
  table = StreamTable(before.schema());
  table.AppendRows(before, 0, row);
  for (int column = 0; column < static_cast<int>(before.schema().columns.size()); ++column) {
    StreamTable one(before.schema());
    one.AppendRows(before, row, row + 1);
    if (column != replaced) {
      table.AppendStored(column, one.ValueBytes(column), one.Offsets(column));
      continue;
    }
    const int64_t size = SizeOf(before.schema().columns[column].dtype);
    table.AppendStored(column, values, {0, static_cast<int64_t>(values.size()) / size});
  }
  table.AppendRows(before, row + 1, before.rows());
}

void KeepRows(StreamTable& table, const std::function<bool(int64_t row)>& keep) {
  StreamTable kept(table.schema());
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (keep(row)) kept.AppendRows(table, row, row + 1);
  }
  table = std::move(kept);
}

}  // namespace reprise::testing
