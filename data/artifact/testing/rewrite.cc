#include "data/artifact/testing/rewrite.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/artifact/format/run_arrays.h"
#include "kernels/contract/numeric_contract.h"

namespace reprise::testing {

using internal::ArraySource;

absl::StatusOr<std::string> RewriteRun(absl::string_view run_file, const EditStreams& edit) {
  ASSIGN_OR_RETURN(const internal::StoredRun run, internal::ParseRun(run_file));
  std::map<std::string, StreamTable> tables;
  for (const auto& stream : run.streams) tables.emplace(stream.table.schema().name, stream.table.AllRows());
  edit(tables);
  CHECK_EQ(tables.size(), run.streams.size());

  std::vector<ArraySource> sources;
  std::vector<std::vector<int64_t>> all_row_ends(run.streams.size());
  for (size_t i = 0; i < run.streams.size(); ++i) {
    const StreamTable& table = tables.at(run.streams[i].table.schema().name);
    CHECK(table.schema() == run.streams[i].table.schema());
    std::vector<int64_t>& row_ends = all_row_ends[i];
    row_ends = run.streams[i].row_ends;
    for (int64_t& end : row_ends) end = std::min(end, table.rows());
    if (!row_ends.empty()) row_ends.back() = table.rows();
    sources.push_back(internal::SourceOf(absl::StrCat("/steps/rows/", table.schema().name), row_ends));
    for (ArraySource& source : internal::SourcesOf(absl::StrCat("/streams/", table.schema().name), table)) {
      sources.push_back(std::move(source));
    }
  }
  for (const internal::ArrayView& array : run.container.arrays) {
    const std::string& path = array.info.path;
    if (absl::StartsWith(path, "/streams/") || absl::StartsWith(path, "/steps/rows/")) continue;
    sources.push_back(internal::SourceOf(array.info, array.bytes));
  }
  return internal::EncodeContainer(std::move(sources));
}

std::string OfNextContract(std::string run_file) {
  constexpr size_t kProved = 434, kProof = 447;  // FORMAT.md, "User block"
  const std::string line = absl::StrCat("\nnumeric_contract ", kNumericContract, "\n");
  run_file.replace(run_file.find(line), line.size(), absl::StrCat("\nnumeric_contract ", kNumericContract + 1, "\n"));
  return run_file.replace(kProof, 64, ToHex(Sha256(absl::string_view(run_file).substr(0, kProved))));
}

absl::StatusOr<std::string> WithConfigText(absl::string_view run_file, const std::string& text) {
  ASSIGN_OR_RETURN(const internal::StoredRun run, internal::ParseRun(run_file));
  const Digest digest = Sha256(text);
  const absl::string_view digest_bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  std::vector<ArraySource> sources;
  for (const internal::ArrayView& array : run.container.arrays) {
    internal::ArrayInfo info = array.info;
    const bool is_config = info.path == "/run/config", is_digest = info.path == "/run/config_sha256";
    if (is_config) info.shape = {static_cast<int64_t>(text.size())};
    sources.push_back(internal::SourceOf(info, is_config ? text : is_digest ? digest_bytes : array.bytes));
  }
  return internal::EncodeContainer(std::move(sources));
}

}  // namespace reprise::testing
