#include "rl/record/completions/record_streams.h"

#include <cmath>

#include "absl/strings/string_view.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_testing.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr RecordForm kForm = RecordForm{};

TaskRecord ExampleTask(int64_t prompt) {
  return CompletionTaskRecord(prompt, {.text = "1+2=", .answer = "3", .tokens = {49, 43, 50, 61}});
}

EpisodeRecord ExampleEpisode(int64_t prompt, int64_t sample, bool with_reference) {
  EpisodeRecord episode;
  episode.prompt = prompt;
  episode.sample = sample;
  episode.terminated = sample == 0;
  const size_t tokens = static_cast<size_t>(1 + sample);
  CompletionOf(episode).tokens.assign(tokens, 51);
  episode.logprobs.assign(tokens, -0.25f);
  episode.entropies.assign(tokens, 0.75f);
  if (with_reference) episode.ref_logprobs.assign(tokens, -0.5f);
  episode.rewards_F = {0.5, 1.0};
  episode.reward = 1.5;
  episode.advantage = -0.125;
  return episode;
}

StepRecord ExampleStep(Phase phase, int64_t step) {
  StepRecord record;
  record.phase = phase;
  record.step = step;
  for (int64_t prompt = 0; prompt < 2; ++prompt) {
    record.task_P.push_back(ExampleTask(prompt));
    for (int64_t sample = 0; sample < 3; ++sample) {
      record.episode_N.push_back(ExampleEpisode(prompt, sample, phase == Phase::kTraining));
    }
  }
  record.count_C = {3, 0, 4, 1, 2, 4, 9};  // two layers, and another count
  record.counts_per_layer = 3;
  record.metrics = {{"kl", 0.5}, {"reward", 1.0}};
  record.gradient_digests = {Sha256("a"), Sha256("b")};
  record.weight_digests = {Sha256("c"), Sha256("d")};
  return record;
}

TEST(RecordStreamsTest, ReturnTheStepsThatWereWritten) {
  for (const StepRecord& record : {ExampleStep(Phase::kSft, 7), ExampleStep(Phase::kTraining, 1)}) {
    ASSERT_OK_AND_ASSIGN(const StepRecord read, FromTables(ToTables(record, kForm), kForm));
    EXPECT_EQ(read.phase, record.phase);
    EXPECT_EQ(read.step, record.step);
    const auto divergence = FirstDivergence(record, read, {});
    EXPECT_FALSE(divergence.has_value()) << divergence->ToString();
    EXPECT_EQ(read.weight_digests, record.weight_digests);
  }
}

constexpr RecordForm kFiltered = {.has_behaviour = true};

StepRecord StepOfFiltered() {
  StepRecord record = ExampleStep(Phase::kTraining, 1);
  for (EpisodeRecord& episode : record.episode_N) episode.behaviour_logprobs.assign(episode.logprobs.size(), -0.125f);
  return record;
}

TEST(RecordStreamsTest, StoreTheBehaviourWhereTokensAreNotDrawnFromTheWholeDistribution) {
  const StepRecord record = StepOfFiltered(), sft = ExampleStep(Phase::kSft, 1);
  ASSERT_OK_AND_ASSIGN(const StepRecord read, FromTables(ToTables(record, kFiltered), kFiltered));
  EXPECT_EQ(read.episode_N[1].behaviour_logprobs, record.episode_N[1].behaviour_logprobs);
  EXPECT_FALSE(FirstDivergence(record, read, {}).has_value());
  EXPECT_OK(FromTables(ToTables(sft, kFiltered), kFiltered).status());
  // The streams of other runs do not change.
  EXPECT_EQ(CompletionSchema(kFiltered).streams[1].columns.size(),
            CompletionSchema(kForm).streams[1].columns.size() + 1);
}

// Returns the step without the last value of a column of `turns` in a row.
StepTables WithoutLastValue(StepTables step, absl::string_view column_name, int64_t row) {
  StreamTable& turns = step.tables[1];
  EXPECT_EQ(turns.schema().name, "turns");
  const StreamTable before = turns;
  turns = StreamTable(before.schema());
  const int changed = *FindColumn(before.schema(), column_name);
  for (int column = 0; column < static_cast<int>(before.schema().columns.size()); ++column) {
    std::vector<std::byte> values(before.ValueBytes(column).begin(), before.ValueBytes(column).end());
    std::vector<int64_t> offsets(before.Offsets(column).begin(), before.Offsets(column).end());
    if (column == changed) {
      const int64_t size = SizeOf(before.schema().columns[column].dtype);
      const int64_t end = offsets[static_cast<size_t>(row) + 1];
      values.erase(values.begin() + (end - 1) * size, values.begin() + end * size);
      for (size_t i = static_cast<size_t>(row) + 1; i < offsets.size(); ++i) --offsets[i];
    }
    turns.AppendStored(column, values, offsets);
  }
  return step;
}

