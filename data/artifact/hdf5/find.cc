#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "data/artifact/hdf5/arrays.h"
#include "data/artifact/hdf5/types.h"

namespace reprise::internal {
namespace {

// Bounds far above what runs need and far below what would exhaust memory or time.
constexpr int kDeepestGroup = 6;
constexpr size_t kMostObjects = 4'000'000;
constexpr int kHighestRank = 8;
constexpr hsize_t kMostElements = hsize_t{1} << 48;

absl::Status Damaged(absl::string_view path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the run file's ", path, " ", what));
}

// Collects the names of a group's links; stops the iteration (1) at one that is not a plain hard link.
herr_t CollectName(hid_t, const char* name, const H5L_info_t* info, void* names) noexcept {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return info->type == H5L_TYPE_HARD ? 0 : 1;
}

class ArrayFinder {
 public:
  explicit ArrayFinder(int64_t file_size) : file_size_(file_size) {}

  absl::Status VisitGroup(hid_t group, const std::string& path, int depth) {
    if (depth > kDeepestGroup) return Damaged(path, "is nested too deeply");
    std::vector<std::string> names;
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, CollectName, &names) != 0) {
      return Damaged(path.empty() ? "/" : path, "has links that a run file can't have");
    }
    for (const std::string& name : names) {
      if (++objects_ > kMostObjects) return Damaged("groups", "hold too many objects");
      RETURN_IF_ERROR(VisitObject(group, name, absl::StrCat(path, "/", name), depth));
    }
    return absl::OkStatus();
  }

  std::vector<ArrayLocation> Take() {
    const auto by_path = [](const ArrayLocation& a, const ArrayLocation& b) { return a.info.path < b.info.path; };
    std::sort(arrays_.begin(), arrays_.end(), by_path);
    return std::move(arrays_);
  }

 private:
  absl::Status VisitObject(hid_t group, const std::string& name, const std::string& path, int depth) {
    const Hdf5Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.ok()) return Damaged(path, "can't be opened");
    switch (H5Iget_type(object.get())) {
      case H5I_GROUP:
        return VisitGroup(object.get(), path, depth + 1);
      case H5I_DATASET:
        return VisitDataset(object.get(), path);
      default:
        return Damaged(path, "is neither a group nor a dataset");
    }
  }

  absl::Status VisitDataset(hid_t dataset, const std::string& path) {
    ArrayLocation array;
    array.info.path = path;
    RETURN_IF_ERROR(ReadType(dataset, array.info));
    RETURN_IF_ERROR(ReadShape(dataset, array.info));
    const int64_t bytes = array.info.bytes();
    if (bytes > 0) {
      // Undefined for every layout but that of one contiguous piece of this file.
      const haddr_t offset = H5Dget_offset(dataset);
      const bool is_inside = offset != HADDR_UNDEF && offset >= static_cast<haddr_t>(kUserBlockBytes) &&
                             offset <= static_cast<haddr_t>(file_size_ - bytes);
      if (!is_inside) return Damaged(path, "is not stored in one piece of the file");
      array.offset = static_cast<int64_t>(offset);
    }
    arrays_.push_back(std::move(array));
    return absl::OkStatus();
  }

  absl::Status ReadType(hid_t dataset, ArrayInfo& info) const {
    const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
    const std::optional<DType> dtype = types_.Find(type.get());
    if (dtype.has_value()) {
      info.dtype = *dtype;
      return absl::OkStatus();
    }
    return Damaged(info.path, "has a type that a run file can't have");
  }

  // The shape, whose bytes are no more than the file's; an array without elements is bounded as well, so that no
  // product of dimensions can overflow.
  absl::Status ReadShape(hid_t dataset, ArrayInfo& info) const {
    const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
    const H5S_class_t kind = H5Sget_simple_extent_type(space.get());
    if (kind == H5S_SCALAR) return absl::OkStatus();
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (kind != H5S_SIMPLE || rank < 1 || rank > kHighestRank) return Damaged(info.path, "has no shape");
    hsize_t dimensions[kHighestRank];
    if (H5Sget_simple_extent_dims(space.get(), dimensions, nullptr) != rank) return Damaged(info.path, "has no shape");
    const bool is_empty = std::find(dimensions, dimensions + rank, 0) != dimensions + rank;
    hsize_t left = is_empty ? kMostElements : static_cast<hsize_t>(file_size_ / SizeOf(info.dtype));
    for (int i = 0; i < rank; ++i) {
      const hsize_t factor = std::max<hsize_t>(dimensions[i], 1);
      if (factor > left) return Damaged(info.path, "claims to be larger than the file");
      left /= factor;
      info.shape.push_back(static_cast<int64_t>(dimensions[i]));
    }
    return absl::OkStatus();
  }

  const int64_t file_size_;
  const StoredTypes types_;
  size_t objects_ = 0;
  std::vector<ArrayLocation> arrays_;
};

}  // namespace

absl::StatusOr<std::vector<ArrayLocation>> FindArrays(absl::string_view file) {
  ViewStorage storage(file);
  const Hdf5Session session;
  const Hdf5Handle access = session.AccessTo(storage);
  const Hdf5Handle opened(H5Fopen("run", H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!opened.ok()) return absl::DataLossError("the run file is not an HDF5 file");
  const Hdf5Handle root(H5Gopen2(opened.get(), "/", H5P_DEFAULT), H5Gclose);
  if (!root.ok()) return absl::DataLossError("the run file has no root group");
  ArrayFinder finder(static_cast<int64_t>(file.size()));
  RETURN_IF_ERROR(finder.VisitGroup(root.get(), "", 0));
  return finder.Take();
}

}  // namespace reprise::internal
