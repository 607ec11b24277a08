#ifndef RL_CONFIG_KEY_CONDITIONS_H_
#define RL_CONFIG_KEY_CONDITIONS_H_

// The conditions under which keys are read, as the listings of sections name them beside the keys. Those of one section
// alone are in its file.

#include <functional>

#include "absl/strings/string_view.h"
#include "core/config/field.h"
#include "rl/config/config.h"
#include "rl/config/workload_traits.h"

namespace reprise::rl {

// Makes conditions for the keys of a configuration, which must outlive them and not move:
//   list.Int("kl_interval", ...).ReadIf(when(Follows<KlSchedule::kBanded>), "algorithm.kl_schedule banded");
class Conditions {
 public:
  explicit Conditions(const Config& config) : config_(&config) {}

  std::function<bool()> operator()(bool (*holds)(const Config& config)) const;

  // Scopes: a run of this workload, or of one that has the trait.
  config::Condition Workload(absl::string_view name) const;
  config::Condition WorkloadWith(bool WorkloadTraits::* trait) const;

 private:
  const Config* config_;
};

bool HasValues(const Config& config);
bool HasEnvironment(const Config& config);
// Turns of several tokens.
bool HasTurns(const Config& config);
bool HasSft(const Config& config);

// Whether the divergence ever has a weight: a schedule becomes nonzero by final_beta or by kl_low.
bool HasDivergence(const Config& config);

inline constexpr absl::string_view kValue = "algorithm.baseline value";
inline constexpr absl::string_view kSft = "sft.steps above 0";

}  // namespace reprise::rl

#endif  // RL_CONFIG_KEY_CONDITIONS_H_
