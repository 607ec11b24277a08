#ifndef CORE_COMM_GATHER_ROWS_H_
#define CORE_COMM_GATHER_ROWS_H_

// Gathers the rows of a table whose parts are on different ranks. A row is a trivially copyable value, a vector of
// such, or a struct that lists its members once:
//
//   struct EpisodeLength {
//     int64_t tokens = 0;
//     std::vector<double> value_T = {};
//
//     void ForEachMember(auto visit) { visit(tokens), visit(value_T); }
//   };

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/comm/collectives.h"
#include "core/comm/communicator.h"
#include "core/comm/wire.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace internal {

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <typename T>
void PutRow(T& row, WireWriter& out) {
  if constexpr (kIsVector<T>) {
    out.PutArray(row);
  } else if constexpr (std::is_trivially_copyable_v<T>) {
    out.Put(row);
  } else {
    row.ForEachMember([&](auto& member) { PutRow(member, out); });
  }
}

template <typename T>
void GetRow(WireReader& in, T& row) {
  if constexpr (kIsVector<T>) {
    row = in.GetArray<typename T::value_type>();
  } else if constexpr (std::is_trivially_copyable_v<T>) {
    row = in.Get<T>();
  } else {
    row.ForEachMember([&](auto& member) { GetRow(in, member); });
  }
}

template <typename Row>
std::string RowBytes(std::vector<Row> rows) {
  WireWriter out;
  for (Row& row : rows) PutRow(row, out);
  return out.bytes();
}

template <typename Row>
std::vector<Row> RowsFromBytes(const std::vector<std::string>& bytes_of_rank) {
  std::vector<Row> rows;
  for (const std::string& bytes : bytes_of_rank) {
    for (WireReader in(bytes); !in.done();) GetRow(in, rows.emplace_back());
  }
  return rows;
}

}  // namespace internal

// Returns the rows of all ranks, in the order of the ranks. Collective; the same result on every rank. Errors are the
// communicator's.
template <typename Row>
absl::StatusOr<std::vector<Row>> AllgatherRows(Communicator& comm, std::vector<Row> mine) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm, internal::RowBytes(std::move(mine))));
  return internal::RowsFromBytes<Row>(all);
}

// As AllgatherRows on rank `root`; returns no rows on the others.
template <typename Row>
absl::StatusOr<std::vector<Row>> GatherRows(Communicator& comm, int root, std::vector<Row> mine) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherBytes(comm, root, internal::RowBytes(std::move(mine))));
  return internal::RowsFromBytes<Row>(all);
}

}  // namespace reprise

#endif  // CORE_COMM_GATHER_ROWS_H_
