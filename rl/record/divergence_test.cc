#include "rl/record/divergence.h"

#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_testing.h"
#include "rl/record/table_row.h"

namespace reprise::rl {
namespace {

StepRecord Example() {
  StepRecord record;
  record.step = 12;
  record.task_P = {CompletionTaskRecord(0, {.text = "1+2=", .answer = "3", .tokens = {49, 43, 50, 61}})};
  for (int64_t sample = 0; sample < 2; ++sample) {
    EpisodeRecord episode;
    episode.sample = sample;
    episode.terminated = true;
    CompletionOf(episode).tokens = {51, 1};
    episode.logprobs = {-0.5f, -0.25f};
    episode.entropies = {0.5f, 1.25f};
    episode.ref_logprobs = {-0.5f, -0.5f};
    episode.behaviour_logprobs = {-0.25f, -0.25f};
    episode.rewards_F = {1.0};
    episode.reward = 1.0;
    record.episode_N.push_back(episode);
  }
  record.count_C = {3, 5, 1, 7};
  record.counts_per_layer = 2;
  record.metrics = {{"grad_norm", 0.5}, {"reward", 1.0}};
  record.gradient_digests = {Sha256("a"), Sha256("b")};
  record.weight_digests = {Sha256("c"), Sha256("d")};
  return record;
}

const std::vector<std::string> kNames = {"model.embed_tokens.weight", "model.norm.weight"};

TEST(FirstDivergenceTest, FindsNoneBetweenEqualRecords) {
  EXPECT_FALSE(FirstDivergence(Example(), Example(), kNames).has_value());
}

struct Case {
  std::function<void(StepRecord&)> change;
  std::string stage, tensor;
};

TEST(FirstDivergenceTest, NamesStageAndTensorOfTheFirstDifference) {
  const std::vector<Case> cases = {
      {[](StepRecord& r) { CompletionOf(r.task_P[0]).answer = "4"; }, "tasks", "prompt 0 answer"},
      {[](StepRecord& r) { CompletionOf(r.task_P[0]).tokens.pop_back(); }, "tasks", "prompt 0 number of tokens"},
      {[](StepRecord& r) { r.task_P.push_back(r.task_P[0]); }, "tasks", "number of tasks"},
      {[](StepRecord& r) { CompletionOf(r.episode_N[1]).tokens[1] = 2; }, "tokens", "prompt 0 sample 1 token 1"},
      {[](StepRecord& r) { r.episode_N[1].terminated = false; }, "tokens", "prompt 0 sample 1 terminated"},
      {[](StepRecord& r) { r.episode_N[1].sample = 2; }, "tokens", "row 1 of episodes"},
      {[](StepRecord& r) { r.episode_N.pop_back(); }, "tokens", "number of episodes"},
      {[](StepRecord& r) { r.episode_N[1].logprobs[0] = -0.75f; }, "logprobs", "prompt 0 sample 1 token 0"},
      {[](StepRecord& r) { r.episode_N[1].entropies[1] = 1; }, "logprobs", "prompt 0 sample 1 entropy at token 1"},
      {[](StepRecord& r) { r.episode_N[1].ref_logprobs[0] = -0.75f; }, "logprobs",
       "prompt 0 sample 1 under the reference token 0"},
      {[](StepRecord& r) { r.episode_N[0].ref_logprobs.clear(); }, "logprobs",
       "prompt 0 sample 0 under the reference number of tokens"},
      {[](StepRecord& r) { r.episode_N[1].behaviour_logprobs[1] = -0.75f; }, "logprobs",
       "prompt 0 sample 1 under the behaviour token 1"},
      {[](StepRecord& r) { r.count_C[3] = 6; }, "routing", "layer 1 expert 1"},
      {[](StepRecord& r) { r.episode_N[0].rewards_F[0] = 0; }, "rewards", "prompt 0 sample 0 function 0"},
      {[](StepRecord& r) { r.episode_N[0].reward = 0; }, "rewards", "prompt 0 sample 0"},
      {[](StepRecord& r) { r.episode_N[0].advantage = -0.0; }, "advantages", "prompt 0 sample 0"},
      {[](StepRecord& r) { r.gradient_digests[1] = Sha256("x"); }, "gradient", "model.norm.weight"},
      {[](StepRecord& r) { r.gradient_digests.pop_back(); }, "gradient", "number of tensors"},
      {[](StepRecord& r) { r.weight_digests[0] = Sha256("x"); }, "weights", "model.embed_tokens.weight"},
      {[](StepRecord& r) { r.metrics[0].second = 0.25; }, "metrics", "grad_norm"},
      {[](StepRecord& r) { r.metrics[1].first = "rewards"; }, "metrics", "row 1 of metrics"},
      // The cause comes before its consequence, whatever the episode.
      {[](StepRecord& r) { r.episode_N[0].reward = 0, r.episode_N[1].logprobs[1] = 0; }, "logprobs",
       "prompt 0 sample 1 token 1"},
  };
  for (const Case& c : cases) {
    StepRecord changed = Example();
    c.change(changed);
    const std::optional<Divergence> found = FirstDivergence(Example(), changed, kNames);
    ASSERT_TRUE(found.has_value()) << c.stage << " " << c.tensor;
    EXPECT_EQ(found->stage, c.stage);
    EXPECT_EQ(found->tensor, c.tensor);
    EXPECT_EQ(found->step, 12);
  }
}

// One row, or more, of every stream that completions can have.
constexpr RecordForm kAll = {true, true, true, true, true};

StepTables StepWithEveryStream() {
  StepRecord record = Example();
  for (EpisodeRecord& episode : record.episode_N) {
    TurnRecord& turn = CompletionOf(episode).turn_K.emplace_back();
    turn.action_tokens = 2;
    turn.reply = Reply();
    turn.check = ActionCheck();
  }
  GetEvaluationReplies(record) = {EvaluationReply()};
  return ToTables(record, kAll);
}

TEST(FirstDivergenceTest, LooksAtEveryColumnOfEveryStreamOfCompletions) {
  const RecordSchema schema = CompletionSchema(kAll);
  const StepTables stored = StepWithEveryStream();
  ASSERT_EQ(stored.tables.size(), schema.streams.size());
  EXPECT_FALSE(FirstDivergence(schema, stored, StepWithEveryStream(), kNames).has_value());
  for (size_t stream = 0; stream < stored.tables.size(); ++stream) {
    const StreamTable& table = stored.tables[stream];
    ASSERT_GT(table.rows(), 0);
    for (int column = kFirstOwn; column < static_cast<int>(table.schema().columns.size()); ++column) {
      StepTables changed = StepWithEveryStream();
      StreamTable& other = changed.tables[stream];
      other = StreamTable(table.schema());
      other.AppendRows(table, 0, table.rows() - 1);
      StreamTable last(table.schema());
      last.AppendRows(table, table.rows() - 1, table.rows());
      for (int each = 0; each < static_cast<int>(table.schema().columns.size()); ++each) {
        std::vector<std::byte> values(last.ValueBytes(each).begin(), last.ValueBytes(each).end());
        std::vector<int64_t> offsets(last.Offsets(each).begin(), last.Offsets(each).end());
        if (each == column && values.empty()) {  // one value instead of none
          values.resize(static_cast<size_t>(SizeOf(table.schema().columns[each].dtype)));
          offsets.back() = 1;
        } else if (each == column) {
          values.back() ^= std::byte{1};
        }
        other.AppendStored(each, values, offsets);
      }
      EXPECT_TRUE(FirstDivergence(schema, stored, changed, kNames).has_value())
          << table.schema().name << " " << table.schema().columns[column].name;
    }
    StepTables shorter = StepWithEveryStream();
    shorter.tables.erase(shorter.tables.begin() + static_cast<std::ptrdiff_t>(stream));
    const std::string& name = table.schema().name;  // digests may be lacking, and calls where they are not limited
    EXPECT_EQ(FirstDivergence(schema, stored, shorter, kNames).has_value(), name != "digests" && name != "tool_calls")
        << name;
  }
}

TEST(FirstDivergenceTest, NamesTurnsAndRepliesWhereThereAreSome) {
  const RecordSchema schema = CompletionSchema(kAll);
  StepTables changed = StepWithEveryStream();
  const auto difference = [&](size_t table, int column, auto value) {
    StepTables other = StepWithEveryStream();
    other.tables[table].MutableValues<decltype(value)>(column).back() = value;
    return FirstDivergence(schema, StepWithEveryStream(), other, kNames)->ToString();
  };
  EXPECT_EQ(difference(1, 6, int32_t{2}), "step 12, tokens, prompt 0 sample 1 turn 0 token 1: stored 1, computed 2");
  EXPECT_EQ(difference(3, 7, -0.0),
            "step 12, replies, prompt 0 sample 1 turn 0 reward: stored 0x0p+0 (0), computed -0x0p+0 (-0)");
  EXPECT_EQ(difference(6, 2, uint8_t{1}),
            "step 12, evaluation, row 0 of replies: stored held-out problem 0 sample 0 turn 0, computed on start, "
            "held-out problem 0 sample 0 turn 0");
}

// Runs of different configurations can be compared; only what both have can tell them apart by its values.
TEST(FirstDivergenceTest, AColumnThatOneRecordLacksHasNoValuesThere) {
  StepRecord without = Example();
  for (EpisodeRecord& episode : without.episode_N) episode.behaviour_logprobs.clear();
  const std::optional<Divergence> found = FirstDivergence(without, Example(), kNames);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->ToString(),
            "step 12, logprobs, prompt 0 sample 0 under the behaviour number of tokens: stored 0, computed 2");
}

// A workload without tokens: the comparison knows nothing but its schema.
TEST(FirstDivergenceTest, ComparesTheTablesOfAnyWorkload) {
  RecordSchema schema;
  schema.streams = {
      RecordStream("arms", {ScalarColumn("context", DType::kI64), FixedColumn("features", DType::kF32, 2)})};
  schema.comparisons = {{"choices", "arms", {"context"}, {ComparedColumn("features", "", "feature")}}};
  const auto step = [&](float feature) {
    StepTables tables = {Phase::kSft, 3, EmptyTables(schema.streams)};
    RowWriter(Phase::kSft, 3, tables.tables[0]).Columns(int64_t{8});
    const std::vector<float> features = {1, feature};
    tables.tables[0].AppendFixed(kFirstOwn + 1, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(features.data()),
                                                                    sizeof(float) * features.size()));
    return tables;
  };
  EXPECT_FALSE(FirstDivergence(schema, step(0.5f), step(0.5f), {}).has_value());
  EXPECT_EQ(FirstDivergence(schema, step(0.5f), step(0.25f), {})->ToString(),
            "SFT step 3, choices, context 8 feature 1: stored 0x1p-1 (0.5), computed 0x1p-2 (0.25)");
}

