#include "rl/workloads/morphogenesis/growth_events.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/status/printable.h"

namespace reprise::rl {
namespace {

GrowthEventKind ToGrowthEventKind(models::SlotEventKind kind) {
  switch (kind) {
    case models::SlotEventKind::kGerminated:
      return GrowthEventKind::kSeedGerminated;
    case models::SlotEventKind::kStageChanged:
      return GrowthEventKind::kSeedStageChanged;
    case models::SlotEventKind::kFossilized:
      return GrowthEventKind::kSeedFossilized;
    case models::SlotEventKind::kCulled:
      return GrowthEventKind::kSeedCulled;
  }
  return GrowthEventKind::kSeedGerminated;
}

std::string Contribution(const GrowthEvent& event) {
  if (!event.counterfactual) return "";
  return absl::StrFormat(", contributes %+.2f points", *event.counterfactual);
}

}  // namespace

absl::string_view NameOf(GrowthEventKind kind) {
  constexpr absl::string_view kNames[] = {"SEED_GERMINATED", "SEED_STAGE_CHANGED", "SEED_FOSSILIZED",
                                          "SEED_CULLED",     "GATE_FAILED",        "ROLLED_BACK"};
  return kNames[static_cast<size_t>(kind)];
}

GrowthEventSeverity EventSeverity(const GrowthEvent& event) {
  if (event.kind == GrowthEventKind::kRolledBack) return GrowthEventSeverity::kError;
  return event.kind == GrowthEventKind::kGateFailed ? GrowthEventSeverity::kWarning : GrowthEventSeverity::kInfo;
}

GrowthEvent EventOf(const models::SlotEvent& event) {
  return {.kind = ToGrowthEventKind(event.kind),
          .epoch = event.epoch,
          .seed_id = event.seed_id,
          .slot_id = event.slot_id,
          .blueprint_id = event.blueprint_id,
          .from = event.from,
          .to = event.to,
          .gate = models::GateTo(event.to),
          .params = event.params,
          .improvement = event.improvement,
          .blending_delta = event.blending_delta,
          .counterfactual = event.counterfactual,
          .epochs_total = event.epochs_total,
          .epochs_in_stage = event.epochs_in_stage,
          .reason = event.reason};
}

GrowthEvent GateFailure(int64_t epoch, const models::SeedState* seed, models::Stage target,
                        const models::GateResult& result) {
  GrowthEvent event = {.kind = GrowthEventKind::kGateFailed,
                       .epoch = epoch,
                       .to = target,
                       .gate = result.gate,
                       .reason = result.message};
  if (seed == nullptr) return event;
  event.seed_id = seed->seed_id;
  event.slot_id = seed->slot_id;
  event.blueprint_id = seed->blueprint_id;
  event.from = seed->stage;
  event.improvement = seed->metrics.TotalImprovement();
  event.counterfactual = seed->metrics.counterfactual_contribution;
  event.epochs_total = seed->metrics.epochs_total;
  event.epochs_in_stage = seed->metrics.epochs_in_current_stage;
  return event;
}

GrowthEvent Rollback(int64_t epoch, const Panic& panic) {
  std::string reason(Describe(panic.reason));
  if (panic.reason != PanicReason::kNotFinite) absl::StrAppend(&reason, ": ", panic.loss);
  if (panic.threshold > 0) {
    absl::StrAppend(&reason, " is more than ", panic.threshold, ", as the losses of ", panic.num_anomalies,
                    " epochs in a row");
  }
  return {.kind = GrowthEventKind::kRolledBack, .epoch = epoch, .reason = reason};
}

std::string Describe(const GrowthEvent& event) {
  std::string text = absl::StrCat("epoch ", event.epoch, ": ");
  const std::string seed = Printable(absl::StrCat(event.seed_id, " (", event.blueprint_id, ")"));
  switch (event.kind) {
    case GrowthEventKind::kSeedGerminated:
      return absl::StrCat(text, seed, " germinated in ", Printable(event.slot_id), ", ", event.params, " parameters");
    case GrowthEventKind::kSeedStageChanged:
      return absl::StrCat(text, seed, " ", models::NameOf(event.from), " -> ", models::NameOf(event.to),
                          models::IsFailure(event.to) ? "" : absl::StrCat(", gate ", models::NameOf(event.gate)));
    case GrowthEventKind::kSeedFossilized:
      return absl::StrCat(text, seed, " fossilized at age ", event.epochs_total,
                          absl::StrFormat(", accuracy %+.2f points", event.improvement), Contribution(event));
    case GrowthEventKind::kSeedCulled:
      return absl::StrCat(text, seed, " culled at age ", event.epochs_total,
                          absl::StrFormat(", accuracy %+.2f points", event.improvement), Contribution(event), ": ",
                          event.reason);
    case GrowthEventKind::kGateFailed:
      return absl::StrCat(text, event.seed_id.empty() ? "no seed" : seed, " stays, because ", event.reason);
    case GrowthEventKind::kRolledBack:
      return absl::StrCat(text, "rolled back, because ", event.reason);
  }
  return text;
}

}  // namespace reprise::rl
