#include "pipelines/sweeps/plan_check.h"

#include <fstream>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

constexpr char kSweep[] = R"([settings]
run.steps = 3
rollout.prompts_per_step = 8
rollout.num_generations = 2
[grid]
algorithm.name = ["grpo", "rloo"]
optimizer.learning_rate = [1e-3, 1e-2]
run.seed = [1, 2]
)";

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path) << text;
  return path;
}

// A plan, and what the runs of its trials would show, all of which are done.
struct Sweep {
  StoredPlan plan;
  std::vector<TrialOutcome> outcomes;
};

Sweep MakeSweep(const std::string& text) {
  const absl::StatusOr<SweepPlan> plan = PlanSweep(Write("s.toml", text), {}, /*ranks=*/1);
  EXPECT_OK(plan);
  if (!plan.ok()) return {};
  Sweep sweep = {MakeStoredPlan(*plan), {}};
  AddFiles(*plan, &sweep.plan);
  for (size_t i = 0; i < plan->trials.size(); ++i) {
    absl::StatusOr<TrialFacts> facts =
        ParseTrialFacts(StoredText(plan->trials[i].config.config), sweep.plan.trials[i].files, plan->axes);
    EXPECT_OK(facts);
    sweep.outcomes.push_back({.status = TrialStatus::kDone});
    if (facts.ok()) sweep.outcomes.back().facts = *std::move(facts);
  }
  return sweep;
}

std::string ExplainDifference(Sweep sweep, const std::function<void(std::vector<PlannedTrial>&)>& change) {
  change(sweep.plan.trials);
  sweep.outcomes.resize(sweep.plan.trials.size());
  return PlanDifference(sweep.plan, sweep.outcomes);
}

using Trials = std::vector<PlannedTrial>;

TEST(PlanCheckTest, APlanIsThatOfItsRunsWithVariantsDrawsPresetsAndFiles) {
  Write("a.jsonl", "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n");
  Write("b.jsonl", "{\"prompt\": \"1+2=\", \"answer\": \"3\"}\n");
  for (const std::string& text :
       {std::string(kSweep), std::string("[grid]\ndata.path = [\"a.jsonl\", \"b.jsonl\"]\nrun.seed = [1, 2]\n"),
        std::string(
            "[[variants]]\nname = \"x\"\nalgorithm.name = \"rloo\"\ngrid.run.seed = [1, 2]\n[[variants]]\n"
            "name = \"y\"\ngrid.algorithm.beta = [0.1, 0.2]\n[random]\ncount = 3\noptimizer.learning_rate = "
            "{low = 1e-4, high = 1e-2}\n"),
        std::string("[grid]\noptimizer.preset = [\"phase_3\", \"phase_5\"]\nlora.target_modules = [\"v_proj q_proj\", "
                    "\"o_proj\"]\n[settings]\nlora.r = 2\n"),
        std::string("[grid]\nalgorithm.loss_type = [\"dapo\", \"dr_grpo\"]\n")}) {
    const Sweep sweep = MakeSweep(text);
    ASSERT_GE(sweep.plan.trials.size(), 2u);
    EXPECT_EQ(PlanDifference(sweep.plan, sweep.outcomes), "") << text;
    const absl::StatusOr<StoredPlan> read = ParsePlan(PlanText(sweep.plan));
    ASSERT_OK(read);
    EXPECT_EQ(PlanText(*read), PlanText(sweep.plan));
  }
}

TEST(PlanCheckTest, AnExchangeThatIsMadeEverywhereIsFound) {
  const Sweep sweep = MakeSweep(kSweep);
  ASSERT_EQ(sweep.plan.trials.size(), 8u);
  // Trials 0 and 4 differ in algorithm.name alone.
  EXPECT_EQ(ExplainDifference(sweep, [](Trials& trials) { std::swap(trials[0].settings[0], trials[4].settings[0]); }),
            "trial 00-grpo-lr0.001-seed1: the plan's algorithm.name is \"rloo\", its run has \"grpo\"");
  const std::string names = ExplainDifference(sweep, [](Trials& trials) {
    for (size_t i = 0; i < 4; ++i) {
      trials[i].name.replace(3, 4, "rloo"), trials[i].arm.replace(0, 4, "rloo");
      trials[i + 4].name.replace(3, 4, "grpo"), trials[i + 4].arm.replace(0, 4, "grpo");
    }
  });
  EXPECT_EQ(names, "trial 0 of the plan has the name 00-rloo-lr0.001-seed1, not 00-grpo-lr0.001-seed1");
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { std::swap(trials[0].arm, trials[4].arm); }),
              HasSubstr("the plan's variant is rloo-lr0.001, not grpo-lr0.001"));
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { trials[1].arm += "-2"; }),
              HasSubstr("trial 01-grpo-lr0.001-seed2: its run is of the variant grpo-lr0.001 like"));
  EXPECT_EQ(ExplainDifference(sweep, [](Trials& trials) { trials[1].seed = 1; }),
            "trial 01-grpo-lr0.001-seed2: the plan's seed is 1, its run has 2");
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { trials[5].problem = "another"; }),
              HasSubstr("its run has another problem than the plan"));
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { trials[5].base = 1; }),
              HasSubstr("begins it with another configuration"));
}

TEST(PlanCheckTest, ARowThatWasRemovedIsMissed) {
  const Sweep sweep = MakeSweep(kSweep);
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { trials.pop_back(); }),
              HasSubstr("are not all combinations"));
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { trials.erase(trials.begin()); }),
              HasSubstr("trial 01-grpo-lr0.001-seed2: the plan's run.seed is 2, its run has 1"));
}

TEST(PlanCheckTest, APathsSettingHasTheDigestOfTheFileThatTheRunRead) {
  Write("a.jsonl", "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n");
  Write("b.jsonl", "{\"prompt\": \"1+2=\", \"answer\": \"3\"}\n");
  const Sweep sweep = MakeSweep("[grid]\ndata.path = [\"a.jsonl\", \"b.jsonl\"]\n");
  EXPECT_THAT(sweep.plan.trials[0].settings[0], ::testing::StartsWith("\"a.jsonl\" sha256:"));
  EXPECT_NE(sweep.plan.trials[0].problem, sweep.plan.trials[1].problem) << "other data is another problem";
  EXPECT_THAT(ExplainDifference(sweep, [](Trials& trials) { std::swap(trials[0].settings, trials[1].settings); }),
              HasSubstr("trial 00-a.jsonl: the plan's data.path is \"b.jsonl\" sha256:"));
}

TEST(PlanCheckTest, WhatAnAlgorithmBringsAlongIsNamed) {
  const absl::StatusOr<SweepPlan> plan =
      PlanSweep(Write("s.toml", "[grid]\nalgorithm.name = [\"grpo\", \"rloo\"]\n"), {}, /*ranks=*/1);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->also_differing, ::testing::Contains("algorithm.beta"));
  EXPECT_THAT(plan->also_differing, ::testing::Not(::testing::Contains("algorithm.name")));
}

}  // namespace
}  // namespace reprise
