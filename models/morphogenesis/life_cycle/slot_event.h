#ifndef MODELS_MORPHOGENESIS_LIFE_CYCLE_SLOT_EVENT_H_
#define MODELS_MORPHOGENESIS_LIFE_CYCLE_SLOT_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "models/morphogenesis/life_cycle/stage.h"

namespace reprise::models {

enum class SlotEventKind : uint8_t { kGerminated = 0, kStageChanged = 1, kFossilized = 2, kCulled = 3 };

// What happened in a slot. Values are those before counters were reset by the transition.
struct SlotEvent {
  SlotEventKind kind = SlotEventKind::kGerminated;
  int64_t epoch = 0;  // epochs of the episode that were over
  std::string seed_id, slot_id, blueprint_id;
  Stage from = Stage::kUnknown, to = Stage::kUnknown;  // kStageChanged; the others name the stage that was entered
  int64_t params = 0;                                  // of the seed
  double improvement = 0;                              // since germination, percentage points
  double blending_delta = 0;
  std::optional<double> counterfactual;
  int epochs_total = 0, epochs_in_stage = 0;
  std::string reason;  // kCulled
};

}  // namespace reprise::models

#endif  // MODELS_MORPHOGENESIS_LIFE_CYCLE_SLOT_EVENT_H_
