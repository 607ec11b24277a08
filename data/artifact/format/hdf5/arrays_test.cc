#include "data/artifact/format/hdf5/arrays.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "hdf5.h"
#include "rapidcheck/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

// Returns a file with this layout and all elements zero.
std::string FileOf(const FileLayout& layout) {
  std::string file(static_cast<size_t>(layout.size), '\0');
  EXPECT_TRUE(layout.metadata.Read(0, file.size(), file.data()));
  return file;
}

std::vector<ArrayInfo> Arrays() {
  return {{"/a", DType::kU8, {3}},        {"/empty", DType::kF64, {0, 100000}},
          {"/scalar", DType::kI64, {}},   {"/x/y/bf16", DType::kBF16, {2, 3, 5}},
          {"/x/y/f16", DType::kF16, {7}}, {"/x/z", DType::kF32, {100, 1000}}};
}

TEST(LayOutArraysTest, GivesEveryArrayItsOwnPlaceWhichFindArraysReturns) {
  const std::vector<ArrayInfo> arrays = Arrays();
  ASSERT_OK_AND_ASSIGN(const FileLayout layout, LayOutArrays(arrays));
  ASSERT_OK_AND_ASSIGN(const std::vector<ArrayLocation> found, FindArrays(FileOf(layout)));
  ASSERT_EQ(found.size(), arrays.size());
  std::string taken(static_cast<size_t>(layout.size), '\0');
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(found[i].info, arrays[i]) << arrays[i].path;
    if (arrays[i].bytes() == 0) continue;
    EXPECT_EQ(found[i].offset, layout.offsets[i]);
    for (int64_t at = found[i].offset; at < found[i].offset + arrays[i].bytes(); ++at) {
      ASSERT_EQ(taken[at]++, 0) << "shared by " << arrays[i].path;
    }
  }
}

TEST(LayOutArraysTest, IsAFunctionOfItsArguments) {
  EXPECT_EQ(FileOf(LayOutArrays(Arrays()).value()), FileOf(LayOutArrays(Arrays()).value()));
}

TEST(LayOutArraysTest, TakesNoMemoryForElements) {
  ASSERT_OK_AND_ASSIGN(const FileLayout layout, LayOutArrays({{"/large", DType::kF64, {int64_t{1} << 40}}}));
  EXPECT_GT(layout.size, int64_t{1} << 43);
}

TEST(LayOutArraysTest, HandlesGroupsOfThousands) {
  std::vector<ArrayInfo> arrays;
  for (int i = 0; i < 5000; ++i) arrays.push_back({"/g/" + std::to_string(10000 + i), DType::kI32, {i % 3}});
  ASSERT_OK_AND_ASSIGN(const FileLayout layout, LayOutArrays(arrays));
  ASSERT_OK_AND_ASSIGN(const std::vector<ArrayLocation> found, FindArrays(FileOf(layout)));
  ASSERT_EQ(found.size(), arrays.size());
  EXPECT_EQ(found[4999].info, arrays[4999]);
}

