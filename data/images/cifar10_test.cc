#include "data/images/cifar10.h"

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/file_system.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::data {
namespace {

using ::reprise::testing::StatusIs;

using ::testing::HasSubstr;

constexpr Cifar10Limits kSmall = {.records = 2, .train = 7, .validation = 1};

// Record r of file f: label (f + r) % 10, pixels f.
std::string Batch(int file, int64_t records = 2) {
  std::string bytes;
  for (int64_t record = 0; record < records; ++record) {
    bytes.push_back(static_cast<char>((file + record) % 10));
    bytes.append(3072, static_cast<char>(file));
  }
  return bytes;
}

std::string NameOf(int file) { return file == 6 ? "test_batch.bin" : "data_batch_" + std::to_string(file) + ".bin"; }

class Cifar10Test : public ::testing::Test {
 protected:
  Cifar10Test() {
    EXPECT_OK(CreateDirectories(files_, "/cifar"));
    for (int file = 1; file <= 6; ++file) Write(file, Batch(file));
  }
  void Write(int file, const std::string& bytes) {
    const std::string path = "/cifar/" + NameOf(file);
    files_.Unlink(path).IgnoreError();
    EXPECT_OK(WriteFileAtomically(files_, path, bytes));
  }

  FakeFileSystem files_;
};

TEST_F(Cifar10Test, ReadsTheFilesInOrderAndKeepsTheFirstImages) {
  ASSERT_OK_AND_ASSIGN(const Cifar10 cifar, ReadCifar10(files_, "/cifar", kSmall));
  EXPECT_EQ(cifar.splits.train.label_N, (std::vector<uint8_t>{1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(cifar.splits.train.image(6), absl::MakeConstSpan(std::vector<uint8_t>(3072, 4)));
  EXPECT_EQ(cifar.splits.validation.label_N, (std::vector<uint8_t>{6}));
  EXPECT_EQ(cifar.sha256_of_file.size(), 6u);
  EXPECT_EQ(cifar.sha256_of_file[0], Sha256(Batch(1)));
}

TEST_F(Cifar10Test, AMissingFileSaysWhereToGetIt) {
  ASSERT_OK(files_.Unlink("/cifar/data_batch_3.bin"));
  EXPECT_THAT(ReadCifar10(files_, "/cifar", kSmall),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/cifar/data_batch_3.bin is missing")));
}

TEST_F(Cifar10Test, AFileInPlaceOfTheFolderSaysWhatToName) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/data_batch_1.bin");
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), file, "x"));
  EXPECT_THAT(ReadCifar10(PosixFileSystem(), file, kSmall),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data_batch_1.bin is a file: morphogenesis.data_path must name a folder")));
}

TEST_F(Cifar10Test, AnErrorOfTheDiskStaysOne) {
  files_.FailCall(files_.calls() + 2, EACCES);  // after the look at the folder and at the first file
  const absl::Status status = ReadCifar10(files_, "/cifar", kSmall).status();
  EXPECT_TRUE(IsFileError(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("morphogenesis.data_path"));
}

TEST_F(Cifar10Test, AFileOfAnotherSizeIsDamaged) {
  for (const std::string& bytes : {Batch(2, 1), Batch(2, 3), Batch(2).substr(1), std::string()}) {
    Write(2, bytes);
    EXPECT_THAT(ReadCifar10(files_, "/cifar", kSmall),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data_batch_2.bin")))
        << bytes.size();
  }
  Write(2, "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(ReadCifar10(files_, "/cifar", kSmall).status().message(),
              HasSubstr("data_batch_2.bin: this is a pointer of Git LFS"));
}

TEST_F(Cifar10Test, ALabelAboveNineIsDamagedEvenInAnImageThatIsNotKept) {
  std::string bytes = Batch(6);
  bytes[3073] = 10;
  Write(6, bytes);
  EXPECT_THAT(ReadCifar10(files_, "/cifar", kSmall),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("test_batch.bin, record 1: its label is 10")));
}

}  // namespace
}  // namespace reprise::data
