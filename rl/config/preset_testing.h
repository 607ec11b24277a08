#ifndef RL_CONFIG_PRESET_TESTING_H_
#define RL_CONFIG_PRESET_TESTING_H_

#include "absl/strings/string_view.h"
#include "rl/algorithm/algorithm.h"

namespace reprise::rl {

// Sets algorithm.name as a configuration's text does: keys that differ from the old preset keep their values, all others
// take the new preset's. `name` must be a preset (checked).
void SelectPreset(absl::string_view name, AlgorithmConfig* algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_PRESET_TESTING_H_
