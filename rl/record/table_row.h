#ifndef RL_RECORD_TABLE_ROW_H_
#define RL_RECORD_TABLE_ROW_H_

// Writes and reads the rows of a record's tables. Columns passes over the values of a row in the order of the schema,
// so that a function template which calls it for either says once which column holds which field:
//
//   void TaskColumns(auto&& row, auto& task) { row.Columns(task.prompt, task.text); }
//
//   TaskColumns(RowWriter(step.phase, step.step, table), task);
//
//   for (RowReader row(&table); row.has_row(); row.Next()) TaskColumns(row, tasks.emplace_back());
//
// Flags and enumerations are columns of type u8. A value of another type than its column's fails a CHECK.

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/tables/table.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Every stream's first columns.
enum CommonColumn { kPhase, kStep, kFirstOwn };

template <typename T>
concept StoredAsU8 = std::is_same_v<T, bool> || std::is_same_v<T, uint8_t> || std::is_enum_v<T>;

// Appends one row, which begins with the step that it belongs to.
class RowWriter {
 public:
  RowWriter(Phase phase, int64_t step, StreamTable& table) : table_(table) { Columns(phase, step); }

  template <typename... T>
  void Columns(const T&... values) {
    (Append(values), ...);
  }

 private:
  template <StoredAsU8 T>
  void Append(T value) {
    table_.AppendU8(column_++, static_cast<uint8_t>(value));
  }
  void Append(int64_t value) { table_.AppendI64(column_++, value); }
  void Append(int32_t value) { table_.AppendI32(column_++, value); }
  void Append(double value) { table_.AppendF64(column_++, value); }
  void Append(absl::string_view value) { table_.AppendString(column_++, value); }
  void Append(const Digest& value) { table_.AppendDigest(column_++, value); }
  void Append(absl::Span<const int64_t> values) { table_.AppendRaggedI64(column_++, values); }
  void Append(absl::Span<const int32_t> values) { table_.AppendRaggedI32(column_++, values); }
  void Append(absl::Span<const double> values) { table_.AppendRaggedF64(column_++, values); }
  void Append(absl::Span<const float> values) { table_.AppendRaggedF32(column_++, values); }

  StreamTable& table_;
  int column_ = 0;
};

// Reads a table row by row. A null table has no rows.
class RowReader {
 public:
  // `row`: the first one to read.
  explicit RowReader(const StreamTable* table, int64_t row = 0)
      : table_(table), rows_(table == nullptr ? 0 : table->rows()), row_(row) {}

  bool has_row() const { return row_ < rows_; }
  void Next() { ++row_, column_ = kFirstOwn; }

  // Reads the next columns of the row, after phase and step.
  template <typename... T>
  void Columns(T&... values) {
    (Read(values), ...);
  }

  // DataLoss if a flag that was read so far is neither 0 nor 1.
  const absl::Status& status() const { return status_; }

  // Returns one of the columns after phase and step.
  template <typename T>
  T Peek(int index) const {
    return table_->Row<T>(kFirstOwn + index, row_)[0];
  }

  // DataLoss: "stream turns, row 3: " and what is wrong with the row.
  absl::Status Broken(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat("stream ", table_->schema().name, ", row ", row_, ": ", what));
  }

 private:
  template <typename T>
  void Read(T& value) {
    value = table_->Row<T>(column_++, row_)[0];
  }
  template <StoredAsU8 T>
  void Read(T& value) {
    const uint8_t stored = table_->Row<uint8_t>(column_, row_)[0];
    if constexpr (std::is_same_v<T, bool>) {
      const std::string& name = table_->schema().columns[column_].name;
      if (stored > 1 && status_.ok()) status_ = Broken(absl::StrCat("its ", name, " is neither 0 nor 1"));
    }
    value = static_cast<T>(stored);
    ++column_;
  }
  template <typename T>
  void Read(std::vector<T>& values) {
    const absl::Span<const T> row = table_->Row<T>(column_++, row_);
    values.assign(row.begin(), row.end());
  }
  void Read(std::string& value) { value = std::string(table_->String(column_++, row_)); }
  void Read(Digest& value) { value = table_->DigestAt(column_++, row_); }

  const StreamTable* const table_;
  const int64_t rows_;
  int64_t row_;
  int column_ = kFirstOwn;
  absl::Status status_;
};

}  // namespace reprise::rl

#endif  // RL_RECORD_TABLE_ROW_H_