TEST(RecordStreamsTest, RejectImpossibleBehaviourLogprobs) {
  for (const float logprob : {-INFINITY, NAN, 0.5f}) {
    StepRecord record = StepOfFiltered();
    record.episode_N[2].behaviour_logprobs[1] = logprob;
    EXPECT_OK(FromTables(ToTables(record, kFiltered), kFiltered).status());  // a replay may compute it
    EXPECT_THAT(CheckTables(CompletionSchema(kFiltered), ToTables(record, kFiltered)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stream turns, row 2: a log-probability under the")));
  }
  EXPECT_THAT(FromTables(WithoutLastValue(ToTables(StepOfFiltered(), kFiltered), "behaviour_logprobs", 2), kFiltered),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("under the behaviour differs")));
}

// A step with an episode of three turns, of which the last was truncated, and one of one turn.
StepRecord StepOfTurns(bool with_reference) {
  StepRecord record;
  record.step = 2;
  record.task_P = {ExampleTask(0)};
  EpisodeRecord episode;
  episode.content =
      CompletionEpisode{.tokens = {7, 1, 20, 21, 8, 9, 30, 5},
                        .turn_K = {{0, 2, true, Reply{.observation = "ab", .reward = 0.5}},
                                   {2, 2, false, Reply{.observation = "c", .reward = -1, .truncated = true}},
                                   {1, 1, false, std::nullopt}}};
  episode.logprobs = {-1, -2, 0, 0, -3, -4, 0, -5};
  episode.entropies = {1, 2, 0, 0, 3, 4, 0, 5};
  if (with_reference) episode.ref_logprobs = {-2, -3, 0, 0, -4, -5, 0, -6};
  episode.rewards_F = {-0.5};
  record.episode_N = {episode, episode};
  record.episode_N[1].sample = 1;
  record.episode_N[1].content = CompletionEpisode{
      .tokens = {7, 1}, .turn_K = {{0, 2, true, Reply{.observation = "", .reward = 1, .done = true}}}};
  record.episode_N[1].logprobs = {-1, -2};
  record.episode_N[1].entropies = {1, 2};
  if (with_reference) record.episode_N[1].ref_logprobs = {-1, -1};
  record.episode_N[1].terminated = true;
  return record;
}

TEST(RecordStreamsTest, ReturnMultiTurnEpisodes) {
  for (const bool with_reference : {false, true}) {
    const StepRecord record = StepOfTurns(with_reference);
    ASSERT_OK_AND_ASSIGN(const StepRecord read,
                         FromTables(ToTables(record, RecordForm{.has_turns = true}), RecordForm{.has_turns = true}));
    const auto divergence = FirstDivergence(record, read, {});
    EXPECT_FALSE(divergence.has_value()) << divergence->ToString();
  }
}

StepRecord StepOfChecks() {
  StepRecord record = StepOfTurns(false);
  std::vector<TurnRecord>& turn_K = CompletionOf(record.episode_N[0]).turn_K;
  turn_K[0].check = {{MaskMethod::kJson, true, 1, 2}};
  turn_K[1].check = {{MaskMethod::kLast, false, 0, 0}};
  turn_K[2].check = {{MaskMethod::kFailed, false, 0, 0}};
  CompletionOf(record.episode_N[1]).turn_K[0].check = {{MaskMethod::kPattern, true, 0, 2}};
  return record;
}

TEST(RecordStreamsTest, ReturnTheChecksOfActions) {
  constexpr auto kChecked = RecordForm{.has_turns = true, .checks_actions = true};
  const StepRecord record = StepOfChecks();
  ASSERT_OK_AND_ASSIGN(StepRecord read, FromTables(ToTables(record, kChecked), kChecked));
  const auto divergence = FirstDivergence(record, read, {});
  EXPECT_FALSE(divergence.has_value()) << divergence->ToString();
  CompletionOf(read.episode_N[0]).turn_K[1].check->learned_end = 1;
  EXPECT_EQ(FirstDivergence(record, read, {})->stage, "actions");
  StepRecord sft = StepOfTurns(false);  // whose actions are not checked
  sft.phase = Phase::kSft;
  EXPECT_OK(FromTables(ToTables(sft, kChecked), kChecked).status());
}

StepRecord StepWithEvaluations() {
  StepRecord record = StepOfTurns(false);
  GetEvaluationReplies(record) = {
      {.on_start = true, .greedy = true, .reply = {.observation = "no", .reward = -1}},
      {.prompt = 3,
       .sample = 1,
       .turn = 2,
       .reply = {.observation = "", .reward = 1, .done = true},
       .asked = {std::byte{7}}},
      {.prompt = 3, .sample = 1, .turn = EvaluationReply::kScore, .reply = {.reward = 0.25}},
      {.prompt = 4, .sample = 0, .turn = 0, .reply = {.observation = "x", .truncated = true}}};
  return record;
}

constexpr RecordForm kEvaluated = {.has_turns = true, .evaluates_outside = true};

TEST(RecordStreamsTest, ReturnTheRepliesOfEvaluations) {
  const StepRecord record = StepWithEvaluations();
  ASSERT_OK_AND_ASSIGN(StepRecord read, FromTables(ToTables(record, kEvaluated), kEvaluated));
  EXPECT_EQ(GetEvaluationReplies(read).size(), GetEvaluationReplies(record).size());
  EXPECT_FALSE(FirstDivergence(record, read, {}).has_value());
  GetEvaluationReplies(read)[2].reply.reward = 0.5;
  const auto other = FirstDivergence(record, read, {});
  EXPECT_EQ(other->ToString(),
            "step 2, evaluation, held-out problem 3 sample 1 score reward: stored 0x1p-2 (0.25), "
            "computed 0x1p-1 (0.5)");
  GetEvaluationReplies(read) = GetEvaluationReplies(record);
  GetEvaluationReplies(read).pop_back();
  EXPECT_EQ(FirstDivergence(record, read, {})->tensor, "number of replies");
}

TEST(RecordStreamsTest, RejectEvaluationRepliesWithInvalidFlags) {
  for (const int column : {2, 3, 9, 10}) {
    StepTables step = ToTables(StepWithEvaluations(), kEvaluated);
    step.tables[4].MutableValues<uint8_t>(column)[1] = 2;
    EXPECT_THAT(FromTables(step, kEvaluated).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         ContainsRegex("stream evaluation_replies, row 1: its [a-z_]* is neither 0 nor 1")));
  }
}