TEST(FirstDivergenceTest, ReportsBothValues) {
  StepRecord changed = Example();
  CompletionOf(changed.episode_N[1]).tokens[1] = 2;
  EXPECT_EQ(FirstDivergence(Example(), changed, kNames)->ToString(),
            "step 12, tokens, prompt 0 sample 1 token 1: stored 1, computed 2");
  CompletionOf(changed.task_P[0]).answer = "4\n";
  EXPECT_EQ(FirstDivergence(Example(), changed, kNames)->ToString(),
            "step 12, tasks, prompt 0 answer: stored \"3\", computed \"4\\n\"");
  changed = Example();
  changed.weight_digests[1] = Sha256("x");
  EXPECT_EQ(FirstDivergence(Example(), changed, kNames)->ToString(),
            absl::StrCat("step 12, weights, model.norm.weight: stored sha256:", ToHex(Sha256("d")),
                         ", computed sha256:", ToHex(Sha256("x"))));
}

TEST(FirstDivergenceTest, IsOneLineWhateverNamesTheRecordHas) {
  StepRecord stored = Example(), computed = Example();
  stored.metrics.push_back({"z\nPASS: 3 steps agree bit for bit (replay)", 1.0});
  computed.metrics.push_back({"zz", 1.0});
  const std::optional<Divergence> found = FirstDivergence(stored, computed, kNames);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->ToString().find('\n'), std::string::npos) << found->ToString();
}

TEST(FirstDivergenceTest, NanEqualsItself) {
  StepRecord record = Example();
  record.episode_N[0].reward = std::nan("");
  EXPECT_FALSE(FirstDivergence(record, record, kNames).has_value());
}

TEST(FirstDivergenceTest, DigestsThatOneRecordLacksAreIgnoredUnlessTheyAreRequired) {
  StepRecord undigested = Example();
  undigested.gradient_digests.clear();
  EXPECT_FALSE(FirstDivergence(undigested, Example(), kNames).has_value());
  const RecordForm form = FormOfRecord(undigested);
  const auto found = FirstDivergence(CompletionSchema(form), ToTables(undigested, form), ToTables(Example(), form),
                                     kNames, Digests::kRequired);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->ToString(), "step 12, gradient, number of tensors: stored 0, computed 2");
}

}  // namespace
}  // namespace reprise::rl
