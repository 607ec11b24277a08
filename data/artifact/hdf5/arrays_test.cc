#include "data/artifact/hdf5/arrays.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

// A file with this layout and all elements zero.
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

TEST(LayOutArraysTest, GivesEveryArrayAPlaceOfItsOwnThatFindArraysFindsAgain) {
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
      ASSERT_EQ(taken[static_cast<size_t>(at)]++, 0) << "shared by " << arrays[i].path;
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

TEST(FindArraysTest, RefusesAFileCutShort) {
  const std::string file = FileOf(LayOutArrays(Arrays()).value());
  for (size_t size : {file.size() - 1, file.size() / 2, size_t{1000}, size_t{600}, size_t{512}}) {
    EXPECT_THAT(FindArrays(file.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("run file")));
  }
}

// What Hdf5Storage passes to the library is checked by its user; here only that memory behaves as a file would.
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