TEST(RecordStreamsTest, RejectChecksThatDoNotMatchTheirTurns) {
  const auto with = [](int column, int64_t row, auto value) {
    StepTables step = ToTables(StepOfChecks(), RecordForm{.has_turns = true, .checks_actions = true});
    step.tables[4].MutableValues<decltype(value)>(column)[row] = value;
    return FromTables(step, RecordForm{.has_turns = true, .checks_actions = true}).status();
  };
  constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
  EXPECT_THAT(with(4, 1, int64_t{2}), StatusIs(kDataLoss, HasSubstr("its row of actions is missing")));
  EXPECT_THAT(with(5, 1, uint8_t{4}), StatusIs(kDataLoss, HasSubstr("not a known value")));
  EXPECT_THAT(with(6, 1, uint8_t{2}), StatusIs(kDataLoss, HasSubstr("its valid is neither 0 nor 1")));
  EXPECT_THAT(with(7, 1, int64_t{-1}), StatusIs(kDataLoss, HasSubstr("learned tokens are not within")));
  EXPECT_THAT(with(8, 0, int64_t{3}), StatusIs(kDataLoss, HasSubstr("learned tokens are not within")));
  EXPECT_THAT(with(7, 1, int64_t{1}), StatusIs(kDataLoss, HasSubstr("learned tokens are not within")));
}

TEST(RecordStreamsTest, RejectInconsistentTurns) {
  const auto with = [](size_t stream, int column, int64_t row, auto value) {
    StepTables step = ToTables(StepOfTurns(true), RecordForm{.has_turns = true});
    step.tables[stream].MutableValues<decltype(value)>(column)[row] = value;
    return FromTables(step, RecordForm{.has_turns = true}).status();
  };
  constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
  EXPECT_THAT(with(1, 4, 1, int64_t{2}), StatusIs(kDataLoss, HasSubstr("its turn is out of order")));
  EXPECT_THAT(with(1, 3, 2, int64_t{5}), StatusIs(kDataLoss, HasSubstr("its episode is missing")));
  EXPECT_THAT(with(3, 4, 1, int64_t{2}), StatusIs(kDataLoss, HasSubstr("its reply is missing")));
  EXPECT_THAT(with(3, 8, 1, uint8_t{2}), StatusIs(kDataLoss, HasSubstr("its done is neither 0 nor 1")));
  EXPECT_THAT(with(3, 5, 1, uint8_t{0}), StatusIs(kDataLoss, HasSubstr("it has content although")));
  EXPECT_THAT(with(3, 7, 1, 1e19), StatusIs(kDataLoss, HasSubstr("its reward is out of bounds")));
  EXPECT_THAT(with(3, 7, 1, std::nan("")), StatusIs(kDataLoss, HasSubstr("its reward is out of bounds")));
}

