#include "rl/episodes/problem_form.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "models/tokenizer/ascii_tokenizer.h"
#include "rapidcheck/gtest.h"
#include "rl/episodes/draw_problem.h"

namespace reprise::rl {
namespace {

using ::testing::HasSubstr;

const models::Tokenizer& Ascii() {
  static const auto* const tokenizer = new models::Tokenizer(
      *models::Tokenizer::FromJson(models::AsciiTokenizerJson(128), models::AsciiTokenizerConfigJson()));
  return *tokenizer;
}

std::string FormFor(const Config& config, const std::string& prompt) {
  return ProblemForms::Create(config, Ascii())->FormFor(prompt).value();
}

Config TaskNamed(const std::string& task) {
  Config config;
  config.data.task = task;
  return config;
}

TEST(ProblemFormsTest, AreWhatTheTaskOrTheEnvironmentDeclares) {
  EXPECT_EQ(FormFor(TaskNamed("sort"), "cab="), "abc=");
  EXPECT_EQ(FormFor(TaskNamed("reverse"), "cab="), "cab=");
  Config config;
  config.environment.name = "countdown";
  EXPECT_EQ(FormFor(config, "5 3 7 -> 22\n"), FormFor(config, "7 5 3 -> 22\n"));
  config.environment.name = "grid_navigation";
  EXPECT_EQ(FormFor(config, "what is left?"), "what is left?");
}

// A process gets the problems of data.task; what it makes of them is unknown here.
TEST(ProblemFormsTest, OfAProcessAreThoseOfItsTask) {
  Config config = TaskNamed("sort");
  config.environment.name = "process";
  EXPECT_EQ(FormFor(config, "cab="), "abc=");
}

TEST(ProblemFormsTest, OfAFileAreItsPrompts) {
  Config config = TaskNamed("sort");
  config.data.path = "problems.jsonl";
  EXPECT_EQ(FormFor(config, "cab="), "cab=");
}

TEST(ProblemFormsTest, APromptOfAnotherTaskOrLengthIsNeverDrawn) {
  const auto is_never_drawn = [](const Config& config, const std::string& prompt) {
    return ProblemForms::Create(config, Ascii())->IsNeverDrawn(prompt);
  };
  Config config = TaskNamed("sort");
  EXPECT_FALSE(is_never_drawn(config, "cab="));
  EXPECT_FALSE(is_never_drawn(config, " CAB= ")) << "a tokenizer may ignore case and spaces";
  EXPECT_TRUE(is_never_drawn(config, "1+2="));
  EXPECT_TRUE(is_never_drawn(config, "abcabc="));
  EXPECT_FALSE(is_never_drawn(config, "\x01\xc3\xa9=")) << "read in another form";
  config.rollout.max_prompt_length = 3;
  EXPECT_FALSE(is_never_drawn(config, "abcabc=")) << "of a cut prompt the end alone is known";
  config = TaskNamed("sort");
  config.data.path = "problems.jsonl";
  EXPECT_FALSE(is_never_drawn(config, "1+2=")) << "a file may have any";
  config.data.path.clear();
  config.environment.name = "countdown";
  EXPECT_FALSE(is_never_drawn(config, "1+2="));
}

TEST(ProblemFormsTest, AreOfWhatThePolicyReads) {
  Config config = TaskNamed("sort");
  config.rollout.max_prompt_length = 3;
  EXPECT_EQ(FormFor(config, "aaba="), "ab=");
  EXPECT_EQ(FormFor(config, "bbab="), "ab=");
}

// What decides the answer to an evaluated problem is in no problem of training or SFT phase, in whatever order it is
// written.
RC_GTEST_PROP(ProblemFormsTest, NoFormIsOnBothSides, ()) {
  Config config;
  config.run.seed = *rc::gen::inRange(0, 1000);
  config.evaluation.split_seed = *rc::gen::inRange(0, 1000);
  config.evaluation.held_out_share = *rc::gen::element(0.2, 0.5);
  const std::string name = *rc::gen::elementOf(
      std::vector<std::string>{"addition", "reverse", "sort", "lookup", "countdown", "grid_navigation"});
  const bool plays = name == "countdown" || name == "grid_navigation";
  (plays ? config.environment.name : config.data.task) = name;
  config.environment.largest = 4;
  config.data.min_length = config.data.max_length = name == "addition" ? 1 : 2;
  config.data.alphabet_size = 4;
  const auto source = ProblemSource::Create(config, Ascii());
  RC_ASSERT(source.ok());
  const auto draw = [&](Purpose purpose, bool held_out) {
    std::set<std::string> forms;
    for (uint64_t prompt = 0; prompt < 120; ++prompt) {
      const auto task = source->Draw({static_cast<uint64_t>(config.run.seed), purpose, 1, prompt}, held_out);
      if (!task.ok()) break;  // a side of a small task may be empty
      forms.insert(source->forms().FormFor(task->prompt).value());
    }
    return forms;
  };
  std::set<std::string> trained = draw(Purpose::kTask, false);
  trained.merge(draw(Purpose::kSftTask, false));
  for (const std::string& form : draw(Purpose::kEvaluationTask, true)) RC_ASSERT(!trained.contains(form));
}

TEST(WarningOfFewProblemsTest, SaysHowManyThereAre) {
  EvaluationConfig evaluation;
  EXPECT_EQ(WarningOfFewProblems(evaluation, 3, 64), "");  // nothing is held out
  evaluation.held_out_share = 0.1;
  EXPECT_THAT(WarningOfFewProblems(evaluation, 3, 64), HasSubstr("only 3 different problems are held out"));
  EXPECT_THAT(WarningOfFewProblems(evaluation, 1, 64), HasSubstr("only 1 problem is held out"));
  EXPECT_EQ(WarningOfFewProblems(evaluation, 10, 64), "");
  EXPECT_EQ(WarningOfFewProblems(evaluation, 7, 8), "");  // hardly any is repeated
}

}  // namespace
}  // namespace reprise::rl
