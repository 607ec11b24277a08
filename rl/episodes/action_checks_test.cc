#include "rl/episodes/action_checks.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/completions/record_turns.h"

namespace reprise::rl {
namespace {

const char kLook[] = R"({"rotation_angle_degrees":90,"forward_meters":0,"left_meters":0})";
const char kFar[] = R"({"rotation_angle_degrees":90,"forward_meters":9,"left_meters":0})";
constexpr ActionCheckOptions kMask = {.masks_reasoning = true};

// Each text becomes an action, followed by an end token; an observation of three tokens precedes each but the first.
EpisodeRecord Saying(const std::vector<std::string>& texts) {
  EpisodeRecord episode;
  CompletionEpisode& completion = CompletionOf(episode);
  for (const std::string& text : texts) {
    TurnRecord turn = {.observation_tokens = completion.turn_K.empty() ? 0 : 3,
                       .action_tokens = static_cast<int64_t>(text.size()) + 1,
                       .complete = true,
                       .reply = std::nullopt};
    std::vector<int32_t>& tokens = completion.tokens;
    tokens.insert(tokens.end(), static_cast<size_t>(turn.observation_tokens), 'o');
    tokens.insert(tokens.end(), text.begin(), text.end());
    tokens.push_back(0);
    completion.turn_K.push_back(turn);
  }
  return episode;
}

EpisodeRecord Checked(const std::vector<std::string>& texts, const ActionCheckOptions& options,
                      const TurnRules& rules = {.stops = {}, .end_tokens = {0}}) {
  const models::Tokenizer tokenizer =
      models::Tokenizer::FromJson(models::AsciiTokenizerJson(128), models::AsciiTokenizerConfigJson()).value();
  EpisodeRecord episode = Saying(texts);
  CheckActions(tokenizer, rules, options, &episode);
  return episode;
}

std::string LearnedText(const EpisodeRecord& episode) {
  const std::vector<uint8_t>& mask_T = episode.decisions.learned_T;
  const std::vector<int32_t>& tokens = CompletionOf(episode).tokens;
  std::string text;
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (mask_T.empty() || mask_T[t] != 0) text += static_cast<char>(tokens[t]);
  }
  return text;
}

TEST(CheckActionsTest, OnlyTheObjectIsLearned) {
  const EpisodeRecord episode = Checked({absl::StrCat("I turn. ", kLook, "!"), kLook}, kMask);
  EXPECT_EQ(LearnedText(episode), absl::StrCat(kLook, kLook));
  EXPECT_EQ(NumLearned(episode.decisions), static_cast<int64_t>(2 * sizeof(kLook) - 2));
  EXPECT_EQ(NumDrawn(episode.decisions), NumLearned(episode.decisions) + 9 + 2);
  EXPECT_TRUE(SummarizeChecks(CompletionOf(episode))->is_valid());
}

TEST(CheckActionsTest, WithoutAnObjectTheLastTokensOrNoneAreLearned) {
  const EpisodeRecord guess = Checked({"I know not what I shall do"}, kMask), none = Checked({"help"}, kMask);
  EXPECT_EQ(CompletionOf(guess).turn_K[0].check->method, MaskMethod::kLast);
  EXPECT_EQ(NumLearned(guess.decisions), 15);
  EXPECT_EQ(CompletionOf(none).turn_K[0].check->method, MaskMethod::kFailed);
  EXPECT_EQ(NumLearned(none.decisions), 0);
  EXPECT_EQ(none.decisions.learned_T, std::vector<uint8_t>(5, 0));
  EXPECT_EQ(SummarizeChecks(CompletionOf(guess))->dropout_reason.substr(0, 15), "invalid_action:");
  EXPECT_EQ(SummarizeChecks(CompletionOf(none))->dropout_reason, "masking_failed");
}

TEST(CheckActionsTest, NothingOfADroppedEpisodeIsLearned) {
  for (const bool masks : {false, true}) {
    const ActionCheckOptions drop = {.masks_reasoning = masks, .drops_invalid = true};
    EXPECT_EQ(NumLearned(Checked({kLook, kFar}, drop).decisions), 0);
    const EpisodeRecord valid = Checked({kLook, kLook}, drop);
    EXPECT_EQ(NumDrawn(valid.decisions) - NumLearned(valid.decisions), masks ? 2 : 0);
  }
}

TEST(CheckActionsTest, AnInvalidEpisodeThatIsKeptIsLearnedInFull) {
  const EpisodeRecord episode = Checked({kLook, kFar}, {});
  EXPECT_FALSE(SummarizeChecks(CompletionOf(episode))->is_valid());
  EXPECT_EQ(episode.decisions.learned_T, episode.decisions.drawn_T);
}

TEST(CheckActionsTest, ReadsOnlyWhatTheEnvironmentReads) {
  const TurnRules rules = {.stops = {"meters"}, .end_tokens = {0}};
  const EpisodeRecord episode = Checked({kLook}, kMask, rules);
  EXPECT_EQ(CompletionOf(episode).turn_K[0].check->method, MaskMethod::kLast);
  EXPECT_FALSE(CompletionOf(episode).turn_K[0].check->valid);
}

TEST(CheckActionsTest, KeepsTheGivenTokenRange) {
  ActionCheckOptions options = kMask;
  options.range = {.min_tokens = 10, .max_tokens = 20};
  EXPECT_EQ(CompletionOf(Checked({kLook}, options)).turn_K[0].check->method, MaskMethod::kPattern);
}

TEST(CheckOfTest, IsNulloptForEpisodesThatWereNotChecked) {
  EXPECT_EQ(SummarizeChecks(CompletionOf(Saying({kLook}))), std::nullopt);
  EXPECT_EQ(SummarizeChecks({}), std::nullopt);
}

}  // namespace
}  // namespace reprise::rl
