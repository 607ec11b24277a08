#ifndef DATA_TABLES_TABLE_H_
#define DATA_TABLES_TABLE_H_

// Rows of a record stream in memory, column by column. Appending is cheap (a bounds-checked copy), so that the training
// loop can record. Columns are identified by their index in the schema (FindColumn).
//
//   StreamTable table(schema);
//   table.AppendI64(0, prompt);
//   table.AppendRaggedI32(1, tokens);   // one Append to every column makes a row
//
// A wrong column, type or kind is a bug and fails a CHECK.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/digest/sha256.h"
#include "core/tensor/tensor.h"
#include "data/tables/schema.h"

namespace reprise {

class StreamTable {
 public:
  // The schema must pass CheckSchema.
  explicit StreamTable(StreamSchema schema);

  const StreamSchema& schema() const { return schema_; }
  // Returns the number of rows. All columns must agree: call it only between rows.
  int64_t rows() const;
  int64_t bytes() const;  // of values and offsets

  void AppendI64(int column, int64_t value) { Append<int64_t>(column, value); }
  void AppendI32(int column, int32_t value) { Append<int32_t>(column, value); }
  void AppendU8(int column, uint8_t value) { Append<uint8_t>(column, value); }
  void AppendF64(int column, double value) { Append<double>(column, value); }
  void AppendF32(int column, float value) { Append<float>(column, value); }
  void AppendRaggedI64(int column, absl::Span<const int64_t> row) { AppendRow(column, ColumnKind::kRagged, row); }
  void AppendRaggedI32(int column, absl::Span<const int32_t> row) { AppendRow(column, ColumnKind::kRagged, row); }
  void AppendRaggedF64(int column, absl::Span<const double> row) { AppendRow(column, ColumnKind::kRagged, row); }
  void AppendRaggedF32(int column, absl::Span<const float> row) { AppendRow(column, ColumnKind::kRagged, row); }
  void AppendString(int column, absl::string_view row);
  // Appends a row to a fixed column of any type, as bytes; the size must match that of a row.
  void AppendFixed(int column, absl::Span<const std::byte> row);
  void AppendDigest(int column, const Digest& digest) { AppendFixed(column, absl::MakeConstSpan(digest)); }
  // Appends rows [begin, end) of a table with an equal schema.
  void AppendRows(const StreamTable& other, int64_t begin, int64_t end);

  // Returns all values of a column, row after row. T is int64_t, int32_t, uint8_t, double, float, or uint16_t for the
  // bits of bf16 and f16. Valid until the next append.
  template <typename T>
  absl::Span<const T> Values(int column) const;
  // The same, for changing stored values in place; the number of values does not change.
  template <typename T>
  absl::Span<T> MutableValues(int column);
  // Returns the values of one row of a column of any kind.
  template <typename T>
  absl::Span<const T> Row(int column, int64_t row) const;
  absl::string_view String(int column, int64_t row) const;
  Digest DigestAt(int column, int64_t row) const;  // of a fixed column of 32 bytes
  // Returns the values of rows [begin, end) of a column of any kind, as bytes.
  absl::Span<const std::byte> RowSpan(int column, int64_t begin, int64_t end) const;

  // How a column is stored: values as bytes; for ragged columns and strings also rows + 1 offsets, counted in values,
  // the first one 0. Offsets are empty for the other kinds.
  absl::Span<const std::byte> ValueBytes(int column) const;
  absl::Span<const int64_t> Offsets(int column) const;
  // Appends rows in that form to one column; `offsets` has rows + 1 entries, and may start at any number.
  void AppendStored(int column, absl::Span<const std::byte> values, absl::Span<const int64_t> offsets);

 private:
  struct Column {
    std::vector<std::byte> values = {};
    std::vector<int64_t> offsets = {};  // empty, or rows + 1
  };

  template <typename T>
  void Append(int column, T value) {
    CheckColumn(column, ColumnKind::kScalar, sizeof(T), kCodeOf<T>);
    AppendBytes(column, &value, sizeof(T));
  }
  template <typename T>
  void AppendRow(int column, ColumnKind kind, absl::Span<const T> row) {
    CheckColumn(column, kind, sizeof(T), kCodeOf<T>);
    AppendBytes(column, row.data(), row.size() * sizeof(T));
    CloseRow(column);
  }

  // The class of element types that a C++ type may hold: 'i' integers, 'u' bytes, 'f' floats, 'h' 16-bit floats of
  // either kind.
  template <typename T>
  static constexpr char kCodeOf = '?';

  void CheckColumn(int column, ColumnKind kind, size_t size, char code) const;
  void CheckType(int column, size_t size, char code) const;
  void AppendBytes(int column, const void* bytes, size_t size);
  void CloseRow(int column);
  int64_t RowBytes(int column) const;  // of scalar and fixed columns
  int64_t RowsOf(int column) const;

  StreamSchema schema_;
  std::vector<Column> columns_;
};

template <>
inline constexpr char StreamTable::kCodeOf<int64_t> = 'i';
template <>
inline constexpr char StreamTable::kCodeOf<int32_t> = 'i';
template <>
inline constexpr char StreamTable::kCodeOf<uint8_t> = 'u';
template <>
inline constexpr char StreamTable::kCodeOf<uint16_t> = 'h';
template <>
inline constexpr char StreamTable::kCodeOf<double> = 'f';
template <>
inline constexpr char StreamTable::kCodeOf<float> = 'f';

template <typename T>
absl::Span<const T> StreamTable::Values(int column) const {
  CheckType(column, sizeof(T), kCodeOf<T>);
  const absl::Span<const std::byte> bytes = ValueBytes(column);
  return absl::MakeConstSpan(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}

template <typename T>
absl::Span<T> StreamTable::MutableValues(int column) {
  const absl::Span<const T> values = Values<T>(column);
  return absl::MakeSpan(const_cast<T*>(values.data()), values.size());
}

template <typename T>
absl::Span<const T> StreamTable::Row(int column, int64_t row) const {
  CheckType(column, sizeof(T), kCodeOf<T>);
  const absl::Span<const std::byte> bytes = RowSpan(column, row, row + 1);
  return absl::MakeConstSpan(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}

}  // namespace reprise

#endif  // DATA_TABLES_TABLE_H_
