#include "models/safetensors/header.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/io/foreign_format.h"
#include "core/json/json.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxInteger = int64_t{1} << 62;

constexpr std::pair<DType, absl::string_view> kTypes[] = {
    {DType::kF32, "F32"}, {DType::kF64, "F64"}, {DType::kBF16, "BF16"}, {DType::kF16, "F16"},
    {DType::kI64, "I64"}, {DType::kI32, "I32"}, {DType::kU8, "U8"},
};

absl::Status ReadType(const JsonValue& value, SafetensorsEntry& entry) {
  ASSIGN_OR_RETURN(const absl::string_view wanted, value.String());
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [wanted](const auto& type) { return type.second == wanted; });
  if (found == std::end(kTypes)) {
    entry.other_type = std::string(wanted);
  } else {
    entry.dtype = found->first;
  }
  return absl::OkStatus();
}

// Returns nothing if the product overflows.
std::optional<uint64_t> ByteSize(DType dtype, const Shape& shape) {
  int64_t bytes = SizeOf(dtype);
  for (int64_t dimension : shape) {
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) return std::nullopt;
  }
  return bytes;
}

absl::StatusOr<Shape> ReadShape(const JsonValue& value) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> dimensions, value.Elements());
  if (dimensions.size() > kMaxSafetensorsRank) {
    return value.Error(absl::StrCat(dimensions.size(), " dimensions; at most ", kMaxSafetensorsRank));
  }
  Shape shape;
  for (const JsonValue& dimension : dimensions) {
    ASSIGN_OR_RETURN(const int64_t size, dimension.Integer(0, kMaxInteger));
    shape.push_back(size);
  }
  return shape;
}

absl::Status ReadOffsets(const JsonValue& value, SafetensorsEntry& entry) {
  ASSIGN_OR_RETURN(const std::vector<JsonValue> offsets, value.Elements());
  if (offsets.size() != 2) return value.Error(absl::StrCat("expected 2 offsets, found ", offsets.size()));
  ASSIGN_OR_RETURN(entry.begin, offsets[0].Integer(0, kMaxInteger));
  ASSIGN_OR_RETURN(entry.end, offsets[1].Integer(0, kMaxInteger));
  if (!entry.other_type.empty()) {
    return entry.begin <= entry.end ? absl::OkStatus() : value.Error("the second offset lies before the first");
  }
  const std::optional<uint64_t> bytes = ByteSize(entry.dtype, entry.shape);
  if (!bytes) return value.Error(absl::StrCat("the byte size of shape ", ToString(entry.shape), " overflows"));
  if (entry.begin > entry.end || entry.end - entry.begin != *bytes) {
    return value.Error(absl::StrCat("[", entry.begin, ", ", entry.end, "] does not hold the ", *bytes, " bytes of ",
                                    SafetensorsName(entry.dtype), " ", ToString(entry.shape)));
  }
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsEntry> ReadEntry(absl::string_view name, const JsonValue& value) {
  if (name.empty() || name.size() > kMaxSafetensorsName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor's name has ", name.size(), " bytes; expected 1 to ", kMaxSafetensorsName));
  }
  SafetensorsEntry entry;
  entry.name = std::string(name);
  ASSIGN_OR_RETURN(const JsonValue dtype, value.Get("dtype"));
  ASSIGN_OR_RETURN(const JsonValue shape, value.Get("shape"));
  ASSIGN_OR_RETURN(const JsonValue offsets, value.Get("data_offsets"));
  RETURN_IF_ERROR(ReadType(dtype, entry));
  ASSIGN_OR_RETURN(entry.shape, ReadShape(shape));
  RETURN_IF_ERROR(ReadOffsets(offsets, entry));
  return entry;
}

absl::Status ReadMetadata(const JsonValue& value, std::map<std::string, std::string>& metadata) {
  if (value.is_null()) return absl::OkStatus();  // as some programs write that there is none
  ASSIGN_OR_RETURN(const auto members, value.Members());
  for (const auto& [key, text] : members) {
    ASSIGN_OR_RETURN(const absl::string_view string, text.String());
    metadata.emplace(key, string);
  }
  return absl::OkStatus();
}

absl::Status ReadObject(absl::string_view text, SafetensorsHeader& header) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == absl::string_view::npos || text[begin] != '{') {
    return absl::InvalidArgumentError("the header does not start with {, as the format demands");
  }
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  ASSIGN_OR_RETURN(const auto members, document.root().Members());
  if (members.size() > kMaxSafetensorsTensors) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header names ", members.size(), " tensors; at most ", kMaxSafetensorsTensors));
  }
  for (const auto& [name, value] : members) {
    if (name == "__metadata__") {
      RETURN_IF_ERROR(ReadMetadata(value, header.metadata));
      continue;
    }
    ASSIGN_OR_RETURN(SafetensorsEntry entry, ReadEntry(name, value));
    header.entries.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

// Sorts the entries by their offsets and requires that they tile [0, data_size).
absl::Status RequireTiling(uint64_t data_size, std::vector<SafetensorsEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", entry.name, " starts at byte ", entry.begin, " of the data, ",
          entry.begin < covered ? "inside" : "leaving a hole after", " the tensor before it, which ends at ", covered));
    }
    covered = entry.end;
  }
  if (covered == data_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the header describes ", covered, " bytes of data, the file holds ",
                                                 data_size, covered > data_size ? "; it is truncated" : ""));
}

