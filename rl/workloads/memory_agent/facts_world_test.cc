// Promise: in an episode about facts the memory decides the answer: it is wrong without the fact, with an old one, and
// where small talk has displaced it, and a rule that looks at messages and memory is always right.

#include "rl/workloads/memory_agent/facts_world.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/random/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "rl/workloads/memory_agent/episode_report.h"
#include "rl/workloads/memory_agent/facts_rules.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "rl/workloads/memory_agent/simulated_episode.h"

namespace reprise::rl {
namespace {

using enum data::MemoryOperation;
using data::MemoryOperation;
using Kind = FactMessage::Kind;
using ::testing::HasSubstr;

constexpr uint64_t kSeed = 5;

MemoryConfig FactsConfig() {
  MemoryConfig config;
  config.task = MemoryTaskKind::kFacts;
  config.buffer_size = kFactsLastTalk;
  config.context_window = kFactsWindow;
  config.optimal_retrieved = 1;
  return config;
}

MemoryTask FactsTask(uint64_t prompt) {
  return DrawMemoryTask(kSeed, Purpose::kTask, kMemoryStages, 1, prompt, /*has_facts=*/true);
}

RC_GTEST_PROP(FactsStoryProperty, TheQuestionIsAboutSomethingThatWasToldLongAgoAndIsNotGone, ()) {
  const std::vector<FactMessage> message_T = FactsTask(*rc::gen::inRange<uint64_t>(0, 100000)).message_T;
  const int64_t length = static_cast<int64_t>(message_T.size());
  RC_ASSERT(length >= kFactsLengths.least && length <= kFactsLengths.most);
  const int64_t told = length - kQuestionTurns - kFactsLastTalk;
  std::map<int32_t, int32_t> place_of;
  for (int64_t t = 0; t < length; ++t) {
    const FactMessage& message = message_T[t];
    if (t == 0) RC_ASSERT(message.kind == Kind::kPlace);
    RC_ASSERT(t < told || message.kind == (t < length - kQuestionTurns ? Kind::kTalk : Kind::kQuestion));
    const auto known = place_of.find(message.thing);
    if (message.kind == Kind::kPlace) {
      RC_ASSERT(known == place_of.end() || known->second != message.place);
      place_of[message.thing] = message.place;
    } else if (message.kind == Kind::kGone) {
      RC_ASSERT(place_of.erase(message.thing) == 1);
    } else if (message.kind == Kind::kQuestion) {
      RC_ASSERT(known != place_of.end() && known->second == message.place);
    }
    RC_ASSERT(place_of.size() <= static_cast<size_t>(kStoredThings));
  }
}

TEST(FactsStoryTest, DiffersBetweenPlaces) {
  EXPECT_EQ(FactsTask(1).message_T, FactsTask(1).message_T);
  EXPECT_NE(FactsTask(1).message_T, FactsTask(2).message_T);
}

TEST(FactsStoryTest, APlaceIsFoundInTheLastSentenceAboutAThing) {
  const std::string text = FormatMessage({Kind::kPlace, 0, 0}) + " | " + FormatMessage({Kind::kPlace, 1, 2}) + " | " +
                           FormatMessage({Kind::kPlace, 0, 3}) + " | " + FormatMessage({Kind::kTalk, 0});
  EXPECT_EQ(PlaceIn(text, 0), kPlaces[3]);
  EXPECT_EQ(PlaceIn(text, 1), kPlaces[2]);
  EXPECT_EQ(PlaceIn(text, 2), "");
  EXPECT_EQ(PlaceIn(FormatMessage({Kind::kGone, 2}), 2), "gone for good");
}

// Plays messages of one's own: the operations, of which the last is at the question.
class FactsWorldTest : public ::testing::Test {
 protected:
  FactsAnswer Play(const std::vector<FactMessage>& message_T, const std::vector<MemoryOperation>& operation_T) {
    EpisodeMemory memory(config_, config_.store_size);
    FactsWorld world(message_T, config_.store_size, memory);
    succeeded_.clear();
    for (size_t t = 0; t < operation_T.size(); ++t) {
      OperationResult result = {.operation = operation_T[t]};
      succeeded_.push_back(world.Execute(static_cast<int64_t>(t), memory, &result).succeeded);
    }
    return world.Answer(memory);
  }
  MemoryConfig config_ = FactsConfig();
  std::vector<bool> succeeded_;
  const FactMessage fact_ = {Kind::kPlace, 0, 0}, moved_ = {Kind::kPlace, 0, 1}, talk_ = {Kind::kTalk, 0},
                    other_ = {Kind::kTalk, 1}, question_ = {Kind::kQuestion, 0, 1};
};

TEST_F(FactsWorldTest, AnAnswerNeedsTheFactInTheStoreAndItsRetrieval) {
  const std::vector<FactMessage> messages = {moved_, talk_, talk_, talk_, talk_, question_};
  EXPECT_EQ(Play(messages, {kAdd, kFilter, kFilter, kFilter, kFilter, kRetrieve}),
            (FactsAnswer{"Where is the cellar key?", "under the stairs", "under the stairs"}));
  EXPECT_EQ(Play(messages, {kAdd, kFilter, kFilter, kFilter, kFilter, kFilter}).answered, "");
  EXPECT_EQ(Play(messages, {kFilter, kFilter, kFilter, kFilter, kFilter, kRetrieve}).answered, "");
}

TEST_F(FactsWorldTest, AFactThatIsStoredTwiceAnswersWithTheOldPlace) {
  const std::vector<FactMessage> messages = {fact_, moved_, talk_, talk_, talk_, talk_, question_};
  EXPECT_TRUE(Play(messages, {kAdd, kUpdate, kFilter, kFilter, kFilter, kFilter, kRetrieve}).is_correct());
  EXPECT_EQ(Play(messages, {kAdd, kAdd, kFilter, kFilter, kFilter, kFilter, kRetrieve}).answered, "in the blue box");
  EXPECT_EQ(Play(messages, {kAdd, kFilter, kFilter, kFilter, kFilter, kFilter, kRetrieve}).answered, "in the blue box");
  config_.optimal_retrieved = 2;  // finds both, and the last text of the short-term memory counts
  EXPECT_TRUE(Play(messages, {kAdd, kAdd, kFilter, kFilter, kFilter, kFilter, kRetrieve}).is_correct());
}

TEST_F(FactsWorldTest, AddingAStoredTextChangesNothing) {
  EpisodeMemory memory(config_, config_.store_size);
  const FactsWorld world({fact_, fact_, question_}, config_.store_size, memory);
  for (int64_t t = 0; t < 2; ++t) {
    OperationResult result = {.operation = kAdd};
    EXPECT_TRUE(world.Execute(t, memory, &result).succeeded);
    EXPECT_EQ(memory.stored(), 1);
  }
}

TEST_F(FactsWorldTest, StoredTalkDisplacesFactsAndDeletingMakesRoom) {
  config_.store_size = 2;
  const std::vector<FactMessage> messages = {moved_, other_, {Kind::kGone, 1}, {Kind::kTalk, 2}, talk_,
                                             talk_,  talk_,  question_};
  EXPECT_EQ(Play(messages, {kAdd, kAdd, kFilter, kAdd, kFilter, kFilter, kFilter, kRetrieve}).answered, "");
  EXPECT_TRUE(Play(messages, {kAdd, kAdd, kDelete, kAdd, kFilter, kFilter, kFilter, kRetrieve}).is_correct());
}

TEST_F(FactsWorldTest, OperationsFailWithoutATextAboutTheMessageAndAtAQuestion) {
  Play({fact_, fact_, fact_, fact_, question_, question_, question_, question_},
       {kUpdate, kDelete, kRetrieve, kAdd, kAdd, kUpdate, kRetrieve, kDelete});
  EXPECT_EQ(succeeded_, (std::vector<bool>{false, false, false, true, false, false, true, true}));
}

// What happens before the question is not in the state, and what the memory has is.
TEST(FactsStateTest, HasTheMessageAndWhatIsStoredAboutIt) {
  const MemoryConfig config = FactsConfig();
  const MemoryTask task = FactsTask(0);
  SimulatedEpisode episode(config, kSeed, task, 0);
  const std::string end = "; total_steps: " + std::to_string(task.message_T.size()) +
                          "; plan: " + std::string(kPlans[task.plan]) + "; message: ";
  EXPECT_EQ(episode.StateText(),
            "operation: pending; step: 0" + end + FormatMessage(task.message_T[0]) + "; known: False; stored: 0");
  episode.Act(kAdd);
  EXPECT_THAT(episode.StateText(), HasSubstr("step: 1" + end + FormatMessage(task.message_T[1])));
  EXPECT_THAT(episode.StateText(), HasSubstr("; stored: 1"));
}

struct Mean {
  double accuracy = 0, failed = 0;
};

// Returns the means over tasks of what a rule achieves.
Mean ComputeMean(const MemoryConfig& config,
                 const std::function<MemoryOperation(const MemoryTask&, SimulatedEpisode&)>& rule) {
  constexpr uint64_t kTasks = 1000;
  Mean mean;
  double operations = 0;
  for (uint64_t prompt = 0; prompt < kTasks; ++prompt) {
    const MemoryTask task = FactsTask(prompt);
    SimulatedEpisode episode(config, kSeed, task, 0);
    while (!episode.is_over()) {
      const MemoryOperation operation = rule(task, episode);
      mean.failed += episode.Act(operation).succeeded ? 0 : 1;
      ++operations;
    }
    mean.accuracy += episode.Answer()->is_correct() ? 1.0 / kTasks : 0;
  }
  mean.failed /= operations;
  return mean;
}

TEST(FactsRulesTest, ARuleThatLooksAtMessagesAndMemoryIsAlwaysRight) {
  const Mean best = ComputeMean(FactsConfig(), BestFactsOperation);
  EXPECT_NEAR(best.accuracy, 1, 1e-9);
  EXPECT_EQ(best.failed, 0);
}

TEST(FactsRulesTest, UpdatesAndDeletionsAreNeeded) {
  const auto without = [](MemoryOperation operation, MemoryOperation instead) {
    return ComputeMean(FactsConfig(), [=](const MemoryTask& task, const SimulatedEpisode& episode) {
      const MemoryOperation best = BestFactsOperation(task, episode);
      return best == operation ? instead : best;
    });
  };
  EXPECT_NEAR(without(kUpdate, kAdd).accuracy, 0.75, 0.05);
  EXPECT_NEAR(without(kUpdate, kFilter).accuracy, 0.65, 0.1);
  EXPECT_NEAR(without(kDelete, kFilter).accuracy, 0.90, 0.04);
}

TEST(FactsStoryTest, TheLongestMessageIsWhatTheConfigurationRequires) {
  size_t longest = 0;
  for (int32_t thing = 0; thing < static_cast<int32_t>(std::size(kThings)); ++thing) {
    for (int32_t place = 0; place < static_cast<int32_t>(std::size(kPlaces)); ++place) {
      for (const auto kind : {FactMessage::Kind::kPlace, FactMessage::Kind::kGone, FactMessage::Kind::kTalk,
                              FactMessage::Kind::kQuestion}) {
        longest = std::max(longest, FormatMessage({kind, thing, place}).size());
      }
    }
  }
  EXPECT_EQ(static_cast<int64_t>(longest), kFactsLongestMessage);
}

// By the turns that are left alone, and by them and by what is known.
TEST(FactsRulesTest, RulesThatDoNotReadMessagesMissManyAnswers) {
  const auto left = [](const SimulatedEpisode& e) {
    return e.num_steps() - static_cast<int64_t>(e.operations().size());
  };
  const auto open_loop = [&](const MemoryTask&, const SimulatedEpisode& e) {
    if (left(e) > kQuestionTurns + kFactsLastTalk) return kAdd;
    return left(e) > kQuestionTurns ? kFilter : kRetrieve;
  };
  EXPECT_NEAR(ComputeMean(FactsConfig(), open_loop).accuracy, 0.47, 0.06);
  const auto with_known = [&](const MemoryTask& task, const SimulatedEpisode& e) {
    const MemoryOperation operation = open_loop(task, e);
    return operation == kAdd && SaysKnown(e) ? kUpdate : operation;
  };
  EXPECT_NEAR(ComputeMean(FactsConfig(), with_known).accuracy, 0.70, 0.06);
}

TEST(FactsRulesTest, RulesThatDoNotLookAtMessagesAreMostlyWrong) {
  const Mean random = ComputeMean(FactsConfig(), [](const MemoryTask& task, const SimulatedEpisode& episode) {
    return static_cast<MemoryOperation>(
        DrawBelow(kSeed, Purpose::kTest, {.prompt = task.prompt, .token = episode.operations().size()}, 6));
  });
  EXPECT_NEAR(random.accuracy, 0.08, 0.03);
  EXPECT_GT(random.failed, 0.3);
  const Mean stores =
      ComputeMean(FactsConfig(), [](const MemoryTask&, const SimulatedEpisode& e) { return e.Solution(); });
  EXPECT_NEAR(stores.accuracy, 0.31, 0.05);
  EXPECT_LT(stores.failed, 0.03);
  for (const MemoryOperation operation : {kAdd, kUpdate, kDelete, kRetrieve, kSummary, kFilter}) {
    EXPECT_LT(ComputeMean(FactsConfig(), [=](const auto&, const auto&) { return operation; }).accuracy, 0.05);
  }
}

TEST(FactsReportTest, EveryOperationEarnsTheAnswer) {
  MemoryConfig config = FactsConfig();
  config.answer_reward = 2;
  const MemoryTask task = FactsTask(3);
  SimulatedEpisode episode(config, kSeed, task, 0);
  while (!episode.is_over()) episode.Act(BestFactsOperation(task, episode));
  const EpisodeReport right = ReportEpisode(config, kSeed, task, 0, episode.operations());
  for (const DecisionReport& decision : right.decision_T) EXPECT_EQ(decision.earned, decision.reward.composite + 2);
  EXPECT_EQ(right.recall_bonus, 0);
  EXPECT_EQ(right.outcome.answer, 1.0);
  EXPECT_TRUE(right.is_correct());
  EXPECT_THAT(FormatTranscript(task, right), HasSubstr("  asked    " + FormatMessage(task.message_T.back()) +
                                                       "\n  answered " + right.answer->expected + ": correct\n"));
  const EpisodeReport wrong =
      ReportEpisode(config, kSeed, task, 0, std::vector<MemoryOperation>(task.message_T.size(), kRetrieve));
  for (const DecisionReport& decision : wrong.decision_T) EXPECT_EQ(decision.earned, decision.reward.composite);
  EXPECT_EQ(wrong.outcome.answer, std::nullopt);
  EXPECT_THAT(FormatTranscript(task, wrong), HasSubstr("  answered nothing: wrong, it is " + wrong.answer->expected));
}

// What the agent reads at the question says nothing of the answer, whatever it did before. Its short-term memory has
// lost the answer too, unless an operation brought it back or kept it there.
RC_GTEST_PROP(FactsWorldProperty, AtTheQuestionTheAnswerIsOnlyWhereItWasRetrieved, ()) {
  const MemoryConfig config = FactsConfig();
  const MemoryTask task = FactsTask(*rc::gen::inRange<uint64_t>(0, 100000));
  const bool only_stores = *rc::gen::arbitrary<bool>();
  SimulatedEpisode episode(config, kSeed, task, 1);
  while (!episode.is_over()) {
    const FactMessage& message = task.message_T[episode.operations().size()];
    if (message.kind == Kind::kQuestion) {
      const std::string state = episode.StateText();
      RC_ASSERT(state.find("; message: " + FormatMessage(message) + "; known: ") != state.npos);
      for (const absl::string_view place : kPlaces) RC_ASSERT(state.find(std::string(place)) == state.npos);
      if (only_stores) RC_ASSERT(episode.Answer()->answered == "");
    }
    const size_t operations = only_stores ? 3 : data::kMemoryOperationCount;  // add, update, delete come first
    episode.Act(static_cast<MemoryOperation>(*rc::gen::inRange<size_t>(0, operations)));
  }
}

RC_GTEST_PROP(FactsWorldProperty, ReplayedOperationsGiveTheSameEpisode, ()) {
  const MemoryConfig config = FactsConfig();
  const MemoryTask task = FactsTask(*rc::gen::inRange<uint64_t>(0, 1000));
  SimulatedEpisode first(config, kSeed, task, 1), again(config, kSeed, task, 1);
  while (!first.is_over()) {
    const auto operation = static_cast<MemoryOperation>(*rc::gen::inRange<size_t>(0, data::kMemoryOperationCount));
    RC_ASSERT(first.StateText() == again.StateText());
    RC_ASSERT(first.Act(operation) == again.Act(operation));
    RC_ASSERT(first.event() == again.event());
  }
  RC_ASSERT(again.is_over());
  RC_ASSERT(first.Answer() == again.Answer());
}

}  // namespace
}  // namespace reprise::rl
