// Files that were damaged, truncated, or edited with all digests recomputed.

#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/random/draw.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/format/run_arrays.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "data/artifact/testing/rewrite.h"
#include "gtest/gtest.h"
#include "kernels/contract/numeric_contract.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using testing::RewriteRun;
using testing::StatusIs;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

std::string ExampleFile() {
  FakeFileSystem files;
  EXPECT_OK(testing::WriteExampleRun(files, "run", 4));
  return ReadFile(files, "run/run.h5", 1 << 24).value();
}

absl::StatusOr<RunReader> OpenBytes(FakeFileSystem& files, absl::string_view bytes) {
  files.Unlink("a.h5").IgnoreError();
  EXPECT_OK(WriteFileAtomically(files, "a.h5", bytes));
  return RunReader::Open(files, "a.h5");
}

// Returns the file without the array `dropped` and with the arrays `added`; all digests match.
std::string Forged(absl::string_view file, absl::string_view dropped, std::vector<internal::ArraySource> added) {
  const internal::StoredRun run = internal::ParseRun(file).value();
  std::vector<internal::ArraySource> sources = std::move(added);
  for (const internal::ArrayView& array : run.container.arrays) {
    if (array.info.path != dropped) sources.push_back(internal::SourceOf(array.info, array.bytes));
  }
  return internal::EncodeContainer(std::move(sources)).value();
}

TEST(RunDamageTest, RefusesTwoThousandFilesWithOneFlippedBit) {
  std::string file = ExampleFile();
  FakeFileSystem files;
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t bit = DrawBelow(1, Purpose::kTest, {.token = i}, file.size() * 8);
    const char flip = static_cast<char>(1 << bit % 8);
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ flip);
    ASSERT_THAT(OpenBytes(files, file), StatusIs(kDataLoss, HasSubstr("a.h5: it"))) << "bit " << bit;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ flip);
  }
  EXPECT_OK(OpenBytes(files, file));
}

TEST(RunDamageTest, RefusesTruncatedOrExtendedFiles) {
  const std::string file = ExampleFile();
  FakeFileSystem files;
  for (size_t size = 0; size < file.size(); size += size < 600 ? 37 : 977) {
    ASSERT_THAT(OpenBytes(files, file.substr(0, size)), StatusIs(kDataLoss, HasSubstr("truncated"))) << size;
  }
  EXPECT_THAT(OpenBytes(files, file + "x"), StatusIs(kDataLoss, HasSubstr("appended to")));
}

TEST(RunDamageTest, RefusesOtherFiles) {
  FakeFileSystem files;
  EXPECT_THAT(OpenBytes(files, "{}"), StatusIs(kDataLoss, HasSubstr("not a run file")));
  EXPECT_THAT(OpenBytes(files, ExampleFile().substr(512)), StatusIs(kDataLoss, HasSubstr("not a run file")));
}

TEST(RewriteRunTest, ReturnsTheSameBytesWhenNothingIsEdited) {
  const std::string file = ExampleFile();
  EXPECT_EQ(RewriteRun(file, [](auto&) {}).value(), file);
}

TEST(RewriteRunTest, MakesAnEditedRunThatOpens) {
  FakeFileSystem files;
  const std::string file = ExampleFile();
  ASSERT_OK_AND_ASSIGN(const std::string edited, RewriteRun(file, [](auto& streams) {
                         streams.at("episodes").template MutableValues<float>(6)[4] = 42.0f;
                       }));
  ASSERT_OK_AND_ASSIGN(const RunReader before, OpenBytes(files, file));
  ASSERT_OK_AND_ASSIGN(const RunReader after, OpenBytes(files, edited));
  EXPECT_EQ(after.ReadStream("episodes", 2).value().Values<float>(6)[1], 42.0f);
  EXPECT_NE(after.run_digest_hex(), before.run_digest_hex());
  EXPECT_OK(after.ReadCheckpoint(2, "weights"));
}

