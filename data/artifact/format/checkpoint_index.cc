#include "data/artifact/format/checkpoint_index.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"

namespace reprise::internal {
namespace {

enum Column { kStep, kGroup, kName, kDType, kShape, kSha256, kFileSha256 };

constexpr uint8_t kLastDType = static_cast<uint8_t>(DType::kU8);
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr size_t kHighestRank = 8;

absl::StatusOr<CheckpointTensor> ParseTensor(const StreamTable& index, int64_t row) {
  CheckpointTensor tensor;
  tensor.name = std::string(index.String(kName, row));
  const auto refuse = [&](absl::string_view what) {
    return absl::DataLossError(absl::StrCat("its checkpoint tensor \"", Printable(tensor.name), "\" has ", what));
  };
  if (!CheckTensorName(tensor.name).ok()) return refuse("an invalid name");
  const uint8_t dtype = index.Values<uint8_t>(kDType)[row];
  if (dtype > kLastDType) return refuse(absl::StrCat("the type ", dtype));
  tensor.dtype = static_cast<DType>(dtype);
  const auto shape = index.Row<int64_t>(kShape, row);
  if (shape.size() > kHighestRank) return refuse("too many dimensions");
  int64_t left = kMostBytes / SizeOf(tensor.dtype);
  for (int64_t dimension : shape) {
    if (dimension < 0 || dimension > left) return refuse("an invalid shape");
    left /= std::max<int64_t>(dimension, 1);
    tensor.shape.push_back(dimension);
  }
  tensor.sha256 = index.DigestAt(kSha256, row);
  return tensor;
}

}  // namespace

StreamSchema CheckpointIndexSchema() {
  return {"index",
          1,
          {ScalarColumn("step", DType::kI64), StringColumn("group"), StringColumn("name"),
           ScalarColumn("dtype", DType::kU8), RaggedColumn("shape", DType::kI64), FixedColumn("sha256", DType::kU8, 32),
           FixedColumn("file_sha256", DType::kU8, 32)}};
}

void AppendGroup(const CheckpointGroup& group, StreamTable& index) {
  for (const CheckpointTensor& tensor : group.tensors) {
    index.AppendI64(kStep, group.step);
    index.AppendString(kGroup, group.group);
    index.AppendString(kName, tensor.name);
    index.AppendU8(kDType, static_cast<uint8_t>(tensor.dtype));
    index.AppendRaggedI64(kShape, tensor.shape);
    index.AppendDigest(kSha256, tensor.sha256);
    index.AppendDigest(kFileSha256, group.file_sha256);
  }
}

absl::StatusOr<std::vector<CheckpointGroup>> ParseIndex(const StreamTable& index) {
  std::vector<CheckpointGroup> groups;
  std::set<std::pair<int64_t, std::string>> seen;
  std::set<std::string> names;
  for (int64_t row = 0; row < index.rows(); ++row) {
    const int64_t step = index.Values<int64_t>(kStep)[row];
    const absl::string_view name = index.String(kGroup, row);
    const Digest file = index.DigestAt(kFileSha256, row);
    if (groups.empty() || groups.back().step != step || groups.back().group != name) {
      if (step < 0 || !IsArtifactName(name) || !seen.emplace(step, name).second) {
        return absl::DataLossError(absl::StrCat("its checkpoint of step ", step, ", group \"", Printable(name),
                                                "\", appears twice or has an invalid name"));
      }
      groups.push_back({.step = step, .group = std::string(name), .file_sha256 = file, .tensors = {}});
      names.clear();
    }
    CheckpointGroup& group = groups.back();
    ASSIGN_OR_RETURN(CheckpointTensor tensor, ParseTensor(index, row));
    tensor.offset = group.bytes();
    if (!names.insert(tensor.name).second || group.file_sha256 != file || tensor.offset > kMostBytes) {
      return absl::DataLossError(absl::StrCat("its checkpoint of step ", step, ", group \"", Printable(name),
                                              "\", is inconsistent at tensor \"", tensor.name, "\""));
    }
    group.tensors.push_back(std::move(tensor));
  }
  return groups;
}

int64_t FirstKeptStep(const std::set<int64_t>& steps, int64_t keep) {
  if (keep == 0 || static_cast<int64_t>(steps.size()) <= keep) return std::numeric_limits<int64_t>::min();
  return *std::prev(steps.end(), keep);
}

absl::Status CheckTensorName(absl::string_view name) {
  const auto is_bad = [](char c) { return c == '/' || absl::ascii_iscntrl(static_cast<unsigned char>(c)); };
  if (name.empty() || name.size() > 255 || name == "." || name == ".." ||
      std::any_of(name.begin(), name.end(), is_bad)) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint tensor can't have the name \"", name, "\""));
  }
  return absl::OkStatus();
}

std::string TensorPath(const CheckpointGroup& group, const CheckpointTensor& tensor) {
  return absl::StrCat("/checkpoints/", group.step, "/", group.group, "/", tensor.name);
}

}  // namespace reprise::internal
