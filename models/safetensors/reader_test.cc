#include "models/safetensors/reader.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/testing/goldens.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/safetensors/writer.h"

namespace reprise::models {
namespace {

using reprise::testing::StatusIs;

int mapping_error = 0;  // of a file system that does not map files

std::string TempPath(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::filesystem::remove(path);
  return path;
}

TEST(SafetensorsFileTest, ReadsEveryGoldenFileAndWritesItsBytesAgain) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::GoldensDirectory())) {
    if (entry.path().extension() != ".safetensors") continue;
    ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(entry.path()));
    EXPECT_FALSE(file.tensors().empty());
    ++files;
    if (file.metadata() != std::map<std::string, std::string>{{"format", "pt"}}) continue;
    const std::string copy = TempPath("copy.safetensors");
    ASSERT_OK(WriteSafetensors(PosixFileSystem(), copy, file.tensors()));
    EXPECT_EQ(*ReadFile(PosixFileSystem(), copy, 1 << 30), *ReadFile(PosixFileSystem(), entry.path().string(), 1 << 30))
        << entry.path();
  }
  EXPECT_GT(files, 0);
}

TEST(SafetensorsFileTest, FindsTensorsByName) {
  Tensor a("a", DType::kF32, {2}), b("b", DType::kI64, {1});
  a.mutable_data<float>()[1] = 3.0f;
  b.mutable_data<int64_t>()[0] = -7;
  const std::string path = TempPath("two.safetensors");
  ASSERT_OK(WriteSafetensors(PosixFileSystem(), path, {b.view(), a.view()}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, SafetensorsFile::Open(path));
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_EQ(file.Find("c"), nullptr);
  EXPECT_THAT(file.Get("c"), StatusIs(absl::StatusCode::kNotFound, path + ": tensor c is missing"));
  ASSERT_OK_AND_ASSIGN(const TensorView read, file.Get("a"));
  EXPECT_EQ(read.data<float>()[1], 3.0f);
  EXPECT_EQ(file.Find("b")->data<int64_t>()[0], -7);
}

TEST(SafetensorsFileTest, ViewsOutliveAMoveOfTheFile) {
  const std::string path = TempPath("moved.safetensors");
  ASSERT_OK(WriteSafetensors(PosixFileSystem(), path, {Tensor("a", DType::kF32, {2}).view()}));
  ASSERT_OK_AND_ASSIGN(SafetensorsFile file, SafetensorsFile::Open(path));
  const TensorView view = *file.Get("a");
  const SafetensorsFile moved = std::move(file);
  EXPECT_EQ(view.data<float>()[0], 0.0f);
}

TEST(SafetensorsFileTest, AFileThatCannotBeMappedIsRead) {
  const std::string path = TempPath("unmapped.safetensors"), cut = TempPath("cut.safetensors");
  Tensor a("a", DType::kF32, {3});
  a.mutable_data<float>()[2] = 5.0f;
  ASSERT_OK(WriteSafetensors(PosixFileSystem(), path, {a.view()}));
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), cut, ReadFile(PosixFileSystem(), path, 1 << 20)->substr(0, 30)));
  for (const int error : {ENODEV, EINVAL, EACCES, ENOSYS}) {
    mapping_error = error;
    const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path), damaged = SafetensorsFile::Open(cut);
    mapping_error = 0;
    ASSERT_OK(file);
    EXPECT_EQ(file->Find("a")->data<float>()[2], 5.0f);
    EXPECT_THAT(damaged, StatusIs(absl::StatusCode::kDataLoss, ::testing::StartsWith(cut + ": ")));
  }
  mapping_error = ENOMEM;
  const absl::Status status = SafetensorsFile::Open(path).status();
  mapping_error = 0;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, ::testing::HasSubstr(path)));
}

TEST(SafetensorsFileTest, ErrorsBeginWithTheFilesName) {
  EXPECT_THAT(SafetensorsFile::Open("no/such.safetensors"),
              StatusIs(absl::StatusCode::kNotFound, "cannot open no/such.safetensors: No such file or directory"));
  EXPECT_THAT(SafetensorsFile::Open(::testing::TempDir()),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::TempDir() + ": not a regular file"));
  EXPECT_THAT(SafetensorsFile::Open("/dev/null"),
              StatusIs(absl::StatusCode::kDataLoss, "/dev/null: not a regular file"));
  const std::string path = TempPath("short.safetensors");
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path, std::string("\x01\0\0", 3)));
  EXPECT_THAT(SafetensorsFile::Open(path),
              StatusIs(absl::StatusCode::kDataLoss, path + ": the file has 3 bytes; a safetensors file has 8 or more"));
  std::filesystem::remove(path);
  ASSERT_OK(WriteFileAtomically(PosixFileSystem(), path, ""));
  EXPECT_THAT(SafetensorsFile::Open(path), StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("0 bytes")));
}

}  // namespace
}  // namespace reprise::models

// Takes the place of libc's.
extern "C" void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (reprise::models::mapping_error != 0 && file >= 0) {
    errno = reprise::models::mapping_error;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, protection, flags, file, offset));
}