// Says that the file is text, such as a server's answer "Entry not found"; "" if it is not. The length of a header
// whose bytes were all printable would exceed the limit.
std::string TextInstead(absl::string_view begin) {
  constexpr size_t kShown = 40;
  const auto is_text = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isprint(byte) || absl::ascii_isspace(byte);
  };
  const absl::string_view length = begin.substr(0, sizeof(uint64_t));
  if (length.empty() || !std::all_of(length.begin(), length.end(), is_text)) return "";
  return absl::StrCat("this is text that begins with ", Quoted(begin, kShown),
                      ", as a download leaves that was answered by a message: download the file itself");
}

absl::Status Parse(absl::Span<const std::byte> file, SafetensorsHeader& header) {
  if (file.size() < 8) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file has ", file.size(), " bytes; a safetensors file has 8 or more"));
  }
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= std::to_integer<uint64_t>(file[i]) << (8 * i);
  if (length > kMaxSafetensorsHeader) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header claims ", length, " bytes; at most ", kMaxSafetensorsHeader));
  }
  if (length > file.size() - 8) {
    return absl::InvalidArgumentError(absl::StrCat("the header claims ", length, " bytes, the file holds ",
                                                   file.size() - 8, " after its length; it is truncated"));
  }
  header.data_start = 8 + length;
  RETURN_IF_ERROR(ReadObject(absl::string_view(reinterpret_cast<const char*>(file.data()) + 8, length), header));
  return RequireTiling(file.size() - header.data_start, header.entries);
}

}  // namespace

absl::string_view SafetensorsName(DType dtype) {
  for (const auto& [type, name] : kTypes) {
    if (type == dtype) return name;
  }
  return "";
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::Span<const std::byte> file) {
  SafetensorsHeader header;
  const absl::Status status = Parse(file, header);
  if (!status.ok()) {
    constexpr size_t kBeginning = 512;
    const absl::string_view begin(reinterpret_cast<const char*>(file.data()), std::min(file.size(), kBeginning));
    std::string foreign = ForeignFormat(begin);
    if (foreign.empty()) foreign = TextInstead(begin);
    if (!foreign.empty()) return absl::DataLossError(absl::StrCat("not a safetensors file: ", foreign));
  }
  if (absl::IsInvalidArgument(status))
    return absl::DataLossError(status.message());  // an error of the file, not the caller
  RETURN_IF_ERROR(status);
  return header;
}

}  // namespace reprise::models