TEST(RewriteRunTest, RowsMayBeRemoved) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(const std::string edited, RewriteRun(ExampleFile(), [](auto& streams) {
                         StreamTable& episodes = streams.at("episodes");
                         StreamTable fewer(episodes.schema());
                         fewer.AppendRows(episodes, 0, 4);
                         episodes = std::move(fewer);
                       }));
  ASSERT_OK_AND_ASSIGN(const RunReader reader, OpenBytes(files, edited));
  EXPECT_EQ(reader.ReadStream("episodes", 2).value().rows(), 1);
  EXPECT_EQ(reader.ReadStream("episodes", 3).value().rows(), 0);
}

TEST(ForgedRunTest, RefusesContradictionsThatAllDigestsSupport) {
  using internal::OwningSourceOf;
  using internal::SourceOf;
  const std::string file = ExampleFile();
  FakeFileSystem files;
  const auto expect_refused = [&](const std::string& path, std::vector<internal::ArraySource> added,
                                  absl::string_view message) {
    EXPECT_THAT(OpenBytes(files, Forged(file, path, std::move(added))),
                StatusIs(kDataLoss, HasSubstr(std::string(message))));
  };
  const auto list = [](const std::string& path, const std::vector<int64_t>& values) {
    std::vector<internal::ArraySource> sources;
    sources.push_back(OwningSourceOf({path, DType::kI64, {static_cast<int64_t>(values.size())}},
                                     {reinterpret_cast<const char*>(values.data()), values.size() * 8}));
    return sources;
  };
  expect_refused("/run/config", {}, "it has no /run/config");
  expect_refused("/streams/metrics/value", {}, "it has no /streams/metrics/value");
  expect_refused("", list("/streams/metrics/extra", {1}), "unexpected dataset /streams/metrics/extra");
  expect_refused("/steps/step", list("/steps/step", {1, 2, 2, 4}), "are not ascending");
  expect_refused("/steps/step", list("/steps/step", {1, 2}), "/steps/rows/episodes does not fit");
  expect_refused("/steps/rows/metrics", list("/steps/rows/metrics", {1, 2, 3, 5}), "/steps/rows/metrics does not fit");
  expect_refused("/steps/rows/metrics", list("/steps/rows/metrics", {-1, 2, 3, 4}), "/steps/rows/metrics does not fit");
  const std::string offsets = "/streams/metrics/name.offsets";
  expect_refused(offsets, list(offsets, {0, 6, 12, 18, 25}), "ends with 25, but there are 24 values");
  expect_refused(offsets, list(offsets, {0, 19, 12, 18, 24}), "falls at row 2");
  expect_refused(offsets, list(offsets, {6, 6, 12, 18, 24}), "does not begin with 0");
  expect_refused(offsets, list(offsets, {0, 6, 12, 24}), "rows");
  expect_refused(offsets, list(offsets, {}), "does not hold offsets");
  expect_refused("/streams/metrics/value", list("/streams/metrics/value", {1, 2, 3, 4}), "is not of f64");
  expect_refused("/run/numeric_contract", list("/run/numeric_contract", {kNumericContract + 1}),
                 "not that of the user block");
  expect_refused("/checkpoints/index/step", list("/checkpoints/index/step", {2, 3, 2, 2, 3, 2}), "appears twice");
  expect_refused("/checkpoints/2/weights/count", list("/checkpoints/2/weights/count", {1}), "differs from the index");
  expect_refused("/checkpoints/2/weights/count", {}, "it has no /checkpoints/2/weights/count");
  // Of the right type and shape, with other elements.
  ASSERT_OK_AND_ASSIGN(const internal::StoredRun run, internal::ParseRun(file));
  ASSERT_OK_AND_ASSIGN(const internal::ArrayView* count, run.container.Find("/checkpoints/2/weights/count"));
  std::string elements(count->bytes);
  elements[0] = static_cast<char>(elements[0] ^ 1);
  std::vector<internal::ArraySource> other;
  other.push_back(OwningSourceOf(count->info, elements));
  expect_refused("/checkpoints/2/weights/count", std::move(other), "differs from the index");
}

}  // namespace
}  // namespace reprise
