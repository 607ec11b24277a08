#ifndef DATA_TABLES_SCHEMA_H_
#define DATA_TABLES_SCHEMA_H_

// The schema of a record stream: named, typed columns. The code that writes the stream declares it, and it is stored
// with the run.
//
//   const StreamSchema kEpisodes = {
//       .name = "episodes", .version = 1,
//       .columns = {ScalarColumn("prompt", DType::kI64), RaggedColumn("tokens", DType::kI32), StringColumn("reply"),
//                   FixedColumn("weights_sha256", DType::kU8, 32)}};

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/tensor/tensor.h"

namespace reprise {

// The kind of a column's rows.
enum class ColumnKind : uint8_t {
  kScalar,  // one value
  kFixed,   // `width` values, the same number in every row
  kRagged,  // any number of values
  kString,  // any number of bytes (kU8)
};

absl::string_view NameOf(ColumnKind kind);  // "scalar", "fixed", "ragged", "string"

struct ColumnSchema {
  std::string name;
  DType dtype = DType::kI64;
  ColumnKind kind = ColumnKind::kScalar;
  int64_t width = 1;  // values per row of a fixed column; 1 for the others

  friend bool operator==(const ColumnSchema&, const ColumnSchema&) = default;
};

struct StreamSchema {
  std::string name;
  int64_t version = 1;  // raised when the meaning of a column changes
  std::vector<ColumnSchema> columns;

  friend bool operator==(const StreamSchema&, const StreamSchema&) = default;
};

ColumnSchema ScalarColumn(absl::string_view name, DType dtype);
ColumnSchema FixedColumn(absl::string_view name, DType dtype, int64_t width);
ColumnSchema RaggedColumn(absl::string_view name, DType dtype);
ColumnSchema StringColumn(absl::string_view name);

// Returns whether rows of this kind differ in length, so that the column is stored as values and offsets.
bool HasOffsets(ColumnKind kind);

// InvalidArgument, naming stream and column, unless: names are 1 to 64 of [A-Za-z0-9_.-], begin with a letter or digit
// and do not end in ".offsets"; there is at least one column, and columns have different names; version >= 1; width >=
// 1, and 1 for all kinds but fixed; strings are kU8.
absl::Status CheckSchema(const StreamSchema& schema);

// Returns whether streams, columns and checkpoint groups may have this name.
bool IsArtifactName(absl::string_view name);

// Returns the column's index in the schema. NotFound, with the existing names, if there is none.
absl::StatusOr<int> FindColumn(const StreamSchema& schema, absl::string_view name);

// Schemas as the text that a run file stores (FORMAT.md, "/run/schemas"):
//
//   stream episodes 1
//   column scalar i64 1 prompt
//   column fixed u8 32 weights_sha256

// Encodes schemas, which must pass CheckSchema.
std::string EncodeSchemas(absl::Span<const StreamSchema> schemas);

// The inverse. DataLoss, naming the line, for any text that EncodeSchemas could not have written.
absl::StatusOr<std::vector<StreamSchema>> ParseSchemas(absl::string_view text);

}  // namespace reprise

#endif  // DATA_TABLES_SCHEMA_H_
