#ifndef MODELS_OLMOE_ADAPTER_CONFIG_H_
#define MODELS_OLMOE_ADAPTER_CONFIG_H_

// adapter_config.json of the PEFT library.

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/lora/lora_config.h"

namespace reprise::models {

// What adapter_config.json says.
struct AdapterDescription {
  LoraConfig lora;
  std::string base_model;  // where PEFT finds the frozen model; empty if it does not say
};

// InvalidArgument, naming the place, for adapters of another kind (rsLoRA, DoRA, patterns of ranks, biases, trained
// copies of whole modules), of another module than LoraModule's, or with a value out of range.
absl::StatusOr<AdapterDescription> ParseAdapterConfig(absl::string_view text);

std::string AdapterConfigJson(const LoraConfig& lora, absl::string_view base_model);

// Returns the names of the modules that have adapters.
std::set<std::string> AdapterTargets(const LoraConfig& lora);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_ADAPTER_CONFIG_H_
