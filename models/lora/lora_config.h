#ifndef MODELS_LORA_LORA_CONFIG_H_
#define MODELS_LORA_LORA_CONFIG_H_

// Which matrices of a frozen model have adapters (Hu et al. 2021, "LoRA"), and of which shape. Names follow the PEFT
// library's adapter_config.json.

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace reprise::models {

// The kinds of matrices that can have an adapter; those of experts have one for every expert.
enum class LoraModule { kQ, kK, kV, kO, kGate, kUp, kDown };
inline constexpr std::array<absl::string_view, 7> kLoraModuleNames = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                                      "gate_proj", "up_proj", "down_proj"};

struct LoraConfig {
  int64_t r = 0;  // rank of the adapters; 0: there are none, and the model itself is trained
  double alpha = 16;
  double dropout = 0;  // in training; see models/lora/dropout.h
  std::array<bool, kLoraModuleNames.size()> targets = {true, true, true, true, true, true, true};

  bool is_on() const { return r > 0; }
  bool Targets(LoraModule module) const { return is_on() && targets[static_cast<size_t>(module)]; }
  // What adapters' outputs are multiplied by.
  float scale() const { return static_cast<float>(alpha / static_cast<double>(r)); }

  bool operator==(const LoraConfig&) const = default;
};

}  // namespace reprise::models

#endif  // MODELS_LORA_LORA_CONFIG_H_
