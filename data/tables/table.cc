#include "data/tables/table.h"

#include <algorithm>
#include <utility>

#include "core/status/check.h"

namespace reprise {
namespace {

char CodeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
      return 'f';
    case DType::kBF16:
    case DType::kF16:
      return 'h';
    case DType::kI64:
    case DType::kI32:
      return 'i';
    case DType::kU8:
      return 'u';
  }
  return '?';
}

}  // namespace

StreamTable::StreamTable(StreamSchema schema) : schema_(std::move(schema)), columns_(schema_.columns.size()) {
  CHECK(CheckSchema(schema_).ok());
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (HasOffsets(schema_.columns[i].kind)) columns_[i].offsets.push_back(0);
  }
}

void StreamTable::CheckType(int column, size_t size, char code) const {
  CHECK_LT(static_cast<size_t>(column), columns_.size());
  const DType dtype = schema_.columns[column].dtype;
  CHECK(static_cast<size_t>(SizeOf(dtype)) == size && CodeOf(dtype) == code);
}

void StreamTable::CheckColumn(int column, ColumnKind kind, size_t size, char code) const {
  CheckType(column, size, code);
  CHECK(schema_.columns[column].kind == kind);
}

void StreamTable::AppendBytes(int column, const void* bytes, size_t size) {
  std::vector<std::byte>& values = columns_[column].values;
  const auto* begin = static_cast<const std::byte*>(bytes);
  values.insert(values.end(), begin, begin + size);
}

void StreamTable::CloseRow(int column) {
  const size_t i = static_cast<size_t>(column);
  const int64_t size = SizeOf(schema_.columns[i].dtype);
  columns_[i].offsets.push_back(static_cast<int64_t>(columns_[i].values.size()) / size);
}

void StreamTable::AppendString(int column, absl::string_view row) {
  CheckColumn(column, ColumnKind::kString, 1, 'u');
  AppendBytes(column, row.data(), row.size());
  CloseRow(column);
}

void StreamTable::AppendFixed(int column, absl::Span<const std::byte> row) {
  CHECK_LT(static_cast<size_t>(column), columns_.size());
  CHECK(schema_.columns[column].kind == ColumnKind::kFixed);
  CHECK_EQ(static_cast<int64_t>(row.size()), RowBytes(column));
  AppendBytes(column, row.data(), row.size());
}

void StreamTable::AppendRows(const StreamTable& other, int64_t begin, int64_t end) {
  CHECK(other.schema_ == schema_);
  CHECK(0 <= begin && begin <= end && end <= other.rows());
  for (int column = 0; column < static_cast<int>(columns_.size()); ++column) {
    absl::Span<const int64_t> offsets = other.Offsets(column);
    if (!offsets.empty()) offsets = offsets.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin + 1));
    AppendStored(column, other.RowSpan(column, begin, end), offsets);
  }
}

void StreamTable::AppendStored(int column, absl::Span<const std::byte> values, absl::Span<const int64_t> offsets) {
  std::vector<int64_t>& own = columns_[column].offsets;
  CHECK_EQ(own.empty(), offsets.empty());
  AppendBytes(column, values.data(), values.size());
  if (offsets.empty()) return;
  const int64_t shift = own.back() - offsets[0];
  own.reserve(own.size() + offsets.size());
  for (int64_t offset : offsets.subspan(1)) own.push_back(offset + shift);
  CHECK_EQ(own.back() * SizeOf(schema_.columns[column].dtype), static_cast<int64_t>(ValueBytes(column).size()));
}

int64_t StreamTable::RowBytes(int column) const {
  const ColumnSchema& schema = schema_.columns[column];
  return SizeOf(schema.dtype) * schema.width;
}

int64_t StreamTable::RowsOf(int column) const {
  const Column& data = columns_[column];
  if (!data.offsets.empty()) return static_cast<int64_t>(data.offsets.size()) - 1;
  return static_cast<int64_t>(data.values.size()) / RowBytes(column);
}

int64_t StreamTable::rows() const {
  const int64_t rows = RowsOf(0);
  for (int column = 1; column < static_cast<int>(columns_.size()); ++column) CHECK_EQ(RowsOf(column), rows);
  return rows;
}

int64_t StreamTable::bytes() const {
  size_t bytes = 0;
  for (const Column& column : columns_) bytes += column.values.size() + column.offsets.size() * sizeof(int64_t);
  return static_cast<int64_t>(bytes);
}

absl::Span<const std::byte> StreamTable::ValueBytes(int column) const {
  CHECK_LT(static_cast<size_t>(column), columns_.size());
  return absl::MakeConstSpan(columns_[column].values);
}

absl::Span<const int64_t> StreamTable::Offsets(int column) const {
  CHECK_LT(static_cast<size_t>(column), columns_.size());
  return absl::MakeConstSpan(columns_[column].offsets);
}

absl::Span<const std::byte> StreamTable::RowSpan(int column, int64_t begin, int64_t end) const {
  CHECK(0 <= begin && begin <= end && end <= RowsOf(column));
  const absl::Span<const int64_t> offsets = Offsets(column);
  int64_t first = begin * RowBytes(column), last = end * RowBytes(column);
  if (!offsets.empty()) {  // RowBytes is the size of one value here
    first = offsets[begin] * RowBytes(column);
    last = offsets[end] * RowBytes(column);
  }
  return ValueBytes(column).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
}

absl::string_view StreamTable::String(int column, int64_t row) const {
  const absl::Span<const uint8_t> bytes = Row<uint8_t>(column, row);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Digest StreamTable::DigestAt(int column, int64_t row) const {
  const absl::Span<const std::byte> bytes = RowSpan(column, row, row + 1);
  Digest digest;
  CHECK_EQ(bytes.size(), digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

}  // namespace reprise
