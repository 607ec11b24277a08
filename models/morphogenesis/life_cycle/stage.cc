#include "models/morphogenesis/life_cycle/stage.h"

#include <algorithm>

namespace reprise::models {

absl::string_view NameOf(Stage stage) {
  switch (stage) {
    case Stage::kUnknown:
      return "UNKNOWN";
    case Stage::kDormant:
      return "DORMANT";
    case Stage::kGerminated:
      return "GERMINATED";
    case Stage::kTraining:
      return "TRAINING";
    case Stage::kBlending:
      return "BLENDING";
    case Stage::kShadowing:
      return "SHADOWING";
    case Stage::kProbationary:
      return "PROBATIONARY";
    case Stage::kFossilized:
      return "FOSSILIZED";
    case Stage::kCulled:
      return "CULLED";
    case Stage::kEmbargoed:
      return "EMBARGOED";
    case Stage::kResetting:
      return "RESETTING";
  }
  return "invalid";
}

std::vector<Stage> Successors(Stage stage) {
  switch (stage) {
    case Stage::kUnknown:
      return {Stage::kDormant};
    case Stage::kDormant:
      return {Stage::kGerminated};
    case Stage::kGerminated:
      return {Stage::kTraining, Stage::kCulled};
    case Stage::kTraining:
      return {Stage::kBlending, Stage::kCulled};
    case Stage::kBlending:
      return {Stage::kShadowing, Stage::kCulled};
    case Stage::kShadowing:
      return {Stage::kProbationary, Stage::kCulled};
    case Stage::kProbationary:
      return {Stage::kFossilized, Stage::kCulled};
    case Stage::kFossilized:
      return {};
    case Stage::kCulled:
      return {Stage::kEmbargoed};
    case Stage::kEmbargoed:
      return {Stage::kResetting};
    case Stage::kResetting:
      return {Stage::kDormant};
  }
  return {};
}

bool IsValidTransition(Stage from, Stage to) {
  const std::vector<Stage> successors = Successors(from);
  return std::find(successors.begin(), successors.end(), to) != successors.end();
}

bool IsActive(Stage stage) { return stage >= Stage::kTraining && stage <= Stage::kFossilized; }

bool IsTerminal(Stage stage) { return stage == Stage::kFossilized; }

bool IsFailure(Stage stage) {
  return stage == Stage::kCulled || stage == Stage::kEmbargoed || stage == Stage::kResetting;
}

}  // namespace reprise::models
