#ifndef RL_WORKLOADS_MORPHOGENESIS_GROWTH_ACTIONS_H_
#define RL_WORKLOADS_MORPHOGENESIS_GROWTH_ACTIONS_H_

// What a controller can do after an epoch: wait, germinate a seed of a blueprint, make the seed a part of the network
// (fossilise) or remove it (cull).

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rl/workloads/morphogenesis/growth_report.h"

namespace reprise::rl {

enum class GrowthActionKind : uint8_t { kWait = 0, kGerminate = 1, kFossilize = 2, kCull = 3 };

struct GrowthAction {
  GrowthActionKind kind = GrowthActionKind::kWait;
  int64_t blueprint = -1;  // of kGerminate; else -1

  bool operator==(const GrowthAction&) const = default;
};

// The actions of a topology: 0 WAIT, 1 to N GERMINATE_<BLUEPRINT>, N + 1 FOSSILIZE, N + 2 CULL.
class GrowthActions {
 public:
  // blueprints: the registry's names, in its order (by estimated parameters).
  explicit GrowthActions(std::vector<std::string> blueprints) : blueprint_B_(std::move(blueprints)) {}

  int64_t size() const { return blueprints() + 3; }
  int64_t blueprints() const { return static_cast<int64_t>(blueprint_B_.size()); }
  const std::vector<std::string>& blueprint_names() const { return blueprint_B_; }

  // 0 <= number < size().
  GrowthAction At(int64_t number) const;
  int64_t ActionNumber(const GrowthAction& action) const;
  std::string ActionName(int64_t number) const;  // "GERMINATE_CONV_LIGHT"

  // Returns 1 for each action that is allowed after an epoch, else 0: WAIT always; GERMINATE in a free slot without an
  // embargo once the host's training has stabilised, from epoch 5 on, after 3 epochs of plateau, until kMostSeeds seeds
  // have germinated in the episode; FOSSILIZE a seed in PROBATIONARY; CULL a seed that is active and at least 10 epochs
  // old. germinated: seeds of the episode, before this decision.
  std::vector<uint8_t> Mask(const TrainingSignals& signals, const GrowthReport& report, int64_t germinated) const;

 private:
  const std::vector<std::string> blueprint_B_;
};

// Internal if no action is allowed: a state that the masks must exclude (esper-lite's InvalidStateMachineError).
absl::Status RequireAction(absl::Span<const uint8_t> allowed_A);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MORPHOGENESIS_GROWTH_ACTIONS_H_
