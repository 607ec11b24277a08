#include "models/olmoe/adapter_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/json/json.h"
#include "core/status/status_macros.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

constexpr int64_t kMostRank = int64_t{1} << 24;

// A whole number is written without a fraction, as PEFT does.
nlohmann::ordered_json Number(double value) {
  const int64_t whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? nlohmann::ordered_json(whole) : nlohmann::ordered_json(value);
}

// Returns whether an option that names something names nothing.
bool IsOff(const JsonValue& value) {
  if (value.is_array()) return value.Elements()->empty();
  const absl::StatusOr<bool> flag = value.Bool();
  return value.is_null() || (flag.ok() && !*flag);
}

// Refuses what this product's adapters do not have. A member that is absent has the value of plain LoRA.
absl::Status RequirePlain(const JsonValue& root) {
  ASSIGN_OR_RETURN(const JsonValue type, root.Get("peft_type"));
  ASSIGN_OR_RETURN(const absl::string_view name, type.String());
  if (name != "LORA") return type.Error(absl::StrCat("\"", name, "\" adapters cannot be read; expected \"LORA\""));
  for (const absl::string_view flag : {"use_rslora", "use_dora", "fan_in_fan_out", "lora_bias", "use_qalora"}) {
    const std::optional<JsonValue> value = root.Find(flag);
    if (!value) continue;
    ASSIGN_OR_RETURN(const bool is_on, value->Bool());
    if (is_on) return value->Error("adapters with this option cannot be read; expected false");
  }
  for (const absl::string_view pattern : {"rank_pattern", "alpha_pattern"}) {
    const std::optional<JsonValue> value = root.Find(pattern);
    if (!value) continue;
    ASSIGN_OR_RETURN(const auto members, value->Members());
    if (!members.empty()) return value->Error("adapters of different sizes cannot be read; expected {}");
  }
  for (const absl::string_view option :
       {"alora_invocation_tokens", "arrow_config", "kasa_config", "layer_replication", "layers_to_transform",
        "modules_to_save", "monteclora_config", "target_parameters", "trainable_token_indices", "use_bdlora"}) {
    const std::optional<JsonValue> value = root.Find(option);
    if (value && !IsOff(*value)) return value->Error("adapters with this option cannot be read; expected null");
  }
  // PiSSA, OLoRA and others change the frozen model when they begin.
  const std::optional<JsonValue> init = root.Find("init_lora_weights");
  if (init && init->is_string()) {
    ASSIGN_OR_RETURN(const absl::string_view how, init->String());
    if (how != "gaussian") {
      return init->Error(absl::StrCat("\"", how,
                                      "\" adapters belong to a changed model; expected true, false or "
                                      "\"gaussian\""));
    }
  }
  const std::optional<JsonValue> bias = root.Find("bias");
  if (!bias) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::string_view which, bias->String());
  return which == "none" ? absl::OkStatus() : bias->Error(absl::StrCat("\"", which, "\"; expected \"none\""));
}

// Sets the modules in the array of names.
absl::Status ReadTargets(const JsonValue& value, LoraConfig* lora) {
  if (value.is_string()) return value.Error("a pattern of modules cannot be read; expected a list of their names");
  ASSIGN_OR_RETURN(const std::vector<JsonValue> elements, value.Elements());
  lora->targets.fill(false);
  for (const JsonValue& element : elements) {
    ASSIGN_OR_RETURN(const absl::string_view name, element.String());
    const auto module = std::find(kLoraModuleNames.begin(), kLoraModuleNames.end(), name);
    if (module == kLoraModuleNames.end()) {
      return element.Error(
          absl::StrCat("adapters of \"", name, "\" cannot be read; expected ", absl::StrJoin(kLoraModuleNames, ", ")));
    }
    lora->targets[static_cast<size_t>(module - kLoraModuleNames.begin())] = true;
  }
  return absl::OkStatus();
}

}  // namespace

std::set<std::string> AdapterTargets(const LoraConfig& lora) {
  std::set<std::string> targets;
  for (size_t module = 0; module < kLoraModuleNames.size(); ++module) {
    if (lora.targets[module]) targets.emplace(kLoraModuleNames[module]);
  }
  return targets;
}

std::string AdapterConfigJson(const LoraConfig& lora, absl::string_view base_model) {
  const bool in_experts =
      lora.Targets(LoraModule::kGate) || lora.Targets(LoraModule::kUp) || lora.Targets(LoraModule::kDown);
  nlohmann::ordered_json json;
  json["base_model_name_or_path"] = std::string(base_model);
  json["bias"] = "none";
  json["fan_in_fan_out"] = false;
  json["inference_mode"] = true;
  json["init_lora_weights"] = true;
  json["lora_alpha"] = Number(lora.alpha);
  json["lora_dropout"] = in_experts ? 0.0 : lora.dropout;  // PEFT loads adapters of experts only without dropout
  json["modules_to_save"] = nullptr;
  json["peft_type"] = "LORA";
  json["r"] = lora.r;
  json["target_modules"] = AdapterTargets(lora);
  json["task_type"] = "CAUSAL_LM";
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";  // any path of a model
}

absl::StatusOr<AdapterDescription> ParseAdapterConfig(absl::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  const JsonValue root = document.root();
  AdapterDescription adapter;
  RETURN_IF_ERROR(RequirePlain(root));
  ASSIGN_OR_RETURN(const JsonValue rank, root.Get("r"));
  ASSIGN_OR_RETURN(adapter.lora.r, rank.Integer(1, kMostRank));
  ASSIGN_OR_RETURN(const JsonValue scale, root.Get("lora_alpha"));
  ASSIGN_OR_RETURN(adapter.lora.alpha, scale.Number());
  ASSIGN_OR_RETURN(const JsonValue targets, root.Get("target_modules"));
  RETURN_IF_ERROR(ReadTargets(targets, &adapter.lora));
  if (const std::optional<JsonValue> dropout = root.Find("lora_dropout")) {
    ASSIGN_OR_RETURN(adapter.lora.dropout, dropout->Number());
  }
  const std::optional<JsonValue> base = root.Find("base_model_name_or_path");
  if (!base || base->is_null()) return adapter;
  ASSIGN_OR_RETURN(const absl::string_view name, base->String());
  adapter.base_model = std::string(name);
  return adapter;
}

}  // namespace reprise::models
