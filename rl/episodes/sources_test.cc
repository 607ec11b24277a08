#include "rl/episodes/sources.h"

#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

models::DecoderConfig SmallDecoder() {
  models::DecoderConfig decoder;
  decoder.vocab_size = 10;
  decoder.max_position_embeddings = 6;
  decoder.eos_token_id = {1};
  return decoder;
}

EpisodeRecord Stored(int64_t prompt, int64_t sample, std::vector<int32_t> tokens) {
  EpisodeRecord episode;
  episode.prompt = prompt;
  episode.sample = sample;
  episode.terminated = true;
  episode.logprobs.assign(tokens.size(), -1.0f);
  episode.entropies.assign(tokens.size(), 1.0f);
  episode.reward = 5;
  CompletionOf(episode).tokens = std::move(tokens);
  return episode;
}

// Training step 3: two prompts, two samples.
StepRecord StoredStep() {
  StepRecord record;
  record.step = 3;
  record.episode_N = {Stored(0, 0, {7, 1}), Stored(0, 1, {8, 2, 3}), Stored(1, 0, {9}), Stored(1, 1, {1})};
  return record;
}

std::vector<TaskRecord> Tasks(int64_t begin, int64_t end) {
  std::vector<TaskRecord> tasks;
  for (int64_t prompt = begin; prompt < end; ++prompt) {
    tasks.push_back(CompletionTaskRecord(prompt, {.text = "", .answer = "", .tokens = {4, 5}}));
  }
  return tasks;
}

TurnDeps EndingWith(std::vector<int32_t> end_tokens, std::vector<std::string> stops = {}) {
  TurnDeps parts;
  parts.rules.end_tokens = std::move(end_tokens);
  parts.rules.stops = std::move(stops);
  return parts;
}

absl::StatusOr<Episodes> ReplayEpisodes(const StepRecord& record, const std::vector<TaskRecord>& tasks,
                                        const TurnDeps& turns = EndingWith({1}), Phase phase = Phase::kTraining,
                                        int64_t step = 3) {
  ASSIGN_OR_RETURN(const models::Tokenizer tokenizer,
                   models::Tokenizer::FromJson(models::AsciiTokenizerJson(), models::AsciiTokenizerConfigJson()));
  const std::vector<StepTables> steps = {ToTables(record, {})};
  const models::DecoderConfig decoder = SmallDecoder();
  return ReplaySource(steps, {}, decoder, 2, tokenizer, turns).Draw(phase, step, tasks);
}

TEST(ReplaySourceTest, ReturnsOnlyTheTokensOfTheRanksTasks) {
  ASSERT_OK_AND_ASSIGN(const Episodes episodes, ReplayEpisodes(StoredStep(), Tasks(1, 2)));
  ASSERT_EQ(episodes.episode_N.size(), 2u);
  EXPECT_EQ(episodes.episode_N[0].prompt, 1);
  EXPECT_EQ(CompletionOf(episodes.episode_N[0]).tokens, std::vector<int32_t>{9});
  EXPECT_EQ(episodes.episode_N[1].sample, 1);
  EXPECT_TRUE(episodes.episode_N[0].logprobs.empty());
  EXPECT_EQ(episodes.episode_N[0].reward, 0);
  EXPECT_TRUE(episodes.expert_count_LE.empty());
}

TEST(ReplaySourceTest, DerivesTheEndOfACompletionFromItsLastToken) {
  ASSERT_OK_AND_ASSIGN(const Episodes episodes, ReplayEpisodes(StoredStep(), Tasks(0, 2)));
  EXPECT_TRUE(episodes.episode_N[0].terminated);
  EXPECT_FALSE(episodes.episode_N[1].terminated);  // although the stored record has true
}

TEST(ReplaySourceTest, DerivesTheEndOfACompletionFromAStopText) {
  StepRecord record = StoredStep();
  record.episode_N[2] = Stored(1, 0, {5, 6});  // two characters of one byte each
  record.episode_N[2].terminated = false;
  ASSERT_OK_AND_ASSIGN(const models::Tokenizer tokenizer,
                       models::Tokenizer::FromJson(models::AsciiTokenizerJson(), models::AsciiTokenizerConfigJson()));
  const std::string text = tokenizer.Decode({5, 6});
  ASSERT_OK_AND_ASSIGN(const Episodes episodes, ReplayEpisodes(record, Tasks(1, 2), EndingWith({1, 9}, {text})));
  EXPECT_TRUE(episodes.episode_N[0].terminated);  // although the stored record has false
  ASSERT_OK_AND_ASSIGN(const Episodes others, ReplayEpisodes(record, Tasks(1, 2), EndingWith({1, 9}, {text + "x"})));
  EXPECT_FALSE(others.episode_N[0].terminated);
}

