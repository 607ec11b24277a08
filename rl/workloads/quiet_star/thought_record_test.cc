#include "rl/workloads/quiet_star/thought_record.h"

#include <any>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/quiet_star/thinking_tokens.h"
#include "rl/record/divergence.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

Config TestConfig() {
  Config config;
  config.run.workload = "quiet_star";
  config.data.task = "lookup";
  config.data.max_length = 2;
  config.data.alphabet_size = 3;
  config.quiet_star.min_thought_length = 1;
  config.quiet_star.max_thought_length = 2;
  config.quiet_star.plain_share = 0;
  config.sft.prompts_per_step = config.rollout.prompts_per_step = 2;
  config.rollout.num_generations = 2;
  return config;
}

class ThoughtRecordTest : public ::testing::Test {
 protected:
  ThoughtRecordTest()
      : tokenizer_(*LoadTokenizer(config_.model)), texts_(*ThoughtTexts::Create(config_, tokenizer_, Grown())) {}

  models::DecoderConfig Grown() const { return models::WithThinkingTokens(*ReadDecoderConfig(config_.model)); }
  ThoughtForm form() const { return {config_, Grown().vocab_size}; }

  // A step whose samples have thoughts of one and of two tokens after the first two tokens of each text.
  StepRecord Training() const {
    StepRecord record;
    record.phase = Phase::kTraining;
    record.step = 5;
    for (int64_t prompt = 0; prompt < 2; ++prompt) {
      record.task_P.push_back(ThoughtTask(texts_, record.phase, record.step, prompt));
      for (int64_t sample = 0; sample < 2; ++sample) {
        EpisodeRecord& episode =
            record.episode_N.emplace_back(ThoughtEpisode(record.task_P.back(), sample, {{0, {97}}, {1, {98, 99}}}));
        episode.logprobs = episode.behaviour_logprobs = {-0.5f, -1.0f, -2.0f};
        episode.entropies = {0.5f, 0.25f, 0.125f};
        episode.earned_T = {0.25, 0, 0.5};
        episode.advantage_T = {0.25, 0.5, 0.5};
        episode.rewards_F = {0.75};
        episode.reward = 0.75;
        episode.advantage = 0.375;
      }
    }
    return record;
  }

  StepTables MakeTables(const StepRecord& record) const {
    StepTables step = {record.phase, record.step, ThoughtTables(texts_, record)};
    StepResults results = record;
    results.count_C = {1, 2};
    results.counts_per_layer = 2;
    for (StreamTable& table : ResultTables(results, /*has_counts=*/true)) step.tables.push_back(std::move(table));
    return step;
  }

  const Config config_ = TestConfig();
  const models::Tokenizer tokenizer_;
  const ThoughtTexts texts_;
};

TEST_F(ThoughtRecordTest, IsReadAsItWasWritten) {
  const StepTables step = MakeTables(Training());
  ASSERT_OK(CheckThoughtTables(form(), step));
  const StepRecord read = ReadThoughtRecord(texts_, step);
  EXPECT_EQ(read.episode_N[1].earned_T, Training().episode_N[1].earned_T);
  EXPECT_EQ(read.episode_N[1].decisions.turn_T, (std::vector<int32_t>{0, 1, 1}));
  const auto difference = FirstDivergence(ThoughtSchema(form()), step, MakeTables(read), {}, Digests::kWhereBoth);
  EXPECT_FALSE(difference.has_value()) << difference->ToString();
}

