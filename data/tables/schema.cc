#include "data/tables/schema.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace reprise {
namespace {

constexpr size_t kLongestName = 64;
constexpr int64_t kGreatestWidth = int64_t{1} << 32;

absl::Status CheckColumn(const ColumnSchema& column) {
  if (!IsArtifactName(column.name)) return absl::InvalidArgumentError("its name is not allowed");
  if (column.width < 1 || column.width > kGreatestWidth || (column.kind != ColumnKind::kFixed && column.width != 1)) {
    return absl::InvalidArgumentError(absl::StrCat("its width is ", column.width));
  }
  if (column.kind == ColumnKind::kString && column.dtype != DType::kU8) {
    return absl::InvalidArgumentError("it is a string, but not of u8");
  }
  return absl::OkStatus();
}

constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI64, DType::kI32, DType::kU8};
constexpr ColumnKind kKinds[] = {ColumnKind::kScalar, ColumnKind::kFixed, ColumnKind::kRagged, ColumnKind::kString};

// Returns the member of `values` whose name is `name`.
template <typename T, size_t N>
bool FindByName(const T (&values)[N], absl::string_view name, T* result) {
  const auto it = std::find_if(std::begin(values), std::end(values), [&](T value) { return NameOf(value) == name; });
  if (it == std::end(values)) return false;
  *result = *it;
  return true;
}

bool ParseStreamLine(const std::vector<absl::string_view>& words, StreamSchema* stream) {
  if (words.size() != 3 || words[0] != "stream") return false;
  stream->name = std::string(words[1]);
  return absl::SimpleAtoi(words[2], &stream->version);
}

bool ParseColumnLine(const std::vector<absl::string_view>& words, ColumnSchema* column) {
  if (words.size() != 5 || words[0] != "column") return false;
  column->name = std::string(words[4]);
  return FindByName(kKinds, words[1], &column->kind) && FindByName(kDTypes, words[2], &column->dtype) &&
         absl::SimpleAtoi(words[3], &column->width);
}

}  // namespace

absl::string_view NameOf(ColumnKind kind) {
  constexpr absl::string_view kNames[] = {"scalar", "fixed", "ragged", "string"};
  return kNames[static_cast<size_t>(kind)];
}

ColumnSchema ScalarColumn(absl::string_view name, DType dtype) {
  return {std::string(name), dtype, ColumnKind::kScalar, 1};
}

ColumnSchema FixedColumn(absl::string_view name, DType dtype, int64_t width) {
  return {std::string(name), dtype, ColumnKind::kFixed, width};
}

ColumnSchema RaggedColumn(absl::string_view name, DType dtype) {
  return {std::string(name), dtype, ColumnKind::kRagged, 1};
}

ColumnSchema StringColumn(absl::string_view name) { return {std::string(name), DType::kU8, ColumnKind::kString, 1}; }

bool HasOffsets(ColumnKind kind) { return kind == ColumnKind::kRagged || kind == ColumnKind::kString; }

bool IsArtifactName(absl::string_view name) {
  const auto is_allowed = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; };
  return !name.empty() && name.size() <= kLongestName && absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), is_allowed) && !absl::EndsWith(name, ".offsets");
}

absl::Status CheckSchema(const StreamSchema& schema) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("stream \"", schema.name, "\": ", what));
  };
  if (!IsArtifactName(schema.name)) return refuse("its name is not allowed");
  if (schema.version < 1) return refuse(absl::StrCat("its version is ", schema.version));
  if (schema.columns.empty()) return refuse("it has no columns");
  std::vector<absl::string_view> names;
  for (const ColumnSchema& column : schema.columns) {
    const absl::Status status = CheckColumn(column);
    if (!status.ok()) return refuse(absl::StrCat("column \"", column.name, "\": ", status.message()));
    if (std::find(names.begin(), names.end(), column.name) != names.end()) {
      return refuse(absl::StrCat("column \"", column.name, "\" appears twice"));
    }
    names.push_back(column.name);
  }
  return absl::OkStatus();
}

absl::StatusOr<int> FindColumn(const StreamSchema& schema, absl::string_view name) {
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].name == name) return static_cast<int>(i);
  }
  const auto append_name = [](std::string* out, const ColumnSchema& column) { absl::StrAppend(out, column.name); };
  return absl::NotFoundError(absl::StrCat("stream \"", schema.name, "\" has no column \"", name, "\"; it has ",
                                          absl::StrJoin(schema.columns, ", ", append_name)));
}

std::string EncodeSchemas(absl::Span<const StreamSchema> schemas) {
  std::string text;
  for (const StreamSchema& schema : schemas) {
    absl::StrAppend(&text, "stream ", schema.name, " ", schema.version, "\n");
    for (const ColumnSchema& column : schema.columns) {
      absl::StrAppend(&text, "column ", NameOf(column.kind), " ", NameOf(column.dtype), " ", column.width, " ",
                      column.name, "\n");
    }
  }
  return text;
}

absl::StatusOr<std::vector<StreamSchema>> ParseSchemas(absl::string_view text) {
  std::vector<StreamSchema> schemas;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    StreamSchema stream;
    ColumnSchema column;
    if (ParseStreamLine(words, &stream)) {
      schemas.push_back(std::move(stream));
    } else if (!schemas.empty() && ParseColumnLine(words, &column)) {
      schemas.back().columns.push_back(std::move(column));
    } else {
      return absl::DataLossError(absl::StrCat("a stored schema has the line \"", line, "\", which is not valid"));
    }
  }
  for (const StreamSchema& schema : schemas) {
    const absl::Status status = CheckSchema(schema);
    if (!status.ok()) return absl::DataLossError(absl::StrCat("a stored schema is not valid: ", status.message()));
  }
  if (EncodeSchemas(schemas) != text) return absl::DataLossError("the stored schemas are not in canonical form");
  return schemas;
}

}  // namespace reprise