TEST(RecordStreamsTest, RejectValuesThatAreNeverWritten) {
  const auto with = [](size_t stream, int column, auto value) {
    StepTables step = ToTables(ExampleStep(Phase::kTraining, 1), kForm);
    step.tables[stream].MutableValues<decltype(value)>(column)[0] = value;
    return CheckTables(CompletionSchema(kForm), step);
  };
  EXPECT_THAT(with(1, 4, int64_t{1}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its turn is not 0")));
  EXPECT_THAT(with(1, 10, uint8_t{2}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("neither 0 nor 1")));
  EXPECT_THAT(with(5, 2, uint8_t{2}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its kind is neither")));
  EXPECT_THAT(with(5, 3, int32_t{1}), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 0: its tensor is out of")));
  EXPECT_THAT(with(4, 0, uint8_t{9}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stream metrics, row 0: it belongs to another step")));
  EXPECT_THAT(with(2, 1, int64_t{2}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stream episodes, row 0: it belongs to another step")));
}

TEST(RecordStreamsTest, RejectRowsThatBelongToNoTurn) {
  for (const size_t stream : {2, 3, 4}) {
    const RecordForm form = {.has_turns = true, .checks_actions = true};
    StepTables step = ToTables(StepOfChecks(), form);
    step.tables[stream].AppendRows(StreamTable(step.tables[stream]), 0, 1);
    EXPECT_THAT(FromTables(step, form).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("it belongs to no turn")));
  }
}

TEST(RecordStreamsTest, RejectAGradientThatFollowsWeights) {
  StepTables step = ToTables(ExampleStep(Phase::kTraining, 1), kForm);
  StreamTable& digests = step.tables[5];
  const StreamTable before = digests;
  digests = StreamTable(before.schema());
  for (const int64_t row : {0, 2, 1, 3}) digests.AppendRows(before, row, row + 1);
  EXPECT_THAT(CheckTables(CompletionSchema(kForm), step),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stream digests, row 2: a gradient follows weights")));
}

TEST(RecordStreamsTest, RejectLayersThatAreOutOfOrderOrOfAnotherSize) {
  const auto refused = [](std::vector<int64_t> rows, const char* why) {
    StepTables step = ToTables(ExampleStep(Phase::kTraining, 1), kForm);
    const StreamTable before = step.tables[3];
    step.tables[3] = StreamTable(before.schema());
    for (const int64_t row : rows) step.tables[3].AppendRows(before, row, row + 1);
    EXPECT_THAT(CheckTables(CompletionSchema(kForm), step), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(why)));
  };
  refused({0, 1, 1}, "stream routing, row 2: its layer is out of order");
  refused({1}, "stream routing, row 0: its layer is out of order");
  StepRecord longer = ExampleStep(Phase::kTraining, 1);
  longer.count_C = {3, 0, 4, 1};
  longer.counts_per_layer = 1;
  StepTables step = ToTables(longer, kForm);
  const StreamTable of_three = ToTables(ExampleStep(Phase::kTraining, 1), kForm).tables[3];
  const StreamTable of_one = step.tables[3];
  step.tables[3] = StreamTable(of_one.schema());
  step.tables[3].AppendRows(of_one, 0, 1);
  step.tables[3].AppendRows(of_three, 1, 2);
  EXPECT_THAT(CheckTables(CompletionSchema(kForm), step),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differs from that of the first layer")));
}

TEST(RecordStreamsTest, RejectDifferentNumbersOfLogProbabilitiesAndTokens) {
  const StepTables step = ToTables(ExampleStep(Phase::kTraining, 1), kForm);
  EXPECT_THAT(FromTables(WithoutLastValue(step, "logprobs", 2), kForm),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("stream turns, row 2: it has no tokens, or")));
  EXPECT_THAT(FromTables(WithoutLastValue(step, "entropies", 2), kForm),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its number of entropies differs")));
  EXPECT_THAT(FromTables(WithoutLastValue(step, "ref_logprobs", 2), kForm),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("by the reference differs")));
}

}  // namespace
}  // namespace reprise::rl
