#include "rl/workloads/morphogenesis/growth_timeline.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/status_macros.h"
#include "rl/workloads/morphogenesis/growth_record.h"

namespace reprise::rl {
namespace {

std::string SeedText(const GrowthRules& rules, const GrowthReport& report) {
  if (!report.seed) return report.embargo_epochs > 0 ? absl::StrCat("embargo, ", report.embargo_epochs) : "-";
  const SeedReport& seed = *report.seed;
  std::string text = absl::StrCat(rules.actions.blueprint_names()[seed.blueprint], " ", models::NameOf(seed.stage), " ",
                                  seed.epochs_in_stage);
  if (seed.alpha > 0) absl::StrAppend(&text, absl::StrFormat(" alpha %.2f", seed.alpha));
  if (seed.counterfactual) absl::StrAppend(&text, absl::StrFormat(" contributes %+.2f", *seed.counterfactual));
  return text;
}

}  // namespace

absl::StatusOr<std::string> FormatTimeline(const GrowthRules& rules, const PlayedGrowth& played) {
  ASSIGN_OR_RETURN(const GrowthOutcome outcome, ComputeOutcome(rules, played));
  std::string text =
      absl::StrFormat("a host of %d parameters, %d epochs\n%5s %8s %8s %9s  %-46s %s\n", played.host_params,
                      played.action_T.size(), "epoch", "loss", "accuracy", "earned", "seed", "decision");
  auto event = played.events.begin();
  const auto tell = [&](int64_t epoch) {
    for (; event != played.events.end() && event->epoch <= epoch; ++event) {
      absl::StrAppend(&text, "        ", Describe(*event), "\n");
    }
  };
  tell(0);
  for (size_t t = 0; t < played.action_T.size(); ++t) {
    const GrowthReport& report = played.report_T1[t];
    absl::StrAppend(&text, absl::StrFormat("%5d %8.4f %8.2f %9.4f  %-46s %s\n", t + 1, report.measures.val_loss,
                                           report.measures.val_accuracy, outcome.reward_T[t].total(),
                                           SeedText(rules, report), rules.actions.ActionName(played.action_T[t])));
    tell(static_cast<int64_t>(t) + 1);
  }
  const GrowthScore score = ScoreGrowth(played, outcome);
  absl::StrAppend(&text, absl::StrFormat("return %.4f, final accuracy %.2f, %.0f parameters added\n",
                                         score.total_return, score.final_accuracy, score.added_params));
  return text;
}

absl::StatusOr<std::string> DescribeGrowthStep(const Config& config, const StepTables& step) {
  ASSIGN_OR_RETURN(const GrowthRules rules, GrowthRules::Of(config));
  RETURN_IF_ERROR(CheckGrowthTables(config, rules, step));
  ASSIGN_OR_RETURN(const StepRecord record, ReadGrowthRecord(rules, step));
  std::string text;
  for (const EpisodeRecord& episode : record.episode_N) {
    ASSIGN_OR_RETURN(const std::string timeline, FormatTimeline(rules, GetPlayedGrowth(episode)));
    absl::StrAppend(&text, "prompt ", episode.prompt, ", sample ", episode.sample, ": ", timeline, "\n");
  }
  return text;
}

}  // namespace reprise::rl
