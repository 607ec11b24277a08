// Promise: the traffic between ranks that `validate` predicts is the traffic that execution.jsonl counts.

#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/programs/programs.h"

namespace reprise::testing {
namespace {

constexpr char kWide[] = "tests/cost_model/wide.toml";

nlohmann::json ReportedTraffic(int ranks, const std::vector<std::string>& overrides) {
  std::vector<std::string> arguments = {"pipelines/validate", kWide, "--json", "--ranks", std::to_string(ranks)};
  for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
  const ProcessResult result = RunProgramOnRanks({}, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const size_t event = result.out.find("{\"event\":\"traffic\"");
  if (event == std::string::npos) return {};
  return nlohmann::json::parse(result.out.substr(event, result.out.find('\n', event) - event));
}

TEST(ReportedTrafficTest, EqualsTheCountedTraffic) {
  for (int ranks : {2, 3, 4}) {
    const std::vector<std::string> overrides = {"model.hidden_size=64", "model.intermediate_size=64",
                                                "execution.exchange_floats=16384",
                                                "execution.save_every=100"};  // by steps, not by time
    const nlohmann::json reported = ReportedTraffic(ranks, overrides);
    ASSERT_FALSE(reported.is_null());
    const TrainedRun run = Train(kWide, overrides, {.ranks = ranks});
    constexpr double kSteps = 2;
    const double updates = kSteps * reported.at("step").at("updates").get<double>();
    const nlohmann::json& update = reported.at("update");
    const auto of_run = [&](const char* what) {  // the run's end writes one checkpoint
      const double each = update.at("sums").at(what).get<double>() + update.at("weights").at(what).get<double>();
      return updates * each + reported.at("optimizer_state").at(what).get<double>();
    };
    EXPECT_GT(reported.at("buckets"), 1);
    EXPECT_EQ(static_cast<double>(run.counts.buckets), updates * ranks * reported.at("buckets").get<double>());
    EXPECT_EQ(static_cast<double>(run.counts.exchange_messages), of_run("messages"));
    EXPECT_EQ(static_cast<double>(run.counts.exchange_bytes), of_run("bytes"));
    // A run's beginning and end agree on more than its steps.
    const double of_steps = kSteps * reported.at("step").at("messages").get<double>() +
                            reported.at("optimizer_state").at("messages").get<double>();
    std::printf("%d ranks: %lld messages in total, %.0f predicted for the steps\n", ranks,
                static_cast<long long>(run.counts.messages), of_steps);
    EXPECT_GE(static_cast<double>(run.counts.messages), of_steps);
  }
}

}  // namespace
}  // namespace reprise::testing
