#include "rl/workloads/morphogenesis/play_growth.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/io/file_system.h"
#include "core/parallel/activity.h"
#include "core/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/workloads/morphogenesis/growth_controllers.h"
#include "rl/workloads/morphogenesis/growth_timeline.h"

namespace reprise::rl {
namespace {

using models::Stage;
using ::testing::HasSubstr;

MorphogenesisConfig Tiny() {
  MorphogenesisConfig config;
  config.train_examples = 64;
  config.validation_examples = 64;
  config.batch_size = 16;
  config.image_size = 8;
  config.base_channels = 4;
  config.blocks = 2;
  config.augments = false;
  return config;
}

// A host that learns slowly, so that seeds can come early, and its accuracy goes on rising while they are trained.
MorphogenesisConfig Slow() {
  MorphogenesisConfig config = Tiny();
  config.host_learning_rate = 0.003;
  config.seed_learning_rate = 0.03;
  config.embargo_epochs = 0;
  return config;
}

// Takes the first of these actions that is allowed, else waits.
ChooseGrowth Prefers(const GrowthActions& actions, std::vector<GrowthAction> preferred) {
  return [&actions, preferred](const GrowthState& state, const GrowthReport&) {
    for (const GrowthAction& action : preferred) {
      const int64_t number = actions.ActionNumber(action);
      if (state.allowed_A[number] != 0) return GrowthChoice{.action = number};
    }
    return GrowthChoice{};
  };
}

struct Game {
  explicit Game(const MorphogenesisConfig& of) : config(of) {
    Config whole;
    whole.morphogenesis = config;
    auto loaded_rules = GrowthRules::Of(whole);
    EXPECT_OK(loaded_rules);
    rules.emplace(*std::move(loaded_rules));
    auto loaded = GrowthExamples::Load(config, 1, PosixFileSystem(), &files);
    EXPECT_OK(loaded);
    examples.emplace(*std::move(loaded));
  }
  PlayedGrowth Play(const ChooseGrowth& choose, uint64_t host_seed = 3) const {
    const auto played = PlayGrowth({config, *rules, *examples}, host_seed, choose);
    EXPECT_OK(played);
    return played.ok() ? *played : PlayedGrowth{};
  }
  GrowthOutcome Outcome(const PlayedGrowth& played) const {
    const auto outcome = ComputeOutcome(*rules, played);
    EXPECT_OK(outcome);
    return *outcome;
  }

