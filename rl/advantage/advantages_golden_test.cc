// Compares with every case of advantages.json: the advantages that TRL's own trainers computed from given rewards.

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rl/advantage/advantages.h"
#include "rl/advantage/leave_one_out.h"
#include "rl/advantage/statistics.h"
#include "rl/testing/golden_json.h"

namespace reprise::rl {
namespace {

using Json = nlohmann::json;
using testing::CaseCount;
using testing::ExpectGolden;
using testing::Flat;
using testing::ReadGoldenJson;
using testing::Row;

// The tolerance for groups of equal rewards: their advantage is exactly 0 here, but in TRL it is the rounding error of
// the mean, divided by 1e-4 where it normalises.
constexpr double kRoundingOfEqualGroups = 1e-11;

AdvantageOptions OptionsOf(const Json& c) {
  AdvantageOptions options;
  if (c["algo"] == "rloo") {
    options.baseline = Baseline::kLeaveOneOut;
    options.normalize_advantages = c["normalize_advantages"];
    options.reward_beta = c["beta"];
    if (!c["reward_clip_range"].is_null())
      options.reward_clip_range = {c["reward_clip_range"][0], c["reward_clip_range"][1]};
    return options;
  }
  EXPECT_EQ(c["algo"], "grpo");
  options.scale_rewards = *ParseScaleRewards(c["scale_rewards"].get<std::string>());
  options.multi_objective_aggregation = *ParseRewardAggregation(c["multi_objective_aggregation"].get<std::string>());
  return options;
}

std::string FindGoldenRow(const Json& c, const AdvantageOptions& options) {
  if (options.baseline == Baseline::kLeaveOneOut) return options.normalize_advantages ? "rloo normalized" : "rloo";
  return "grpo " + c["scale_rewards"].get<std::string>() + " " + c["multi_objective_aggregation"].get<std::string>();
}

std::vector<double> SequenceKl(const Json& c) {
  std::vector<double> kl_N;
  if (!c.contains("old_per_token_logps")) return kl_N;
  for (size_t n = 0; n < c["old_per_token_logps"].size(); ++n) {
    const std::vector<double> old = Row(c["old_per_token_logps"][n]), ref = Row(c["ref_per_token_logps"][n]);
    double sum = 0.0;
    for (size_t t = 0; t < old.size(); ++t) sum += old[t] - ref[t];
    kl_N.push_back(sum);
  }
  return kl_N;
}

// Returns the rewards from which these options' baseline is computed: one column, or one for each function.
std::vector<std::vector<double>> ComparedRewards(const RewardTable& table, const AdvantageOptions& options,
                                                 const std::vector<double>& kl_N) {
  if (options.baseline == Baseline::kLeaveOneOut) {
    return {PenalizedRewards(WeightedRewards(table), options.reward_clip_range, options.reward_beta, kl_N)};
  }
  if (options.multi_objective_aggregation == RewardAggregation::kSumThenNormalize) return {WeightedRewards(table)};
  std::vector<std::vector<double>> columns;
  for (int64_t f = 0; f < table.num_functions(); ++f) columns.push_back(FunctionRewards(table, f));
  return columns;
}

// Returns whether all samples of n's group have equal rewards, so that the advantage must be exactly 0.
bool GroupIsEqual(const std::vector<std::vector<double>>& columns, int64_t num_generations, size_t n) {
  const size_t g = static_cast<size_t>(num_generations), begin = n / g * g;
  return std::all_of(columns.begin(), columns.end(), [&](const std::vector<double>& rewards_N) {
    return AllScorableEqual(absl::MakeConstSpan(rewards_N).subspan(begin, g));
  });
}

TEST(AdvantagesGoldenTest, EqualsTrlOnEveryCase) {
  CaseCount count("advantages.json");
  const Json goldens = ReadGoldenJson("advantages.json");
  for (const Json& c : goldens["cases"]) {
    const std::vector<double> rewards_NF = Flat(c["rewards_per_func"]), weights_F = Row(c["reward_weights"]);
    const RewardTable table = {rewards_NF, weights_F, c["num_generations"].get<int64_t>()};
    const AdvantageOptions options = OptionsOf(c);
    const std::vector<double> golden_N = Row(c["advantages"]), kl_N = SequenceKl(c);
    const std::vector<double> advantages_N = Advantages(table, options, kl_N);
    ASSERT_EQ(advantages_N.size(), golden_N.size());
    const std::vector<std::vector<double>> compared = ComparedRewards(table, options, kl_N);
    for (size_t n = 0; n < golden_N.size(); ++n) {
      const std::string what = c["name"].get<std::string>() + " sample " + std::to_string(n);
      if (GroupIsEqual(compared, table.num_generations, n)) {
        EXPECT_EQ(advantages_N[n], 0.0) << what;
        EXPECT_NEAR(golden_N[n], 0.0, kRoundingOfEqualGroups) << what;
      } else {
        ExpectGolden(advantages_N[n], golden_N[n], what);
      }
    }
    count.Add(FindGoldenRow(c, options));
  }
  EXPECT_GT(count.Total(), 0);
}

}  // namespace
}  // namespace reprise::rl
