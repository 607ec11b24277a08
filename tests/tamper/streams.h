#ifndef TESTS_TAMPER_STREAMS_H_
#define TESTS_TAMPER_STREAMS_H_

// Finds and changes rows of a run's record streams by the names of their columns. CHECKs that the column exists.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/tables/table.h"

namespace reprise::testing {

int ColumnIndex(const StreamTable& table, absl::string_view name);

// Returns the rows of a training step, in order.
std::vector<int64_t> RowsOfStep(const StreamTable& table, int64_t step);

// Returns the values of one row, which the caller may change in place.
template <typename T>
absl::Span<T> MutableRow(StreamTable& table, absl::string_view column, int64_t row) {
  const absl::Span<const T> values = table.Row<T>(ColumnIndex(table, column), row);
  return absl::MakeSpan(const_cast<T*>(values.data()), values.size());
}

// Replaces the values of one row of a ragged column or a string; their number may change.
void ReplaceRow(StreamTable& table, absl::string_view column, int64_t row, absl::Span<const std::byte> values);

template <typename T>
void ReplaceRow(StreamTable& table, absl::string_view column, int64_t row, const std::vector<T>& values) {
  ReplaceRow(table, column, row, {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)});
}

// Removes the rows for which `keep` returns false.
void KeepRows(StreamTable& table, const std::function<bool(int64_t row)>& keep);

}  // namespace reprise::testing

#endif  // TESTS_TAMPER_STREAMS_H_