  MorphogenesisConfig config;
  std::vector<ExternalFile> files;
  std::optional<GrowthRules> rules;
  std::optional<GrowthExamples> examples;
};

size_t Count(const PlayedGrowth& played, GrowthEventKind kind) {
  return static_cast<size_t>(std::count_if(played.events.begin(), played.events.end(),
                                           [&](const GrowthEvent& event) { return event.kind == kind; }));
}

bool Entered(const PlayedGrowth& played, Stage stage) {
  return std::any_of(played.events.begin(), played.events.end(), [&](const GrowthEvent& event) {
    return event.kind == GrowthEventKind::kSeedStageChanged && event.to == stage;
  });
}

constexpr GrowthAction kConvLight = {GrowthActionKind::kGerminate, 3}, kFossilize = {GrowthActionKind::kFossilize};
constexpr GrowthAction kCull = {GrowthActionKind::kCull};

// An epoch of a large host takes longer than a watchdog waits for a sign of life.
TEST(PlayGrowthTest, MarksActivityInEveryEpoch) {
  MorphogenesisConfig config = Tiny();
  config.max_epochs = 3;
  int active = 0;
  Game(config).Play([&active](const GrowthState&, const GrowthReport&) {
    active += TakeActivity() ? 1 : 0;
    return GrowthChoice{};
  });
  EXPECT_EQ(active, 3);
}

TEST(PlayGrowthTest, IsAFunctionOfTheHostsSeedAndTheChoices) {
  MorphogenesisConfig config = Tiny();
  config.max_epochs = 4;
  const Game game(config);
  const auto wait = [](const GrowthState&, const GrowthReport&) { return GrowthChoice{}; };
  const PlayedGrowth played = game.Play(wait);
  EXPECT_EQ(played, game.Play(wait));
  EXPECT_NE(played.report_T1, game.Play(wait, 4).report_T1);
  ASSERT_EQ(played.action_T.size(), 4u);
  ASSERT_EQ(played.report_T1.size(), 5u);
  EXPECT_EQ(played.report_T1[3].measures, played.report_T1[4].measures) << "nothing is trained after the last decision";
  EXPECT_LT(played.report_T1[3].measures.train_loss, played.report_T1[0].measures.train_loss);
}

// In esper-lite no episode passes G2, whose gradient ratio it never computes, or G5, whose counterfactual it never
// computes; and a fossil keeps its slot.
TEST(PlayGrowthTest, ASeedPassesAllGatesAndItsSlotIsUsedAgain) {
  MorphogenesisConfig config = Slow();
  config.max_epochs = 60;
  const Game game(config);
  const PlayedGrowth played = game.Play(Prefers(game.rules->actions, {kConvLight, kFossilize}));
  const auto timeline = FormatTimeline(*game.rules, played);
  ASSERT_OK(timeline);
  for (const Stage stage : {Stage::kTraining, Stage::kBlending, Stage::kShadowing, Stage::kProbationary}) {
    EXPECT_TRUE(Entered(played, stage)) << models::NameOf(stage) << "\n" << *timeline;
  }
  EXPECT_GE(Count(played, GrowthEventKind::kSeedFossilized), 1u) << *timeline;
  EXPECT_GE(Count(played, GrowthEventKind::kSeedGerminated), 2u) << *timeline;
  EXPECT_GT(played.report_T1.back().fossil_params, 0);
  EXPECT_EQ(Count(played, GrowthEventKind::kRolledBack), 0u) << *timeline;
  EXPECT_THAT(*timeline, HasSubstr("TRAINING -> BLENDING, gate G2"));
}

// Of a seed that became part of its host, of one that was removed, and of rollbacks: an episode is over after its last
// epoch, and then its potential-based terms, discounted, are worth nothing.
TEST(PlayGrowthTest, PotentialsOfAnEpisodeSumToNothing) {
  MorphogenesisConfig config = Slow();
  config.max_epochs = 40;
  for (const char* reward : {"shaped", "contribution", "loss"}) {
    config.reward = reward;
    const Game game(config);
    for (const GrowthAction& action : {kFossilize, kCull}) {
      const PlayedGrowth played = game.Play(Prefers(game.rules->actions, {action, kConvLight}));
      const auto emptied = action == kFossilize ? GrowthEventKind::kSeedFossilized : GrowthEventKind::kSeedCulled;
      EXPECT_GE(Count(played, emptied), 1u) << reward;
      double sum = 0, size = 0, discount = 1;
      for (const GrowthReward& earned : game.Outcome(played).reward_T) {
        sum += discount * earned.potential;
        size += std::fabs(earned.potential);
        discount *= 0.99;
      }
      EXPECT_GT(size, 0.5) << reward;
      EXPECT_NEAR(sum, 0, 1e-12) << reward;
    }
  }
}

// Whether an episode in which the network was set back is finite, and earns -10 and its potential then.
void ExpectSound(const Game& game, const PlayedGrowth& played) {
  const GrowthOutcome outcome = game.Outcome(played);
  for (size_t t = 0; t < played.action_T.size(); ++t) {
    if (played.report_T1[t].was_rolled_back) {
      EXPECT_EQ(outcome.reward_T[t].rollback, -10);
      EXPECT_EQ(outcome.reward_T[t].total(), -10 + outcome.reward_T[t].potential);
    }
    EXPECT_TRUE(std::isfinite(played.report_T1[t].measures.val_loss));
    EXPECT_TRUE(std::isfinite(outcome.reward_T[t].total()));
  }
  for (const float feature : outcome.decisions.feature_TF) EXPECT_TRUE(std::isfinite(feature));
}

TEST(PlayGrowthTest, AHostThatIsNotFiniteIsRolledBack) {
  MorphogenesisConfig config = Tiny();
  config.max_epochs = 7;  // a snapshot follows the fifth: of the restored host
  config.host_learning_rate = 1e30;
  const Game game(config);
  const PlayedGrowth played = game.Play(HeuristicChoices(game.rules->actions));
  const auto timeline = FormatTimeline(*game.rules, played);
  ASSERT_OK(timeline);
  EXPECT_EQ(Count(played, GrowthEventKind::kRolledBack), 7u) << *timeline;
  EXPECT_THAT(*timeline, HasSubstr("rolled back, because the loss is not a number"));
  ExpectSound(game, played);
}

TEST(PlayGrowthTest, ASeedThatMakesNumbersNotFiniteIsRemoved) {
  MorphogenesisConfig config = Slow();
  config.max_epochs = 40;
  config.seed_learning_rate = 1e12;
  const Game game(config);
  const PlayedGrowth played = game.Play(Prefers(game.rules->actions, {kConvLight}));
  const auto timeline = FormatTimeline(*game.rules, played);
  ASSERT_OK(timeline);
  ASSERT_GE(Count(played, GrowthEventKind::kRolledBack), 1u) << *timeline;
  EXPECT_GE(Count(played, GrowthEventKind::kSeedCulled), 1u) << *timeline;
  ExpectSound(game, played);
}

// The seed's harm begins in epoch 15, after which a snapshot is due. One of the network as it is then would be what the
// panic of epoch 16 goes back to, and every later one.
TEST(PlayGrowthTest, ARollbackRestoresTheNetworkFromBeforeTheFirstAnomaly) {
  MorphogenesisConfig config = Slow();
  config.max_epochs = 17;
  config.seed_learning_rate = 1e4;
  const Game game(config);
  const PlayedGrowth played = game.Play(Prefers(game.rules->actions, {{GrowthActionKind::kGerminate, 2}}), 31);
  const auto timeline = FormatTimeline(*game.rules, played);
  ASSERT_OK(timeline);
  EXPECT_GT(played.report_T1[14].measures.val_loss, 10) << *timeline;
  EXPECT_FALSE(played.report_T1[14].was_rolled_back) << *timeline;
  EXPECT_TRUE(played.report_T1[15].was_rolled_back) << *timeline;
  EXPECT_LT(played.report_T1[15].measures.val_loss, 3) << *timeline;
  EXPECT_THAT(*timeline, HasSubstr("is more than 10, as the losses of 2 epochs in a row"));
  ExpectSound(game, played);
}

// Each seed is removed by a rollback in its first epoch. The slot refuses a seed more, which would end the run.
TEST(PlayGrowthTest, AnEpisodeThatHasHadAllItsSeedsGoesOnWithoutNewOnes) {
  MorphogenesisConfig config = Slow();
  config.train_examples = config.validation_examples = 1;
  config.max_epochs = 250;
  config.host_learning_rate = 1e30;
  const Game game(config);
  for (const ChooseGrowth& choose : {HeuristicChoices(game.rules->actions), RandomChoices(1, 0)}) {
    const PlayedGrowth played = game.Play(choose);
    EXPECT_EQ(Count(played, GrowthEventKind::kSeedGerminated), 126u);
    EXPECT_EQ(game.Outcome(played).reward_T.size(), 250u);
  }
}

TEST(PlayGrowthTest, AnEmbargoFollowsACull) {
  MorphogenesisConfig config = Slow();
  config.max_epochs = 30;
  config.embargo_epochs = 3;
  const Game game(config);
  const PlayedGrowth played = game.Play(Prefers(game.rules->actions, {kCull, kConvLight}));
  const auto culled = std::find_if(played.events.begin(), played.events.end(),
                                   [](const GrowthEvent& event) { return event.kind == GrowthEventKind::kSeedCulled; });
  ASSERT_NE(culled, played.events.end());
  for (const GrowthEvent& event : played.events) {
    if (event.kind != GrowthEventKind::kSeedGerminated || event.epoch <= culled->epoch) continue;
    EXPECT_GE(event.epoch, culled->epoch + 3);
  }
}

TEST(PlayGrowthTest, AChoiceThatIsNotAllowedIsAnError) {
  MorphogenesisConfig config = Tiny();
  config.max_epochs = 2;
  const Game game(config);
  const auto cull = [&](const GrowthState&, const GrowthReport&) {
    return GrowthChoice{.action = game.rules->actions.ActionNumber(kCull)};
  };
  EXPECT_THAT(PlayGrowth({game.config, *game.rules, *game.examples}, 1, cull),
              ::reprise::testing::StatusIs(absl::StatusCode::kInternal, HasSubstr("CULL after epoch 1")));
}

TEST(PlayGrowthTest, PlaysTransformersOnStories) {
  MorphogenesisConfig config;
  config.task = "tinystories";
  config.train_examples = 8;
  config.validation_examples = 4;
  config.batch_size = 4;
  config.max_epochs = 3;
  config.block_size = 16;
  config.width = 8;
  config.heads = 2;
  config.layers = 1;
  const Game game(config);
  const PlayedGrowth played = game.Play(HeuristicChoices(game.rules->actions));
  ASSERT_EQ(played.report_T1.size(), 4u);
  EXPECT_LT(played.report_T1[2].measures.train_loss, played.report_T1[0].measures.train_loss);
  EXPECT_EQ(game.Outcome(played).decisions.feature_TF.size(), 4u * 45);
}

}  // namespace
}  // namespace reprise::rl
