#include "rl/record/divergence.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/check.h"
#include "core/status/printable.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

using Bytes = absl::Span<const std::byte>;

template <typename T>
T As(Bytes bytes) {
  T value;
  CHECK_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::string NumberText(DType dtype, Bytes value) {
  switch (dtype) {
    case DType::kF64:
      return absl::StrFormat("%a (%.17g)", As<double>(value), As<double>(value));
    case DType::kF32:
      return absl::StrFormat("%a (%.9g)", As<float>(value), As<float>(value));
    case DType::kI64:
      return absl::StrCat(As<int64_t>(value));
    case DType::kI32:
      return absl::StrCat(As<int32_t>(value));
    case DType::kU8:
      return absl::StrCat(As<uint8_t>(value));
    case DType::kBF16:
    case DType::kF16:
      return absl::StrFormat("%#06x", As<uint16_t>(value));
  }
  return "";
}

bool IsDigest(const ColumnSchema& column) {
  return column.kind == ColumnKind::kFixed && column.dtype == DType::kU8 && column.width == int64_t{sizeof(Digest)};
}

// Returns one of a row's values; a string or a digest is one value.
std::string ValueText(const ColumnSchema& column, Bytes value) {
  const absl::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  if (column.kind == ColumnKind::kString) return absl::StrCat("\"", absl::CEscape(text), "\"");
  return IsDigest(column) ? absl::StrCat("sha256:", absl::BytesToHexString(text)) : NumberText(column.dtype, value);
}

int ColumnIndex(const StreamTable* table, absl::string_view name) {
  const absl::StatusOr<int> column = table == nullptr ? -1 : FindColumn(table->schema(), name);
  return column.ok() ? *column : -1;
}

// The rows of one side that a comparison is about.
class Side {
 public:
  Side(const Comparison& compared, const StepTables& step) : compared_(compared), table_(step.Find(compared.stream)) {
    const int64_t rows = table_ == nullptr ? 0 : table_->rows();
    for (int64_t row = 0; row < rows; ++row) {
      if (!compared.digest_kind || table_->Row<uint8_t>(kFirstOwn, row)[0] == *compared.digest_kind) {
        rows_.push_back(row);
      }
    }
    for (const std::string& name : compared.key) keys_.push_back(ColumnIndex(table_, name));
    for (const ComparedColumn& column : compared.columns) columns_.push_back(ColumnIndex(table_, column.column));
  }

  size_t rows() const { return rows_.size(); }
  Bytes Key(size_t place, size_t key) const { return Values(place, keys_[key]); }
  Bytes Column(size_t place, size_t column) const { return Values(place, columns_[column]); }
  // Null where the stream lacks the column.
  const ColumnSchema* Schema(size_t column) const {
    return columns_[column] < 0 ? nullptr : &table_->schema().columns[columns_[column]];
  }

  std::string Name(size_t place, const std::vector<std::string>& tensor_names) const {
    if (compared_.digest_kind && place < tensor_names.size()) return tensor_names[place];
    if (compared_.digest_kind) return absl::StrCat("tensor ", place);
    if (compared_.row_name) return compared_.row_name(*table_, rows_[place]);
    std::string name;
    for (size_t key = 0; key < keys_.size(); ++key) {
      const ColumnSchema& column = table_->schema().columns[keys_[key]];
      absl::StrAppend(&name, name.empty() ? "" : " ", column.name, " ", ValueText(column, Key(place, key)));
    }
    return name;
  }

 private:
  Bytes Values(size_t place, int column) const {
    return column < 0 ? Bytes() : table_->RowSpan(column, rows_[place], rows_[place] + 1);
  }

  const Comparison& compared_;
  const StreamTable* const table_;
  std::vector<int64_t> rows_;
  std::vector<int> keys_, columns_;
};

// What differs, and both values.
struct Difference {
  std::string tensor, expected, actual;
};

// Returns the first difference between the values of one column of a row, which are not all equal.
Difference DifferenceOfValues(const ComparedColumn& compared, const ColumnSchema& column, const std::string& name,
                              Bytes stored, Bytes computed) {
  const std::string place = compared.label.empty() ? name : absl::StrCat(name, " ", compared.label);
  const bool is_one = column.kind == ColumnKind::kScalar || column.kind == ColumnKind::kString || IsDigest(column);
  if (is_one && !stored.empty() && !computed.empty()) {
    return {place, ValueText(column, stored), ValueText(column, computed)};
  }
  const size_t size = static_cast<size_t>(SizeOf(column.dtype));
  for (size_t at = 0; at < std::min(stored.size(), computed.size()); at += size) {
    const Bytes a = stored.subspan(at, size), b = computed.subspan(at, size);
    if (a == b) continue;
    return {absl::StrCat(place, " ", compared.element, " ", at / size), ValueText(column, a), ValueText(column, b)};
  }
  return {absl::StrCat(place, " number of ", compared.element, "s"), absl::StrCat(stored.size() / size),
          absl::StrCat(computed.size() / size)};
}

std::optional<Difference> DifferenceOfRows(const Comparison& compared, const Side& stored, const Side& computed,
                                           const std::vector<std::string>& tensor_names) {
  for (size_t i = 0; i < std::min(stored.rows(), computed.rows()); ++i) {
    for (size_t key = 0; key < compared.key.size(); ++key) {
      if (stored.Key(i, key) == computed.Key(i, key)) continue;
      return Difference{absl::StrCat("row ", i, " of ", compared.rows), stored.Name(i, tensor_names),
                        computed.Name(i, tensor_names)};
    }
    for (size_t column = 0; column < compared.columns.size(); ++column) {
      const Bytes a = stored.Column(i, column), b = computed.Column(i, column);
      if (a == b) continue;
      const ColumnSchema* const schema = stored.Schema(column) ? stored.Schema(column) : computed.Schema(column);
      return DifferenceOfValues(compared.columns[column], *schema, stored.Name(i, tensor_names), a, b);
    }
  }
  if (stored.rows() == computed.rows()) return std::nullopt;
  return Difference{absl::StrCat("number of ", compared.rows), absl::StrCat(stored.rows()),
                    absl::StrCat(computed.rows())};
}

}  // namespace

std::string Divergence::ToString() const {
  // One line, whatever names the file has.
  return Printable(absl::StrCat(phase == Phase::kSft ? "SFT " : "", "step ", step, ", ", stage, ", ", tensor,
                                ": stored ", expected, ", computed ", actual));
}

std::optional<Divergence> FirstDivergence(const RecordSchema& schema, const StepTables& stored,
                                          const StepTables& computed, const std::vector<std::string>& tensor_names,
                                          Digests digests) {
  for (const Comparison& compared : schema.comparisons) {
    const bool has_both = (stored.Find(compared.stream) == nullptr) == (computed.Find(compared.stream) == nullptr);
    if (compared.skips_absent && !has_both) continue;
    const Side a(compared, stored), b(compared, computed);
    if (compared.digest_kind && digests == Digests::kWhereBoth && (a.rows() == 0 || b.rows() == 0)) continue;
    const std::optional<Difference> found = DifferenceOfRows(compared, a, b, tensor_names);
    if (found) {
      return Divergence{computed.phase, computed.step, compared.stage, found->tensor, found->expected, found->actual};
    }
  }
  return std::nullopt;
}

}  // namespace reprise::rl
