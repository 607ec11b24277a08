#include "rl/episodes/draw_problem.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rapidcheck/gtest.h"
#include "rl/environments/environments.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

const models::Tokenizer& Ascii() {
  static const auto* const tokenizer = new models::Tokenizer(
      *models::Tokenizer::FromJson(models::AsciiTokenizerJson(128), models::AsciiTokenizerConfigJson()));
  return *tokenizer;
}

Config Words(double share) {
  Config config;
  config.data.min_length = config.data.max_length = 2;
  config.data.alphabet_size = 5;
  config.evaluation.held_out_share = share;
  return config;
}

absl::StatusOr<data::Task> DrawProblem(const Config& config, const TaskPlace& place, bool held_out) {
  ASSIGN_OR_RETURN(const ProblemSource source, ProblemSource::Create(config, Ascii()));
  return source.Draw(place, held_out);
}

std::set<std::string> Prompts(const Config& config, Purpose purpose, bool held_out) {
  std::set<std::string> prompts;
  for (uint64_t index = 0; index < 500; ++index) {
    const auto task = DrawProblem(config, {1, purpose, 0, index}, held_out);
    EXPECT_OK(task.status());
    prompts.insert(task->prompt);
  }
  return prompts;
}

TEST(DrawProblemTest, WithoutAShareItIsTheTasksFirstAttempt) {
  for (uint64_t index = 0; index < 20; ++index) {
    ASSERT_OK_AND_ASSIGN(const data::Task task, DrawProblem(Words(0), {1, Purpose::kTask, 3, index}, true));
    EXPECT_EQ(task, data::MakeTask({data::TaskKind::kReverse, 2, 2, 5}, 1, Purpose::kTask, 3, index));
  }
}

TEST(DrawProblemTest, TheTwoSidesShareNoProblemAndTogetherHaveAll) {
  const std::set<std::string> trained = Prompts(Words(0.4), Purpose::kTask, false);
  const std::set<std::string> evaluated = Prompts(Words(0.4), Purpose::kEvaluationTask, true);
  EXPECT_EQ(trained.size() + evaluated.size(), 25u);
  for (const std::string& prompt : evaluated) EXPECT_FALSE(trained.contains(prompt)) << prompt;
}

// The policy reads only the second of two letters: five prompts, whatever the first letter is.
TEST(DrawProblemTest, PromptsThatAreEqualAfterTruncationAreOnOneSide) {
  Config config = Words(0.4);
  config.rollout.max_prompt_length = 2;
  const auto as_read = [](const std::set<std::string>& prompts) {
    std::set<std::string> ends;
    for (const std::string& prompt : prompts) ends.insert(prompt.substr(prompt.size() - 2));
    return ends;
  };
  const std::set<std::string> trained = as_read(Prompts(config, Purpose::kTask, false));
  const std::set<std::string> evaluated = as_read(Prompts(config, Purpose::kEvaluationTask, true));
  EXPECT_EQ(trained.size() + evaluated.size(), 5u);
  for (const std::string& prompt : evaluated) EXPECT_FALSE(trained.contains(prompt)) << prompt;
}

TEST(DrawProblemTest, ATaskOfOneProblemCannotBeSplit) {
  Config config = Words(0.5);
  config.data.min_length = config.data.max_length = 1;
  config.data.alphabet_size = 1;
  const bool is_held_out = DrawProblem(config, {1, Purpose::kTask, 0, 0}, true).ok();
  EXPECT_THAT(DrawProblem(config, {1, Purpose::kTask, 0, 0}, !is_held_out),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too few")));
}

class DrawEnvironmentTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(EveryOne, DrawEnvironmentTest, ::testing::Values("countdown", "grid_navigation"));

// Whatever their answers are, none of these prompts occurs in training.
TEST_P(DrawEnvironmentTest, NoPromptIsOnBothSides) {
  Config config = Words(0.25);
  config.environment.name = GetParam();
  std::set<std::string> trained, evaluated;
  for (uint64_t prompt = 0; prompt < 1000; ++prompt) {
    ASSERT_OK_AND_ASSIGN(const data::Task train, DrawProblem(config, {1, Purpose::kTask, 4, prompt}, false));
    ASSERT_OK_AND_ASSIGN(const data::Task test, DrawProblem(config, {1, Purpose::kEvaluationTask, 0, prompt}, true));
    trained.insert(train.prompt);
    evaluated.insert(test.prompt);
  }
  EXPECT_GT(evaluated.size(), 1u);
  EXPECT_GT(trained.size(), evaluated.size());
  for (const std::string& prompt : evaluated) EXPECT_FALSE(trained.contains(prompt)) << prompt;
}

TEST_P(DrawEnvironmentTest, WithoutASplitThePlacesOwnTaskIsDrawn) {
  Config config = Words(0);
  config.environment.name = GetParam();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Environment> environment, MakeEnvironment(config, nullptr));
  const TaskPlace place = {1, Purpose::kEvaluationTask, 0, 3};
  ASSERT_OK_AND_ASSIGN(const data::Task task, DrawProblem(config, place, true));
  EXPECT_EQ(task.prompt, environment->TaskAt(place)->prompt);
  EXPECT_EQ(task.answer, environment->TaskAt(place)->answer);
}

