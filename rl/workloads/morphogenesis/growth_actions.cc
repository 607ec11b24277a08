#include "rl/workloads/morphogenesis/growth_actions.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/status/check.h"

namespace reprise::rl {

using models::Stage;

GrowthAction GrowthActions::At(int64_t number) const {
  CHECK(number >= 0 && number < size());
  if (number == 0) return {GrowthActionKind::kWait};
  if (number <= blueprints()) return {GrowthActionKind::kGerminate, number - 1};
  return {number == blueprints() + 1 ? GrowthActionKind::kFossilize : GrowthActionKind::kCull};
}

int64_t GrowthActions::ActionNumber(const GrowthAction& action) const {
  switch (action.kind) {
    case GrowthActionKind::kWait:
      return 0;
    case GrowthActionKind::kGerminate:
      CHECK(action.blueprint >= 0 && action.blueprint < blueprints());
      return action.blueprint + 1;
    case GrowthActionKind::kFossilize:
      return blueprints() + 1;
    case GrowthActionKind::kCull:
      return blueprints() + 2;
  }
  return 0;
}

std::string GrowthActions::ActionName(int64_t number) const {
  const GrowthAction action = At(number);
  switch (action.kind) {
    case GrowthActionKind::kWait:
      return "WAIT";
    case GrowthActionKind::kGerminate:
      return absl::StrCat("GERMINATE_", absl::AsciiStrToUpper(blueprint_B_[action.blueprint]));
    case GrowthActionKind::kFossilize:
      return "FOSSILIZE";
    case GrowthActionKind::kCull:
      return "CULL";
  }
  return "";
}

std::vector<uint8_t> GrowthActions::Mask(const TrainingSignals& signals, const GrowthReport& report,
                                         int64_t germinated) const {
  std::vector<uint8_t> allowed_A(static_cast<size_t>(size()), 0);
  const auto allow = [&](const GrowthAction& action, bool is_allowed) {
    allowed_A[ActionNumber(action)] = is_allowed ? 1 : 0;
  };
  allow({GrowthActionKind::kWait}, true);
  const bool germinates = !report.seed && report.embargo_epochs == 0 && germinated < models::kMostSeeds &&
                          signals.is_stabilized && signals.epoch >= models::kMinGerminateEpoch &&
                          signals.plateau_epochs >= models::kMinPlateauToGerminate;
  for (int64_t blueprint = 0; blueprint < blueprints(); ++blueprint) {
    allow({GrowthActionKind::kGerminate, blueprint}, germinates);
  }
  if (!report.seed) return allowed_A;
  const Stage stage = report.seed->stage;
  allow({GrowthActionKind::kFossilize}, stage == Stage::kProbationary);
  allow({GrowthActionKind::kCull},
        models::IsActive(stage) && stage != Stage::kFossilized && report.seed->age >= models::kMinCullAge);
  return allowed_A;
}

absl::Status RequireAction(absl::Span<const uint8_t> allowed_A) {
  if (std::any_of(allowed_A.begin(), allowed_A.end(), [](uint8_t allowed) { return allowed != 0; })) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("the controller may take none of its ", allowed_A.size(),
                                          " actions: the mask of a state allows "
                                          "at least to wait"));
}

}  // namespace reprise::rl
