#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_EVENTS_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_EVENTS_H_

// What happened to a growing network, in the order in which it happened: rows of a stream of the record. Esper-lite's
// events of epochs, rewards and updates are no events here, but rows of the streams `decisions` and `metrics`.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "models/morphogenesis/life_cycle/gates.h"
#include "models/morphogenesis/life_cycle/slot_event.h"
#include "models/morphogenesis/life_cycle/stage.h"
#include "rl/workloads/morphogenesis/governor.h"

namespace reprise::rl {

// Stored in records: do not change the values.
enum class GrowthEventKind : uint8_t {
  kSeedGerminated = 0,
  kSeedStageChanged = 1,
  kSeedFossilized = 2,
  kSeedCulled = 3,
  kGateFailed = 4,  // of an action of the controller
  kRolledBack = 5,  // by the governor
};
inline constexpr int kNumGrowthEventKinds = 6;

enum class GrowthEventSeverity : uint8_t { kInfo = 0, kWarning = 1, kError = 2 };

absl::string_view NameOf(GrowthEventKind kind);  // "SEED_GERMINATED", ...

struct GrowthEvent {
  GrowthEventKind kind = GrowthEventKind::kSeedGerminated;
  int64_t epoch = 0;  // epochs of the episode that were over
  std::string seed_id = {}, slot_id = {}, blueprint_id = {};
  models::Stage from = models::Stage::kUnknown, to = models::Stage::kUnknown;
  models::Gate gate = models::Gate::kG0;       // which stands before `to`
  int64_t params = 0;                          // of the seed
  double improvement = 0, blending_delta = 0;  // percentage points
  std::optional<double> counterfactual = {};
  int64_t epochs_total = 0, epochs_in_stage = 0;
  std::string reason = {};  // of a cull, a failed gate, a rollback

  bool operator==(const GrowthEvent&) const = default;
};

GrowthEventSeverity EventSeverity(const GrowthEvent& event);

GrowthEvent EventOf(const models::SlotEvent& event);
GrowthEvent GateFailure(int64_t epoch, const models::SeedState* seed, models::Stage target,
                        const models::GateResult& result);
GrowthEvent Rollback(int64_t epoch, const Panic& panic);

// A line for people: "epoch 8: seed_1 (conv_light) TRAINING -> BLENDING, gate G2 passed".
std::string Describe(const GrowthEvent& event);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_EVENTS_H_
