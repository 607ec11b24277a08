#include "data/artifact/table_file.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/table_arrays.h"

namespace reprise {
namespace {

using internal::ArraySource;

constexpr char kPlan[] = "/sweep/plan";
constexpr char kSchemas[] = "/sweep/schemas";
constexpr absl::string_view kTables = "/tables/";

ArraySource TextSource(absl::string_view path, absl::string_view text) {
  return internal::SourceOf({std::string(path), DType::kU8, {static_cast<int64_t>(text.size())}}, text);
}

absl::StatusOr<std::string> TextAt(const internal::Container& container, absl::string_view path) {
  ASSIGN_OR_RETURN(const internal::ArrayView* array, container.Find(path));
  if (array->info.dtype != DType::kU8 || array->info.shape.size() != 1) {
    return absl::DataLossError(absl::StrCat("its ", path, " is not text"));
  }
  return std::string(array->bytes);
}

// Returns the paths of a file with these schemas.
std::set<std::string> PathsOf(const std::vector<StreamSchema>& schemas) {
  std::set<std::string> paths = {kPlan, kSchemas};
  for (const StreamSchema& schema : schemas) {
    const StreamTable table(schema);
    for (const ArraySource& source : internal::SourcesOf(absl::StrCat(kTables, schema.name), table)) {
      paths.insert(source.info.path);
    }
  }
  return paths;
}

absl::StatusOr<TableFile> Parse(const std::string& bytes) {
  ASSIGN_OR_RETURN(const internal::Container container, internal::ParseContainer(bytes));
  TableFile file;
  ASSIGN_OR_RETURN(file.plan, TextAt(container, kPlan));
  ASSIGN_OR_RETURN(const std::string text, TextAt(container, kSchemas));
  ASSIGN_OR_RETURN(const std::vector<StreamSchema> schemas, ParseSchemas(text));
  const std::set<std::string> paths = PathsOf(schemas);
  for (const internal::ArrayView& array : container.arrays) {
    if (paths.contains(array.info.path)) continue;
    return absl::DataLossError(absl::StrCat("it has the unexpected dataset ", array.info.path));
  }
  for (const StreamSchema& schema : schemas) {
    ASSIGN_OR_RETURN(const internal::StoredTable table,
                     internal::StoredTable::Find(container, absl::StrCat(kTables, schema.name), schema));
    file.tables.push_back(table.AllRows());
  }
  file.digests = {ToHex(container.block.run_digest), ToHex(Sha256(bytes))};
  return file;
}

}  // namespace

absl::StatusOr<std::string> EncodeTableFile(const std::string& plan, absl::Span<const StreamTable> tables) {
  std::vector<StreamSchema> schemas;
  for (const StreamTable& table : tables) schemas.push_back(table.schema());
  CHECK(std::is_sorted(schemas.begin(), schemas.end(),
                       [](const StreamSchema& a, const StreamSchema& b) { return a.name <= b.name; }));
  const std::string schema_text = EncodeSchemas(schemas);
  std::vector<ArraySource> arrays = {TextSource(kPlan, plan), TextSource(kSchemas, schema_text)};
  for (const StreamTable& table : tables) {
    std::vector<ArraySource> own = internal::SourcesOf(absl::StrCat(kTables, table.schema().name), table);
    std::move(own.begin(), own.end(), std::back_inserter(arrays));
  }
  return internal::EncodeContainer(std::move(arrays));
}

absl::StatusOr<std::string> ReadTableFile(FileSystem& files, absl::string_view path) {
  return internal::ReadContainerFile(files, path);
}

absl::StatusOr<TableFile> ParseTableFile(const std::string& bytes, absl::string_view path) {
  absl::StatusOr<TableFile> file = Parse(bytes);
  if (!file.ok()) return WithContext(file.status(), path);
  return file;
}

}  // namespace reprise