TEST(DrawProblemTest, AnEnvironmentOfOnePromptCannotBeSplitByItsAnswers) {
  Config config = Words(0.25);
  config.environment.name = "number_guess";
  EXPECT_THAT(
      DrawProblem(config, {1, Purpose::kEvaluationTask, 0, 0}, true),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "evaluation.held_out_share 0.25: 65536 draws of the environment number_guess gave 1 problem, "
               "which is not held out; problems are distinguished by what of their prompts, as the policy reads "
               "them, decides the answer, and there are too few: choose an environment with more problems, or "
               "set the share to 0"));
}

TEST(DrawProblemTest, AShareThatLeavesNothingNamesItsDirectionAndTheKeysThatAreRead) {
  for (const char* const task : {"addition", "sort"}) {
    for (const bool held_out : {true, false}) {
      Config config = Words(held_out ? 1e-9 : 1 - 1e-9);
      config.data.task = task;
      config.data.min_length = config.data.max_length = 1;
      const std::string keys =
          task == std::string("addition") ? "data.max_length" : "data.max_length or data.alphabet_size";
      EXPECT_THAT(DrawProblem(config, {1, Purpose::kEvaluationTask, 0, 0}, held_out),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr(absl::StrCat("there are too few: raise ", keys, ", ", held_out ? "raise" : "lower",
                                                  " the share, or set the share to 0"))));
    }
  }
}

TEST(DrawProblemTest, RejectsOptionsThatTheTaskDoesNotSupport) {
  Config config = Words(0);
  config.data.min_length = 3;
  EXPECT_THAT(DrawProblem(config, {}, false), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("min_length")));
}

std::vector<std::string> Numbered(int count, int different) {
  std::vector<std::string> prompts;
  for (int i = 0; i < count; ++i) prompts.push_back(absl::StrCat("p", i % different));
  return prompts;
}

// The digest of the eight bytes of 42 and of "abc=", computed with a different program.
TEST(HeldOutTest, PlacesFollowTheDigest) { EXPECT_EQ(HeldOutPlace(42, "abc="), 0x1.7c538fba0ef91p-1); }

TEST(HeldOutTest, AShareOfOneHoldsOutAllAndAShareOfZeroNone) {
  EXPECT_TRUE(IsHeldOut(1, 1.0, "a"));
  EXPECT_FALSE(IsHeldOut(1, 0.0, "a"));
}

TEST(HeldOutTest, AboutTheShareOfDrawnProblemsIsHeldOut) {
  int held_out = 0;
  for (int i = 0; i < 4000; ++i) held_out += IsHeldOut(7, 0.2, absl::StrCat(i)) ? 1 : 0;
  EXPECT_NEAR(held_out, 800, 80);  // three standard deviations
}

TEST(HeldOutTest, AFifthOfTenPromptsIsTwo) {
  const Split split = SplitByForm(Numbered(10, 10), 42, 0.2);
  EXPECT_EQ(split.held_out.size(), 2u);
  EXPECT_EQ(split.training.size(), 8u);
}

TEST(HeldOutTest, APartOfAPromptIsHeldOutAsAWhole) {
  EXPECT_EQ(SplitByForm(Numbered(10, 10), 42, 0.25).held_out.size(), 3u);
  EXPECT_EQ(SplitByForm(Numbered(3, 3), 42, 0.01).held_out.size(), 1u);
}

TEST(HeldOutTest, AnotherSeedSplitsOtherwise) {
  const std::vector<std::string> prompts = Numbered(100, 100);
  for (int bit = 0; bit < 63; ++bit) {
    const uint64_t seed = uint64_t{1} << bit;
    EXPECT_NE(SplitByForm(prompts, 0, 0.3).held_out, SplitByForm(prompts, seed, 0.3).held_out) << seed;
  }
}

RC_GTEST_PROP(HeldOutTest, EveryProblemIsOnOneSideWithAllOfItsPrompt, ()) {
  const int different = *rc::gen::inRange(1, 30);
  const int count = *rc::gen::inRange(different, 60);
  const double share = *rc::gen::inRange(0, 101) / 100.0;
  const std::vector<std::string> prompts = Numbered(count, different);
  const Split split = SplitByForm(prompts, 5, share);
  RC_ASSERT(split.training.size() + split.held_out.size() == prompts.size());
  RC_ASSERT(std::is_sorted(split.training.begin(), split.training.end()));
  std::set<std::string> trained, held_out;
  for (const int64_t i : split.training) trained.insert(prompts[i]);
  for (const int64_t i : split.held_out) held_out.insert(prompts[i]);
  for (const std::string& prompt : held_out) RC_ASSERT(!trained.contains(prompt));
  RC_ASSERT(held_out.size() >= static_cast<size_t>(share * different));
  RC_ASSERT(held_out.size() <= static_cast<size_t>(share * different) + 1);
}

TEST(HeldOutTest, TheOrderOfTheFileDoesNotMatter) {
  std::vector<std::string> prompts = Numbered(50, 50);
  const auto held_out = [&] {
    std::set<std::string> chosen;
    for (const int64_t i : SplitByForm(prompts, 3, 0.5).held_out) chosen.insert(prompts[i]);
    return chosen;
  };
  const std::set<std::string> before = held_out();
  std::reverse(prompts.begin(), prompts.end());
  EXPECT_EQ(held_out(), before);
}

}  // namespace

}  // namespace reprise::rl
