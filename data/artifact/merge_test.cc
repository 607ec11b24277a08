#include "data/artifact/merge.h"

#include <string>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_arrays.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::ExampleHeader;
using ::reprise::testing::ExampleStep;
using ::reprise::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

class MergeSegmentsTest : public ::testing::Test {
 protected:
  // Writes a segment of these steps and returns its name.
  std::string Segment(const std::vector<int64_t>& steps, RunHeader header = ExampleHeader()) {
    Sort(header);
    StepBatch batch(header);
    for (int64_t step : steps) batch.Add(step, ExampleStep(step, 2));
    const std::string name = "segment" + std::to_string(count_++);
    EXPECT_OK(WriteFileAtomically(files_, name, EncodeContainer(SourcesOf(header, batch)).value()));
    return name;
  }

  absl::StatusOr<MergeResult> Merge(const std::vector<std::string>& segments) {
    return MergeSegments(files_, ".", segments, "run.h5", 1000, /*keep_checkpoints=*/0,
                         [] { return absl::OkStatus(); });
  }

  FakeFileSystem files_;

 private:
  int count_ = 0;
};

TEST_F(MergeSegmentsTest, AMergeOfOneSegmentIsThatSegment) {
  const std::string segment = Segment({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(const MergeResult result, Merge({segment}));
  const std::string bytes = ReadFile(files_, "run.h5", 1 << 20).value();
  EXPECT_EQ(bytes, ReadFile(files_, segment, 1 << 20).value());
  EXPECT_EQ(result.digests.file_sha256_hex, ToHex(Sha256(bytes)));
}

TEST_F(MergeSegmentsTest, AMergeOfManySegmentsIsTheSegmentOfAllSteps) {
  ASSERT_OK(Merge({Segment({}), Segment({1}), Segment({}), Segment({2, 3}), Segment({4})}));
  EXPECT_EQ(ReadFile(files_, "run.h5", 1 << 20).value(), ReadFile(files_, Segment({1, 2, 3, 4}), 1 << 20).value());
}

TEST_F(MergeSegmentsTest, RefusesSegmentsOfAnotherRunNamingTheFile) {
  RunHeader other = ExampleHeader();
  other.config_text += "# other";
  EXPECT_THAT(Merge({Segment({1}), Segment({2}, other)}), StatusIs(kDataLoss, HasSubstr("segment1: it belongs to")));
  other = ExampleHeader();
  other.streams.pop_back();
  EXPECT_THAT(Merge({Segment({1}), Segment({}, other)}), StatusIs(kDataLoss, HasSubstr("segment3: it belongs to")));
  EXPECT_FALSE(Exists(files_, "run.h5").value());
}

TEST_F(MergeSegmentsTest, RefusesStepsOutOfOrder) {
  EXPECT_THAT(Merge({Segment({1, 2}), Segment({2})}),
              StatusIs(kDataLoss, AllOf(HasSubstr("segment1"), HasSubstr("first step is 2, but step 2 is in"))));
}

TEST_F(MergeSegmentsTest, RefusesAFinishedRun) {
  ASSERT_OK(reprise::testing::WriteExampleRun(files_, "run", 2));
  EXPECT_THAT(Merge({"run/run.h5"}), StatusIs(kDataLoss, HasSubstr("not a segment")));
}

TEST_F(MergeSegmentsTest, ReplacesNothing) {
  const std::string segment = Segment({1});
  ASSERT_OK(Merge({segment}));
  EXPECT_THAT(Merge({segment}), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("run.h5")));
}

}  // namespace
}  // namespace reprise::internal