TEST(FindArraysTest, RefusesWhatIsNotAnHdf5File) {
  EXPECT_THAT(FindArrays(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not an HDF5 file")));
  EXPECT_THAT(FindArrays(std::string(5000, 'x')), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not an HDF5 file")));
}

TEST(FindArraysTest, RefusesATruncatedFile) {
  const std::string file = FileOf(LayOutArrays(Arrays()).value());
  for (size_t size : {file.size() - 1, file.size() / 2, size_t{1000}, size_t{600}, size_t{512}}) {
    EXPECT_THAT(FindArrays(file.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("run file")));
  }
}

// Returns a file of Arrays() that HDF5 itself has edited.
std::string Edited(const std::function<void(hid_t file)>& edit) {
  const std::string path = ::testing::TempDir() + "/edited.h5";
  std::ofstream(path, std::ios::binary) << FileOf(LayOutArrays(Arrays()).value());
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  EXPECT_GE(file, 0);
  edit(file);
  EXPECT_GE(H5Fclose(file), 0);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Creates the dataset "/new" of two bytes.
void CreateDataset(hid_t file, hid_t creation, hsize_t most = 2) {
  const hsize_t size = 2;
  const hid_t space = H5Screate_simple(1, &size, &most);
  EXPECT_GE(H5Dclose(H5Dcreate2(file, "/new", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT)), 0);
  H5Sclose(space);
}

hid_t WithoutTimes(hid_t properties) {
  const hid_t creation = H5Pcreate(properties);
  H5Pset_obj_track_times(creation, false);
  return creation;
}

TEST(FindArraysTest, FindsDatasetsThatHdf5AddsAccordingToTheFormat) {
  const std::string file = Edited([](hid_t file) {
    const hid_t creation = WithoutTimes(H5P_DATASET_CREATE);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    CreateDataset(file, creation);
  });
  EXPECT_EQ(FindArrays(file).value().size(), Arrays().size() + 1);
}

TEST(FindArraysTest, RefusesASecondNameForAnObject) {
  const auto expect_refused = [](const char* existing, const char* name) {
    const std::string file =
        Edited([&](hid_t file) { EXPECT_GE(H5Lcreate_hard(file, existing, file, name, 0, 0), 0); });
    EXPECT_THAT(FindArrays(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("with several names"))) << name;
  };
  expect_refused("/a", "/b");
  expect_refused("/a", "/x/y/a");
  expect_refused("/x", "/z");
  expect_refused("/x", "/x/y/x");  // a group within itself
  expect_refused("/", "/x/root");
}

// 40 names on each of three levels are 64,000 paths, too many to follow.
TEST(FindArraysTest, DoesNotFollowLinksThatMultiply) {
  const std::string file = Edited([](hid_t file) {
    for (const char* group : {"/x", "/x/y"}) {
      for (int i = 0; i < 4000; ++i) {
        const std::string name = std::string(group) + "/l" + std::to_string(i);
        EXPECT_GE(H5Lcreate_hard(file, "/x/y/f16", file, name.c_str(), 0, 0), 0);
      }
    }
  });
  EXPECT_THAT(FindArrays(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("with several names")));
}

TEST(FindArraysTest, RefusesTwoDatasetsInOnePlace) {
  ASSERT_OK_AND_ASSIGN(const FileLayout layout, LayOutArrays(Arrays()));
  std::string file = FileOf(layout);
  const auto address_of = [&](size_t array) {
    const uint64_t address = static_cast<uint64_t>(layout.offsets[array] - kUserBlockBytes);
    return std::string(reinterpret_cast<const char*>(&address), sizeof(address));
  };
  const size_t place = file.find(address_of(4));
  ASSERT_NE(place, std::string::npos);
  file.replace(place, 8, address_of(3));
  EXPECT_THAT(FindArrays(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlaps another dataset")));
}

TEST(FindArraysTest, RefusesWhatNoDigestCovers) {
  const auto expect_refused = [](const std::function<void(hid_t file)>& edit, const std::string& message) {
    EXPECT_THAT(FindArrays(Edited(edit)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  };
  for (const char* object : {"/", "/x", "/x/y", "/a", "/empty"}) {
    const auto add_attribute = [&](hid_t file) {
      const hid_t space = H5Screate(H5S_SCALAR);
      const hid_t attribute = H5Acreate_by_name(file, object, "note", H5T_STD_U8LE, space, 0, 0, 0);
      EXPECT_GE(H5Aclose(attribute), 0);
      H5Sclose(space);
    };
    expect_refused(add_attribute, "has attributes");
    expect_refused([&](hid_t file) { EXPECT_GE(H5Oset_comment_by_name(file, object, "note", 0), 0); },
                   "has properties that a run file can't have");
  }
  const auto add_group = [](hid_t file) { H5Gclose(H5Gcreate2(file, "/x/new", 0, WithoutTimes(H5P_GROUP_CREATE), 0)); };
  expect_refused(add_group, "/x/new is an empty group");
  expect_refused([](hid_t file) { EXPECT_GE(H5Lcreate_soft("/a", file, "/b", 0, 0), 0); }, "has links");
  const auto add_type = [](hid_t file) {
    const hid_t type = H5Tcopy(H5T_STD_U8LE);
    EXPECT_GE(H5Tcommit2(file, "/type", type, 0, 0, 0), 0);
    H5Tclose(type);
  };
  expect_refused(add_type, "/type is neither a group nor a dataset");
}

TEST(FindArraysTest, RefusesDatasetsThatTheFormatDoesNotHave) {
  const auto expect_refused = [](const std::function<void(hid_t creation)>& set, const std::string& message,
                                 hsize_t most = 2) {
    const std::string file = Edited([&](hid_t file) {
      const hid_t creation = WithoutTimes(H5P_DATASET_CREATE);
      set(creation);
      CreateDataset(file, creation, most);
    });
    EXPECT_THAT(FindArrays(file), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("/new " + message)));
  };
  const std::string properties = "has properties that a run file can't have";
  const hsize_t chunk = 1;
  expect_refused([](hid_t creation) { H5Pset_obj_track_times(creation, true); }, properties);
  expect_refused([](hid_t creation) { H5Pset_fill_value(creation, H5T_NATIVE_INT, &kUserBlockBytes); }, properties);
  expect_refused([&](hid_t creation) { H5Pset_chunk(creation, 1, &chunk); }, properties);
  expect_refused([](hid_t creation) { H5Pset_layout(creation, H5D_COMPACT); }, properties);
  expect_refused([](hid_t creation) { H5Pset_external(creation, "outside", 0, 2); }, properties);
  expect_refused([&](hid_t creation) { H5Pset_chunk(creation, 1, &chunk); }, properties, /*most=*/3);
}

// The callers of Hdf5Storage check what they pass to the library; this only tests that the memory behaves like a file.
RC_GTEST_PROP(SparseStorageTest, ReadsWhatWasWrittenLastAndZerosElsewhere, ()) {
  SparseStorage storage;
  std::string expected(20000, '\0');
  for (int i = 0; i < 20; ++i) {
    const size_t offset = *rc::gen::inRange<size_t>(0, 15000);
    const std::string bytes(*rc::gen::inRange<size_t>(0, 5000), static_cast<char>('a' + i));
    RC_ASSERT(storage.Write(offset, bytes));
    expected.replace(offset, bytes.size(), bytes);
  }
  std::string read(expected.size(), 'x');
  RC_ASSERT(storage.Read(0, read.size(), read.data()));
  RC_ASSERT(read == expected);
}

TEST(ViewStorageTest, ReadsNothingBeyondItsEnd) {
  const ViewStorage storage("abc");
  char bytes[4];
  EXPECT_TRUE(storage.Read(1, 2, bytes));
  EXPECT_FALSE(storage.Read(1, 3, bytes));
  EXPECT_FALSE(storage.Read(4, 0, bytes));
  EXPECT_FALSE(storage.Read(UINT64_MAX, 2, bytes));
}

}  // namespace
}  // namespace reprise::internal
