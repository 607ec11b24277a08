#include "data/artifact/format/run_arrays.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "data/tables/schema.h"
#include "kernels/contract/numeric_contract.h"

namespace reprise::internal {
namespace {

constexpr char kConfig[] = "/run/config";
constexpr char kConfigDigest[] = "/run/config_sha256";
constexpr char kContract[] = "/run/numeric_contract";
constexpr char kExternalFiles[] = "/run/external_files";
constexpr char kSchemas[] = "/run/schemas";
constexpr char kSteps[] = "/steps/step";
constexpr char kRowEnds[] = "/steps/rows/";
constexpr char kStreams[] = "/streams/";

StreamSchema ExternalFilesSchema() {
  return {"external_files", 1, {StringColumn("name"), FixedColumn("sha256", DType::kU8, 32)}};
}

void Append(std::vector<ArraySource>& sources, std::vector<ArraySource> more) {
  std::move(more.begin(), more.end(), std::back_inserter(sources));
}

ArraySource TextSource(absl::string_view path, std::string text) {
  ArrayInfo info = {std::string(path), DType::kU8, {static_cast<int64_t>(text.size())}};
  return OwningSourceOf(std::move(info), std::move(text));
}

// Returns the sources of a small table, with copies of its bytes.
std::vector<ArraySource> OwningSourcesOf(absl::string_view prefix, const StreamTable& table) {
  std::vector<ArraySource> sources;
  for (ArraySource& source : SourcesOf(prefix, table)) {
    std::string bytes;
    CHECK(source
              .emit([&](absl::string_view piece) {
                bytes.append(piece.data(), piece.size());
                return absl::OkStatus();
              })
              .ok());
    sources.push_back(OwningSourceOf(std::move(source.info), std::move(bytes)));
  }
  return sources;
}

std::vector<ArraySource> HeaderSources(const RunHeader& header) {
  const Digest digest = Sha256(header.config_text);
  StreamTable external_files(ExternalFilesSchema());
  for (const ExternalFile& file : header.external_files) {
    external_files.AppendString(0, file.name);
    external_files.AppendDigest(1, file.sha256);
  }
  std::vector<ArraySource> sources;
  sources.push_back(TextSource(kConfig, header.config_text));
  sources.push_back(
      TextSource(kConfigDigest, std::string(reinterpret_cast<const char*>(digest.data()), digest.size())));
  sources.push_back(TextSource(kSchemas, EncodeSchemas(header.streams)));
  const int64_t contract = kNumericContract;
  sources.push_back(OwningSourceOf({kContract, DType::kI64, {1}},
                                   std::string(reinterpret_cast<const char*>(&contract), sizeof(contract))));
  Append(sources, OwningSourcesOf(kExternalFiles, external_files));
  return sources;
}

absl::StatusOr<std::string> ReadText(const Container& container, absl::string_view path) {
  ASSIGN_OR_RETURN(const ArrayView* array, container.Find(path));
  if (array->info.dtype != DType::kU8 || array->info.shape.size() != 1) {
    return absl::DataLossError(absl::StrCat("its ", path, " is not text"));
  }
  return std::string(array->bytes);
}

absl::StatusOr<RunHeader> ParseHeader(const Container& container, Digest& config_digest) {
  RunHeader header;
  ASSIGN_OR_RETURN(header.config_text, ReadText(container, kConfig));
  ASSIGN_OR_RETURN(const std::string digest, ReadText(container, kConfigDigest));
  config_digest = Sha256(header.config_text);
  if (digest != absl::string_view(reinterpret_cast<const char*>(config_digest.data()), config_digest.size())) {
    return absl::DataLossError(absl::StrCat("its ", kConfigDigest, " is not that of ", kConfig));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> contract, ReadIntegers(container, kContract));
  if (contract != std::vector<int64_t>{kNumericContract}) {
    return absl::DataLossError(absl::StrCat("its ", kContract, " is not that of the user block"));
  }
  ASSIGN_OR_RETURN(const std::string schemas, ReadText(container, kSchemas));
  ASSIGN_OR_RETURN(header.streams, ParseSchemas(schemas));
  ASSIGN_OR_RETURN(const StoredTable stored, StoredTable::Find(container, kExternalFiles, ExternalFilesSchema()));
  const StreamTable external_files = stored.AllRows();
  for (int64_t row = 0; row < external_files.rows(); ++row) {
    header.external_files.push_back({std::string(external_files.String(0, row)), external_files.DigestAt(1, row)});
  }
  RunHeader sorted = header;
  Sort(sorted);
  if (!CheckRunHeader(header).ok() || sorted != header) {
    return absl::DataLossError("its streams or external files are not sorted");
  }
  return header;
}

absl::StatusOr<StoredStream> ParseStream(const Container& container, const StreamSchema& schema, size_t steps) {
  ASSIGN_OR_RETURN(StoredTable table, StoredTable::Find(container, absl::StrCat(kStreams, schema.name), schema));
  const std::string path = absl::StrCat(kRowEnds, schema.name);
  ASSIGN_OR_RETURN(std::vector<int64_t> row_ends, ReadIntegers(container, path));
  const bool fits = row_ends.size() == steps && std::is_sorted(row_ends.begin(), row_ends.end()) &&
                    (steps == 0 ? 0 : row_ends.back()) == table.rows() && (steps == 0 || row_ends.front() >= 0);
  if (!fits) return absl::DataLossError(absl::StrCat("its ", path, " does not fit the stream"));
  return StoredStream{std::move(table), std::move(row_ends)};
}

// Returns the paths of a run file without steps: every run with this header has them, and checkpoint tensors besides.
std::set<std::string> PathsOf(const RunHeader& header) {
  const StepBatch batch(header);
  std::set<std::string> paths;
  for (const ArraySource& source : SourcesOf(header, batch)) paths.insert(source.info.path);
  return paths;
}

absl::Status CheckNothingElseIsThere(const StoredRun& run) {
  std::set<std::string> expected = PathsOf(run.header);
  for (const CheckpointGroup& group : run.checkpoints) {
    for (const CheckpointTensor& tensor : group.tensors) expected.insert(TensorPath(group, tensor));
  }
  for (const ArrayView& array : run.container.arrays) {
    if (!expected.contains(array.info.path)) {
      return absl::DataLossError(absl::StrCat("it has the unexpected dataset ", array.info.path));
    }
  }
  return absl::OkStatus();
}

}  // namespace

StepBatch::StepBatch(const RunHeader& header)
    : row_ends(header.streams.size()), checkpoint_index(CheckpointIndexSchema()) {
  for (const StreamSchema& schema : header.streams) tables.emplace_back(schema);
}

void StepBatch::Add(int64_t step, absl::Span<const StreamTable> step_tables) {
  for (const StreamTable& table : step_tables) {
    const auto has_its_name = [&](const StreamTable& own) { return own.schema().name == table.schema().name; };
    const auto own = std::find_if(tables.begin(), tables.end(), has_its_name);
    CHECK(own != tables.end());
    own->AppendRows(table, 0, table.rows());
  }
  steps.push_back(step);
  for (size_t i = 0; i < tables.size(); ++i) row_ends[i].push_back(tables[i].rows());
}

int64_t StepBatch::bytes() const {
  int64_t bytes = checkpoint_index.bytes() + static_cast<int64_t>(steps.size() * (1 + tables.size()) * sizeof(int64_t));
  for (const StreamTable& table : tables) bytes += table.bytes();
  return bytes;
}

std::vector<ArraySource> SourcesOf(const RunHeader& header, const StepBatch& batch) {
  std::vector<ArraySource> sources = HeaderSources(header);
  sources.push_back(SourceOf(kSteps, batch.steps));
  for (size_t i = 0; i < header.streams.size(); ++i) {
    const std::string& name = header.streams[i].name;
    sources.push_back(SourceOf(absl::StrCat(kRowEnds, name), batch.row_ends[i]));
    Append(sources, SourcesOf(absl::StrCat(kStreams, name), batch.tables[i]));
  }
  Append(sources, SourcesOf(kCheckpointIndex, batch.checkpoint_index));
  return sources;
}

absl::StatusOr<StoredRun> ParseRun(absl::string_view file) {
  StoredRun run;
  ASSIGN_OR_RETURN(run.container, ParseContainer(file));
  ASSIGN_OR_RETURN(run.header, ParseHeader(run.container, run.config_digest));
  ASSIGN_OR_RETURN(run.steps, ReadIntegers(run.container, kSteps));
  const auto does_not_rise = [](int64_t a, int64_t b) { return a >= b; };
  if (std::adjacent_find(run.steps.begin(), run.steps.end(), does_not_rise) != run.steps.end()) {
    return absl::DataLossError("its steps are not ascending");
  }
  for (const StreamSchema& schema : run.header.streams) {
    ASSIGN_OR_RETURN(StoredStream stream, ParseStream(run.container, schema, run.steps.size()));
    run.streams.push_back(std::move(stream));
  }
  ASSIGN_OR_RETURN(const StoredTable index,
                   StoredTable::Find(run.container, kCheckpointIndex, CheckpointIndexSchema()));
  ASSIGN_OR_RETURN(run.checkpoints, ParseIndex(index.AllRows()));
  RETURN_IF_ERROR(CheckNothingElseIsThere(run));
  return run;
}

}  // namespace reprise::internal