TEST(ReplaySourceTest, ASftStepHasOneAnswerPerPrompt) {
  StepRecord record;
  record.phase = Phase::kSft;
  record.step = 1;
  record.episode_N = {Stored(0, 0, {7, 1}), Stored(1, 0, {8, 1})};
  ASSERT_OK_AND_ASSIGN(const Episodes episodes, ReplayEpisodes(record, Tasks(0, 2), EndingWith({1}), Phase::kSft, 1));
  EXPECT_EQ(episodes.episode_N.size(), 2u);
}

TEST(ReplaySourceTest, RejectsTokensThatTheDecoderCouldNotHaveDrawn) {
  for (const std::vector<int32_t>& tokens : std::vector<std::vector<int32_t>>{{10}, {-1}, {7, 7, 7, 7, 7}}) {
    StepRecord record = StoredStep();
    record.episode_N[2] = Stored(1, 0, tokens);
    EXPECT_THAT(ReplayEpisodes(record, Tasks(0, 2)), StatusIs(kDataLoss, HasSubstr("step 3, prompt 1 sample 0")));
    EXPECT_OK(ReplayEpisodes(record, Tasks(0, 1)));
  }
  StepRecord longest = StoredStep();
  longest.episode_N[2] = Stored(1, 0, {7, 7, 7, 7});
  EXPECT_OK(ReplayEpisodes(longest, Tasks(0, 2)));
  longest.episode_N[2] = Stored(1, 0, {});
  EXPECT_THAT(ReplayEpisodes(longest, Tasks(0, 1)),
              StatusIs(kDataLoss, HasSubstr("stream turns, row 2: it has no tokens")));
}

TEST(ReplaySourceTest, RejectsEpisodesThatAreMissingOrOutOfPlace) {
  StepRecord record = StoredStep();
  record.episode_N.pop_back();
  EXPECT_THAT(ReplayEpisodes(record, Tasks(0, 2)), StatusIs(kDataLoss, HasSubstr("missing")));
  record = StoredStep();
  std::swap(record.episode_N[1], record.episode_N[2]);
  EXPECT_THAT(ReplayEpisodes(record, Tasks(0, 2)), StatusIs(kDataLoss, HasSubstr("in its place is prompt 1 sample 0")));
  record.step = 4;
  EXPECT_THAT(ReplayEpisodes(record, Tasks(0, 2)), StatusIs(kDataLoss, HasSubstr("no step 3")));
}

// The steps after the stored ones.
class NoEpisodes : public EpisodeSource {
 public:
  absl::StatusOr<Episodes> Draw(Phase, int64_t, const std::vector<TaskRecord>&) override { return Episodes(); }
  int64_t refills() const override { return 7; }
};

TEST(ReplaySourceTest, KnowsTheEvaluationOfTheStepThatItDrewLast) {
  ASSERT_OK_AND_ASSIGN(const models::Tokenizer tokenizer,
                       models::Tokenizer::FromJson(models::AsciiTokenizerJson(), models::AsciiTokenizerConfigJson()));
  const RecordForm form = {.evaluates_outside = true};
  const models::DecoderConfig decoder = SmallDecoder();
  StepRecord record = StoredStep();
  GetEvaluationReplies(record).emplace_back();
  const std::vector<StepTables> steps = {ToTables(record, form)};
  ReplaySource source(steps, form, decoder, 2, tokenizer, EndingWith({1}), std::make_unique<NoEpisodes>());
  EXPECT_EQ(source.StoredEvaluation(3), nullptr);
  ASSERT_OK(source.Draw(Phase::kTraining, 3, Tasks(0, 2)));
  ASSERT_NE(source.StoredEvaluation(3), nullptr);
  EXPECT_EQ(source.StoredEvaluation(3)->size(), 1u);
  ASSERT_OK(source.Draw(Phase::kTraining, 4, Tasks(0, 2)));  // live: the process is called
  EXPECT_EQ(source.StoredEvaluation(4), nullptr);
  EXPECT_EQ(source.refills(), 7);
}

}  // namespace
}  // namespace reprise::rl
