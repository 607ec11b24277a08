#include "rl/config/evaluation_check.h"

#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace reprise::rl {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

absl::Status Check(const std::function<void(Config&)>& change) {
  Config config;
  config.evaluation.every = 10;
  change(config);
  return CheckEvaluation(config);
}

void ExpectRefused(const std::function<void(Config&)>& change, const std::string& what) {
  EXPECT_THAT(Check(change), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
}

TEST(EvaluationCheckTest, AcceptsAGeneratedTask) {
  EXPECT_OK(Check([](Config&) {}));
}

TEST(EvaluationCheckTest, AnExternalProcessMayBeUsedInEvaluations) {
  EXPECT_OK(Check([](Config& config) { config.process.command = "cat"; }));
}

TEST(EvaluationCheckTest, AFileOfProblemsNeedsHeldOutProblems) {
  ExpectRefused([](Config& config) { config.data.path = "d.jsonl"; }, "evaluation.held_out_share, for example to 0.2");
  EXPECT_OK(Check([](Config& config) {
    config.data.path = "d.jsonl";
    config.evaluation.held_out_share = 0.2;
  }));
  EXPECT_OK(Check([](Config& config) {
    config.data.path = "d.jsonl";
    config.evaluation.path = "e.jsonl";
  }));
}

TEST(EvaluationCheckTest, RejectsAFileTogetherWithAShare) {
  ExpectRefused(
      [](Config& config) {
        config.evaluation.path = "e.jsonl";
        config.evaluation.held_out_share = 0.2;
      },
      "cannot be combined");
}

TEST(EvaluationCheckTest, AProgramsRewardDefinesNoAccuracy) {
  const auto defines = [](const std::string& reward, const std::string& environment,
                          std::optional<double> correct_reward) {
    Config config;
    config.algorithm.reward.functions = reward;
    config.environment.name = environment;
    config.evaluation.correct_reward = correct_reward;
    return DefinesAccuracy(config);
  };
  EXPECT_TRUE(defines("exact_match", "", {}));
  EXPECT_TRUE(defines("character_match", "", {}));
  EXPECT_TRUE(defines("process exact_match", "", {}));
  EXPECT_TRUE(defines("environment process", "process", {}));
  EXPECT_FALSE(defines("process", "", {}));
  EXPECT_TRUE(defines("process", "", 1));
}

TEST(EvaluationCheckTest, WithoutAccuracyTheMetricIsAReward) {
  const auto with = [](const std::string& metric, std::optional<double> correct_reward = {}) {
    return [=](Config& config) {
      config.algorithm.reward.functions = "process";
      config.evaluation.metric_for_best_model = metric;
      config.evaluation.correct_reward = correct_reward;
    };
  };
  for (const char* metric : {"eval_greedy_accuracy", "eval_pass@4", "eval_mean@8_low"}) {
    ExpectRefused(with(metric), "set evaluation.correct_reward to the least reward of one");
    EXPECT_OK(Check(with(metric, 0.5)));
  }
  EXPECT_OK(Check(with(Config().evaluation.metric_for_best_model)));
  EXPECT_OK(Check(with("eval_reward")));
}

TEST(EvaluationCheckTest, TheMetricMustBeAnEvaluationMetric) {
  ExpectRefused([](Config& config) { config.evaluation.metric_for_best_model = "eval_pass@5"; }, "eval_pass@4");
  ExpectRefused([](Config& config) { config.evaluation.metric_for_best_model = "reward"; }, "eval_reward");
  EXPECT_OK(Check([](Config& config) { config.evaluation.metric_for_best_model = "eval_pass@8"; }));
  ExpectRefused(
      [](Config& config) {
        config.evaluation.metric_for_best_model = "eval_reward";
        config.evaluation.num_generations = 0;
      },
      "eval_greedy_reward");
}

TEST(EvaluationCheckTest, AMetricOfAWorkloadIsThatOfNoOther) {
  const std::pair<const char*, const char*> metrics[] = {{"memory_agent", "eval_stage1_reward"},
                                                         {"quiet_star", "eval_thoughts/gain"},
                                                         {"morphogenesis", "eval_greedy_added_params"}};
  for (const auto& [workload, metric] : metrics) {
    for (const char* const run : {"completions", "bandit", "memory_agent", "quiet_star", "morphogenesis"}) {
      const absl::Status status = Check([&, metric = metric](Config& config) {
        config.run.workload = run;
        config.evaluation.metric_for_best_model = metric;
      });
      EXPECT_EQ(status.ok(), run == absl::string_view(workload)) << run << ": " << metric << ": " << status;
      if (!status.ok()) {
        EXPECT_THAT(status,
                    StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("evaluation.metric_for_best_model")));
      }
    }
  }
}

TEST(EvaluationCheckTest, KeysOfEvaluationsNeedEvaluations) {
  const auto never = [](Config& config) { config.evaluation.every = 0; };
  EXPECT_OK(Check(never));
  ExpectRefused([&](Config& config) { never(config), config.evaluation.early_stopping_patience = 1; },
                "set evaluation.every");
  ExpectRefused([&](Config& config) { never(config), config.evaluation.load_best_model_at_end = true; },
                "set evaluation.every");
  ExpectRefused([&](Config& config) { never(config), config.evaluation.on_start = true; }, "set evaluation.every");
  ExpectRefused(
      [&](Config& config) {
        config.evaluation.load_best_model_at_end = true;
        config.evaluation.keep_best = false;
      },
      "evaluation.keep_best");
}

TEST(EvaluationCheckTest, RejectsTooManyCompletions) {
  const auto many = [](int64_t prompts) {
    return [prompts](Config& config) {
      config.evaluation.num_prompts = prompts;
      config.evaluation.num_generations = 2;
    };
  };
  ExpectRefused(many((int64_t{1} << 23) + 1), "completions per evaluation");
  EXPECT_OK(Check(many(int64_t{1} << 23)));
}

}  // namespace
}  // namespace reprise::rl
