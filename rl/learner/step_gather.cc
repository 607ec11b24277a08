#include "rl/learner/step_gather.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/comm/collectives.h"
#include "core/comm/wire.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

int NumColumns(const StreamTable& table) { return static_cast<int>(table.schema().columns.size()); }

void Put(const StreamTable& table, WireWriter& out) {
  for (int column = 0; column < NumColumns(table); ++column) {
    const absl::Span<const std::byte> values = table.ValueBytes(column);
    const absl::Span<const int64_t> offsets = table.Offsets(column);
    out.PutString({reinterpret_cast<const char*>(values.data()), values.size()});
    out.PutArray(std::vector<int64_t>(offsets.begin(), offsets.end()));
  }
}

void AppendRows(WireReader& in, StreamTable& table) {
  for (int column = 0; column < NumColumns(table); ++column) {
    const std::string values = in.GetString();
    table.AppendStored(column, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()), values.size()),
                       in.GetArray<int64_t>());
  }
}

void AppendOutcomes(WireReader& in, std::vector<EpisodeOutcome>& outcomes) {
  const std::vector<EpisodeOutcome> more = in.GetArray<EpisodeOutcome>();
  outcomes.insert(outcomes.end(), more.begin(), more.end());
}

void Sort(const std::vector<std::string>& flags, StreamTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  for (auto flag = flags.rbegin(); flag != flags.rend(); ++flag) {
    const absl::StatusOr<int> column = FindColumn(table.schema(), *flag);
    CHECK(column.ok());
    std::stable_partition(rows.begin(), rows.end(),
                          [&](int64_t row) { return table.Row<uint8_t>(*column, row)[0] != 0; });
  }
  StreamTable sorted(table.schema());
  for (const int64_t row : rows) sorted.AppendRows(table, row, row + 1);
  table = std::move(sorted);
}

}  // namespace

absl::Status GatherStep(Communicator& comm, const RecordSchema& schema, StepShare* share) {
  if (comm.size() == 1) return absl::OkStatus();
  WireWriter mine;
  for (const StreamTable& table : share->tables) Put(table, mine);
  mine.PutArray(share->first_outcome_N);
  mine.PutArray(share->outcome_N);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherBytes(comm, 0, mine.bytes()));
  if (comm.rank() != 0) return absl::OkStatus();
  StepShare whole;
  for (const StreamTable& table : share->tables) whole.tables.emplace_back(table.schema());
  for (const std::string& bytes : all) {
    WireReader in(bytes);
    for (StreamTable& table : whole.tables) AppendRows(in, table);
    AppendOutcomes(in, whole.first_outcome_N);
    AppendOutcomes(in, whole.outcome_N);
  }
  for (const RowOrder& order : schema.orders) {
    for (StreamTable& table : whole.tables) {
      if (table.schema().name == order.stream) Sort(order.flags, table);
    }
  }
  *share = std::move(whole);
  return absl::OkStatus();
}

}  // namespace reprise::rl
