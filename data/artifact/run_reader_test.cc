#include "data/artifact/run_reader.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_writer.h"
#include "data/artifact/testing/example_run.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ExampleHeader;
using testing::ExampleStep;
using testing::ExampleTensors;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;
using testing::WriteExampleRun;

class RunReaderTest : public ::testing::Test {
 protected:
  RunReader Written(int64_t steps, const RunWriterOptions& options = {}) {
    EXPECT_OK(WriteExampleRun(files_, "run", steps, options));
    return RunReader::Open(files_, "run/run.h5").value();
  }

  FakeFileSystem files_;
};

void ExpectEqual(const StreamTable& a, const StreamTable& b) {
  ASSERT_EQ(a.schema(), b.schema());
  for (int column = 0; column < static_cast<int>(a.schema().columns.size()); ++column) {
    EXPECT_EQ(a.ValueBytes(column), b.ValueBytes(column)) << a.schema().columns[column].name;
    EXPECT_EQ(a.Offsets(column), b.Offsets(column)) << a.schema().columns[column].name;
  }
}

TEST_F(RunReaderTest, ReturnsWhatWasWrittenStepByStepAndWhole) {
  const RunReader reader = Written(5, {.segment_steps = 2});
  EXPECT_THAT(reader.steps(), ElementsAre(1, 2, 3, 4, 5));
  StreamTable whole(reader.streams()[0].schema);
  for (int64_t step : reader.steps()) {
    const std::vector<StreamTable> expected = ExampleStep(step, 3);
    ExpectEqual(reader.ReadStream("episodes", step).value(), expected[0]);
    ExpectEqual(reader.ReadStream("metrics", step).value(), expected[1]);
    whole.AppendRows(expected[0], 0, 3);
  }
  ExpectEqual(reader.ReadStream("episodes").value(), whole);
}

TEST_F(RunReaderTest, ReturnsTheHeaderSortedByName) {
  const RunReader reader = Written(1);
  RunHeader expected = ExampleHeader();
  Sort(expected);
  EXPECT_EQ(reader.header(), expected);
  EXPECT_EQ(reader.config_text(), "[run]\nseed = 1\n");
  EXPECT_EQ(reader.config_sha256_hex(), ToHex(Sha256(reader.config_text())));
}

TEST_F(RunReaderTest, DescribesStreamsAndCheckpoints) {
  const RunReader reader = Written(2, {.max_inline_checkpoint_bytes = 500});
  ASSERT_EQ(reader.streams().size(), 2u);
  const StreamInfo episodes = reader.streams()[0];
  EXPECT_EQ(episodes.schema.name, "episodes");
  EXPECT_EQ(episodes.rows, 6);
  EXPECT_EQ(episodes.column_bytes[0], 48);
  EXPECT_EQ(episodes.column_bytes[3], 6 * 7 + 7 * 8);  // "row 100" and offsets
  ASSERT_EQ(reader.checkpoints().size(), 2u);
  EXPECT_THAT(reader.checkpoints()[0].tensors, ElementsAre("model.layers.0.weight", "model.empty", "count"));
  EXPECT_EQ(reader.checkpoints()[0].bytes, 408);
  EXPECT_FALSE(reader.checkpoints()[0].is_external);
  EXPECT_TRUE(reader.checkpoints()[1].is_external);
}

TEST_F(RunReaderTest, ReadsCheckpointsWhereverTheyAreStored) {
  const RunReader reader = Written(2, {.max_inline_checkpoint_bytes = 500});
  for (const auto& [group, expected] :
       {std::pair("weights", ExampleTensors(7, 100)), std::pair("optimizer", ExampleTensors(9, 200))}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> tensors, reader.ReadCheckpoint(2, group));
    ASSERT_EQ(tensors.size(), expected.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(tensors[i].name(), expected[i].name());
      EXPECT_EQ(tensors[i].dtype(), expected[i].dtype());
      EXPECT_EQ(tensors[i].shape(), expected[i].shape());
      EXPECT_EQ(tensors[i].bytes(), expected[i].bytes());
    }
  }
}

TEST_F(RunReaderTest, ReadsARunWithoutStepsAndStreamsWithoutRows) {
  const RunReader reader = Written(0);
  EXPECT_THAT(reader.steps(), IsEmpty());
  EXPECT_EQ(reader.ReadStream("episodes").value().rows(), 0);
  EXPECT_THAT(reader.checkpoints(), IsEmpty());

  RunWriter writer = RunWriter::Create(files_, "empty", {}).value();
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(RunReader::Open(files_, "empty/run.h5").value().streams(), IsEmpty());
}

TEST_F(RunReaderTest, ReadsRowsOfMillionsOfValues) {
  const StreamSchema schema = {"s", 1, {RaggedColumn("tokens", DType::kI32)}};
  RunWriter writer =
      RunWriter::Create(files_, "large", {.config_text = "", .external_files = {}, .streams = {schema}}).value();
  std::vector<int32_t> tokens(3'000'000);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7);
  for (int64_t step : {1, 2}) {
    StreamTable table(schema);
    table.AppendRaggedI32(0, tokens);
    ASSERT_OK(writer.CommitStep(step, {std::move(table)}));
  }
  ASSERT_OK(writer.Finish());
  ASSERT_OK_AND_ASSIGN(const RunReader reader, RunReader::Open(files_, "large/run.h5"));
  EXPECT_EQ(reader.ReadStream("s", 2).value().Row<int32_t>(0, 0), tokens);
}

TEST_F(RunReaderTest, ListsWhatExistsWhenSomethingElseIsRequested) {
  const RunReader reader = Written(2);
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(reader.ReadStream("episode"), StatusIs(kNotFound, HasSubstr("it has episodes, metrics")));
  EXPECT_THAT(reader.ReadStream("episodes", 3), StatusIs(kNotFound, HasSubstr("no step 3")));
  EXPECT_THAT(reader.ReadCheckpoint(1, "weights"), StatusIs(kNotFound, HasSubstr("step 1, group \"weights\"")));
  EXPECT_THAT(RunReader::Open(files_, "no.h5"), StatusIs(kNotFound, HasSubstr("no.h5")));
}

TEST_F(RunReaderTest, SaysWhichCheckpointFileIsMissingOrDamaged) {
  const RunReader reader = Written(2, {.max_inline_checkpoint_bytes = 500});
  const std::string path = absl::StrCat("run/checkpoints/", files_.List("run/checkpoints").value()[0]);
  std::string bytes = ReadFile(files_, path, 1 << 20).value();
  ASSERT_OK(files_.Unlink(path));
  EXPECT_THAT(reader.ReadCheckpoint(2, "optimizer"),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr(path), HasSubstr("copy it"))));
  bytes[3] = static_cast<char>(bytes[3] ^ 1);
  ASSERT_OK(WriteFileAtomically(files_, path, bytes));
  EXPECT_THAT(reader.ReadCheckpoint(2, "optimizer"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
}

}  // namespace
}  // namespace reprise
