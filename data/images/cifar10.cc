#include "data/images/cifar10.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/io/foreign_format.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"

namespace reprise::data {
namespace {

constexpr absl::string_view kRemedy =
    "morphogenesis.data_path must name a folder with the six files of cifar-10-binary.tar.gz "
    "(https://www.cs.toronto.edu/~kriz/cifar.html), or be empty for generated images";
constexpr int kTrainFiles = 5;
constexpr int64_t kRecordBytes = 1 + kImageChannels * kImageSide * kImageSide;

// Appends the images of a file, while there are fewer than `most`.
absl::Status AppendImages(const std::string& bytes, const std::string& path, int64_t records, int64_t most,
                          ImageSet* images) {
  const int64_t expected = records * kRecordBytes, size = static_cast<int64_t>(bytes.size());
  if (size != expected) {
    const std::string foreign = ForeignFormat(bytes);
    if (!foreign.empty()) return absl::DataLossError(absl::StrCat(path, ": ", foreign));
    return absl::DataLossError(absl::StrCat(path, " has ", size, " bytes, but a batch of CIFAR-10 has ", expected,
                                            ": download cifar-10-binary.tar.gz again"));
  }
  for (int64_t record = 0; record < records; ++record) {
    const auto* const at = reinterpret_cast<const uint8_t*>(bytes.data()) + record * kRecordBytes;
    if (at[0] >= kImageClasses) {
      return absl::DataLossError(absl::StrCat(path, ", record ", record, ": its label is ", static_cast<int>(at[0]),
                                              ", but labels are 0 to 9; download cifar-10-binary.tar.gz again"));
    }
    if (static_cast<int64_t>(images->size()) >= most) continue;
    images->label_N.push_back(at[0]);
    images->pixel_NCHW.insert(images->pixel_NCHW.end(), at + 1, at + kRecordBytes);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> Cifar10FileNames() {
  std::vector<std::string> names;
  for (int i = 1; i <= kTrainFiles; ++i) names.push_back(absl::StrCat("data_batch_", i, ".bin"));
  names.push_back("test_batch.bin");
  return names;
}

absl::StatusOr<Cifar10> ReadCifar10(FileSystem& files, const std::string& folder, const Cifar10Limits& limits) {
  const absl::StatusOr<FileInfo> info = files.Stat(folder);
  if (info.ok() && !info->is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(folder, " is a file: ", kRemedy));
  }
  Cifar10 result;
  const std::vector<std::string> names = Cifar10FileNames();
  for (const std::string& name : names) {
    const bool is_train = name != names.back();
    const std::string path = JoinPath(folder, name);
    const absl::StatusOr<std::string> bytes = ReadFile(files, path, limits.records * kRecordBytes);
    if (absl::IsNotFound(bytes.status())) {
      return absl::NotFoundError(absl::StrCat(path, " is missing: ", kRemedy));
    }
    if (!bytes.ok()) return WithContext(bytes.status(), "the images of morphogenesis.data_path");
    RETURN_IF_ERROR(AppendImages(*bytes, path, limits.records, is_train ? limits.train : limits.validation,
                                 is_train ? &result.splits.train : &result.splits.validation));
    result.sha256_of_file.push_back(Sha256(*bytes));
  }
  return result;
}

}  // namespace reprise::data
