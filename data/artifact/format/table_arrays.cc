#include "data/artifact/format/table_arrays.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::internal {
namespace {

absl::string_view TextOf(absl::Span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

absl::Status Unfit(const ArrayInfo& info, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("its ", info.path, " ", what));
}

int64_t IntegerAt(absl::string_view bytes, int64_t index) {
  int64_t value;
  std::memcpy(&value, bytes.data() + index * int64_t{sizeof(value)}, sizeof(value));
  return value;
}

// Returns the rows of a column that is stored without offsets.
absl::StatusOr<int64_t> RowsOfValues(const ArrayInfo& values, const ColumnSchema& column) {
  const size_t rank = column.kind == ColumnKind::kFixed ? 2 : 1;
  if (values.dtype != column.dtype) return Unfit(values, absl::StrCat("is not of ", NameOf(column.dtype)));
  if (values.shape.size() != rank || (rank == 2 && values.shape[1] != column.width)) {
    return Unfit(values, absl::StrCat("has the shape ", ToString(values.shape)));
  }
  return values.shape[0];
}

absl::StatusOr<int64_t> RowsOfOffsets(const ArrayView& offsets, int64_t values) {
  const ArrayInfo& info = offsets.info;
  if (info.dtype != DType::kI64 || info.shape.size() != 1 || info.shape[0] < 1) {
    return Unfit(info, "does not hold offsets");
  }
  const int64_t rows = info.shape[0] - 1;
  int64_t last = IntegerAt(offsets.bytes, 0);
  if (last != 0) return Unfit(info, "does not begin with 0");
  for (int64_t row = 1; row <= rows; ++row) {
    const int64_t offset = IntegerAt(offsets.bytes, row);
    if (offset < last) return Unfit(info, absl::StrCat("falls at row ", row));
    last = offset;
  }
  if (last != values) return Unfit(info, absl::StrCat("ends with ", last, ", but there are ", values, " values"));
  return rows;
}

}  // namespace

std::vector<ArraySource> SourcesOf(absl::string_view prefix, const StreamTable& table) {
  std::vector<ArraySource> sources;
  const int64_t rows = table.rows();
  for (size_t i = 0; i < table.schema().columns.size(); ++i) {
    const ColumnSchema& column = table.schema().columns[i];
    const absl::Span<const std::byte> bytes = table.ValueBytes(static_cast<int>(i));
    const absl::Span<const int64_t> offsets = table.Offsets(static_cast<int>(i));
    const std::string path = absl::StrCat(prefix, "/", column.name);
    Shape shape = {static_cast<int64_t>(bytes.size()) / SizeOf(column.dtype)};
    if (column.kind == ColumnKind::kFixed) shape = {rows, column.width};
    sources.push_back(SourceOf(ArrayInfo{path, column.dtype, std::move(shape)}, TextOf(bytes)));
    if (!offsets.empty()) sources.push_back(SourceOf(absl::StrCat(path, kOffsetsSuffix), offsets));
  }
  return sources;
}

ArraySource SourceOf(absl::string_view path, absl::Span<const int64_t> values) {
  const absl::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
  return SourceOf(ArrayInfo{std::string(path), DType::kI64, {static_cast<int64_t>(values.size())}}, bytes);
}

absl::StatusOr<StoredTable> StoredTable::Find(const Container& container, absl::string_view prefix,
                                              StreamSchema schema) {
  StoredTable table(std::move(schema));
  for (const ColumnSchema& column : table.schema_.columns) {
    const std::string path = absl::StrCat(prefix, "/", column.name);
    ASSIGN_OR_RETURN(const ArrayView* values, container.Find(path));
    ASSIGN_OR_RETURN(int64_t rows, RowsOfValues(values->info, column));
    Column found = {values->bytes, ""};
    if (HasOffsets(column.kind)) {
      ASSIGN_OR_RETURN(const ArrayView* offsets, container.Find(absl::StrCat(path, kOffsetsSuffix)));
      ASSIGN_OR_RETURN(rows, RowsOfOffsets(*offsets, rows));
      found.offsets = offsets->bytes;
    }
    if (!table.columns_.empty() && rows != table.rows_) {
      return Unfit(values->info, absl::StrCat("has ", rows, " rows; ", table.rows_, " were expected"));
    }
    table.rows_ = rows;
    table.columns_.push_back(found);
  }
  return table;
}

int64_t StoredTable::column_bytes(int column) const {
  const Column& stored = columns_[column];
  return static_cast<int64_t>(stored.values.size() + stored.offsets.size());
}

StreamTable StoredTable::Rows(int64_t begin, int64_t end) const {
  CHECK(0 <= begin && begin <= end && end <= rows_);
  StreamTable table(schema_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ColumnSchema& column = schema_.columns[i];
    std::vector<int64_t> offsets;
    int64_t first = begin * column.width, last = end * column.width;
    if (HasOffsets(column.kind)) {
      offsets = IntegersIn(columns_[i].offsets, begin, end + 1);
      first = offsets.front();
      last = offsets.back();
    }
    const int64_t size = SizeOf(column.dtype);
    const absl::string_view values =
        columns_[i].values.substr(static_cast<size_t>(first * size), static_cast<size_t>((last - first) * size));
    table.AppendStored(static_cast<int>(i), BytesOf(values), offsets);
  }
  return table;
}

std::vector<int64_t> IntegersIn(absl::string_view bytes, int64_t begin, int64_t end) {
  std::vector<int64_t> values(static_cast<size_t>(end - begin));
  if (!values.empty()) {
    std::memcpy(values.data(), bytes.data() + begin * int64_t{sizeof(int64_t)}, values.size() * sizeof(int64_t));
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> ReadIntegers(const Container& container, absl::string_view path) {
  ASSIGN_OR_RETURN(const ArrayView* array, container.Find(path));
  if (array->info.dtype != DType::kI64 || array->info.shape.size() != 1) return Unfit(array->info, "is not a list");
  return IntegersIn(array->bytes, 0, array->info.shape[0]);
}

}  // namespace reprise::internal