TEST_F(ThoughtRecordTest, ASftHasTextsWithThoughtsButLearnsNoDelimiters) {
  StepRecord record;
  record.phase = Phase::kSft;
  record.step = 1;
  const models::ThoughtDelimiters delimiters = models::DelimitersOf(Grown());
  for (int64_t prompt = 0; prompt < 2; ++prompt) {
    record.task_P.push_back(ThoughtTask(texts_, record.phase, record.step, prompt));
    EpisodeRecord& episode = record.episode_N.emplace_back(TextEpisode(record.task_P.back()));
    episode.logprobs.assign(static_cast<size_t>(episode.decisions.count), -1.0f);
    episode.entropies.assign(episode.logprobs.size(), 2.0f);
    const std::vector<int32_t>& tokens = TextIn(record.task_P.back()).token_S;
    int64_t found = 0;
    for (size_t s = 1; s < tokens.size(); ++s) {
      const bool is_delimiter = tokens[s] == delimiters.start || tokens[s] == delimiters.end;
      found += is_delimiter ? 1 : 0;
      EXPECT_EQ(episode.decisions.drawn_T[s - 1], is_delimiter ? 0 : 1) << s;
    }
    EXPECT_EQ(found, 2);
  }
  const StepTables step = MakeTables(record);
  ASSERT_OK(CheckThoughtTables(form(), step));
  EXPECT_EQ(ReadThoughtRecord(texts_, step).episode_N[0].decisions.drawn_T, record.episode_N[0].decisions.drawn_T);
}

TEST_F(ThoughtRecordTest, CorruptionIsRejectedWithItsPlace) {
  const auto thoughts_of = [](EpisodeRecord& episode) -> std::vector<models::Thought>& {
    return std::any_cast<ThoughtsOfSample>(&episode.content)->thought_P;
  };
  const int32_t start = models::DelimitersOf(Grown()).start, vocabulary = static_cast<int32_t>(Grown().vocab_size);
  struct Case {
    std::function<void(StepRecord&)> corrupt;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](StepRecord& r) { r.task_P[1].prompt = 2; }, "it is not the next prompt"},
      {[](StepRecord& r) { r.episode_N.pop_back(); }, "it lacks an episode"},
      {[](StepRecord& r) { r.episode_N[1].sample = 5; }, "not the next sample"},
      {[](StepRecord& r) { r.episode_N.push_back(r.episode_N[3]), r.episode_N.back().prompt = 7; },
       "belongs to no task"},
      {[](StepRecord& r) { r.episode_N.push_back(r.episode_N[3]); }, "not the next thought"},
      {[&](StepRecord& r) { thoughts_of(r.episode_N[0])[1].position = 0; }, "its position is not behind"},
      {[&](StepRecord& r) { thoughts_of(r.episode_N[0])[1].position = 1000; }, "its position is not behind"},
      {[&](StepRecord& r) { thoughts_of(r.episode_N[0])[0].position = -1; }, "its position is not behind"},
      {[&](StepRecord& r) {
         thoughts_of(r.episode_N[0])[0].tokens = {1, 2, 3};
         r.episode_N[0].earned_T.resize(5), r.episode_N[0].advantage_T.resize(5);
       },
       "its number of tokens"},
      {[&](StepRecord& r) { thoughts_of(r.episode_N[0])[0].tokens = {start}; }, "or a delimiter"},
      {[&](StepRecord& r) { thoughts_of(r.episode_N[0])[0].tokens = {vocabulary}; }, "not in the vocabulary"},
      {[&](StepRecord& r) { thoughts_of(r.episode_N[0])[0].tokens = {-1}; }, "not in the vocabulary"},
      {[](StepRecord& r) { r.episode_N[2].logprobs.pop_back(); }, "not one log-probability for each"},
      {[](StepRecord& r) { r.episode_N[2].entropies.pop_back(); }, "not one entropy for each"},
      {[](StepRecord& r) { r.episode_N[2].behaviour_logprobs.clear(); }, "under the behaviour"},
      {[](StepRecord& r) { r.episode_N[2].ref_logprobs = {1.0f}; }, "under the reference"},
      {[](StepRecord& r) { r.episode_N[2].rewards_F.clear(); }, "another number of rewards"},
      {[](StepRecord& r) { r.episode_N[2].logprobs[0] = 1e30f; }, "out of bounds"},
      {[](StepRecord& r) { r.episode_N[2].earned_T[2] = 1e30; }, "out of bounds"}};
  for (const Case& c : cases) {
    StepRecord record = Training();
    c.corrupt(record);
    EXPECT_THAT(CheckThoughtTables(form(), MakeTables(record)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(c.message)))
        << c.message;
  }
}

}  // namespace
}  // namespace reprise::rl
