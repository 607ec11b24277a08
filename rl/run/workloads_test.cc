#include "rl/run/workloads.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/io/read_file.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/config/workload_traits.h"

namespace reprise::rl {
namespace {

std::vector<absl::string_view> KindNames() {
  std::vector<absl::string_view> names;
  for (const WorkloadKind* kind : WorkloadKinds()) names.push_back(kind->name);
  return names;
}

// Returns a configuration whose runs have every stream and column of the workload.
Config WithAllStreams(absl::string_view workload) {
  Config config;
  config.run.workload = std::string(workload);
  config.environment.name = "grid_navigation";
  config.environment.action_mask = LearnedTokens::kAction;
  config.environment.max_tool_calls = 1;
  config.process.command = "program";
  config.evaluation.every = 1;
  config.rollout.top_k = 1;
  config.memory.task = MemoryTaskKind::kFacts;
  return config;
}

using Columns = std::vector<std::pair<std::string, std::string>>;  // name, kind as "scalar u8" or "fixed u8 32"

Columns OwnColumns(const StreamSchema& schema) {
  Columns columns;
  for (const ColumnSchema& column : schema.columns) {
    if (column.name == "phase" || column.name == "step") continue;
    const std::string width = column.kind == ColumnKind::kFixed ? absl::StrCat(" ", column.width) : "";
    columns.emplace_back(column.name, absl::StrCat(NameOf(column.kind), " ", NameOf(column.dtype), width));
  }
  return columns;
}

// Reads the streams' tables from a section of the page.
std::map<std::string, Columns> StreamsIn(absl::string_view section) {
  std::map<std::string, Columns> streams;
  std::string stream;
  for (const absl::string_view line : absl::StrSplit(section, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, '`');
    if (absl::StartsWith(line, "##### Stream `")) streams[stream = words[1]];
    if (stream.empty() || !absl::StartsWith(line, "| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    streams[stream].emplace_back(words[1], cells[1]);
  }
  return streams;
}

// Users read run.h5 with the help of this page.
TEST(WorkloadsTest, HaveTheStreamsAndColumnsOfTheFormatsPage) {
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(PosixFileSystem(), "data/artifact/FORMAT.md", 1 << 20));
  const size_t chapter = page.find("## What Reprise stores");
  ASSERT_NE(chapter, std::string::npos);
  const std::vector<std::string> sections =
      absl::StrSplit(page.substr(chapter, page.find("\n### ", chapter) - chapter), "\n#### Streams of ");
  const std::vector<absl::string_view> names = KindNames();
  ASSERT_EQ(sections.size(), names.size() + 2)
      << "the columns of all streams, the streams of every workload, and of each";
  EXPECT_TRUE(absl::StrContains(sections[0], "\n| `phase` | scalar u8 | "));
  EXPECT_TRUE(absl::StrContains(sections[0], "\n| `step` | scalar i64 | "));
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(absl::StartsWith(sections[i + 2], absl::StrCat("`", names[i], "`\n"))) << sections[i + 2];
    std::map<std::string, Columns> described = StreamsIn(sections[1]), written;
    described.merge(StreamsIn(sections[i + 2]));
    for (const StreamSchema& schema : MakeRecordSchema(WithAllStreams(names[i])).streams) {
      written.emplace(schema.name, OwnColumns(schema));
    }
    EXPECT_EQ(described, written) << names[i];
  }
}

// rl/config knows workloads by their traits, without what they are made of.
TEST(WorkloadsTest, AreTheNamesThatTheConfigurationAccepts) { EXPECT_EQ(KindNames(), WorkloadNames()); }

// CheckEpisodes counts them: it would refuse every run of a workload that names its episodes differently.
TEST(WorkloadsTest, HaveAStreamOfEpisodes) {
  for (const absl::string_view name : KindNames()) {
    const std::vector<StreamSchema> streams = MakeRecordSchema(WithAllStreams(name)).streams;
    const auto is_it = [](const StreamSchema& stream) { return stream.name == "episodes"; };
    EXPECT_EQ(std::count_if(streams.begin(), streams.end(), is_it), 1) << name;
  }
}

}  // namespace
}  // namespace reprise::rl
