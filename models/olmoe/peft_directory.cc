#include "models/olmoe/peft_directory.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "core/json/json.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "models/lora/adapter.h"
#include "models/safetensors/float_conversion.h"
#include "models/safetensors/reader.h"
#include "models/safetensors/writer.h"
#include "nlohmann/json.hpp"

namespace reprise::models {
namespace {

constexpr int64_t kMostConfigBytes = int64_t{1} << 20, kMostRank = int64_t{1} << 24;
constexpr absl::string_view kConfigFile = kAdapterFiles[0], kWeightsFile = kAdapterFiles[1];

std::set<std::string> TargetsOf(const LoraConfig& lora) {
  std::set<std::string> targets;
  for (size_t module = 0; module < kLoraModuleNames.size(); ++module) {
    if (lora.targets[module]) targets.emplace(kLoraModuleNames[module]);
  }
  return targets;
}

// A whole number is written without a fraction, as PEFT does.
nlohmann::ordered_json Number(double value) {
  const int64_t whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? nlohmann::ordered_json(whole) : nlohmann::ordered_json(value);
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
  json["target_modules"] = TargetsOf(lora);
  json["task_type"] = "CAUSAL_LM";
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";  // any path of a model
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
  for (const absl::string_view option : {"alora_invocation_tokens", "layer_replication"}) {
    const std::optional<JsonValue> value = root.Find(option);
    if (value && !value->is_null()) return value->Error("adapters with this option cannot be read; expected null");
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

absl::StatusOr<AdapterDescription> DescriptionIn(const std::string& text) {
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

absl::Status RequireTheSame(const LoraConfig& stored, const LoraConfig& lora) {
  if (stored.r != lora.r) {
    return absl::InvalidArgumentError(
        absl::StrCat("/r: ", stored.r, ", but lora.r is ", lora.r, ": set lora.r to ", stored.r));
  }
  if (stored.alpha != lora.alpha) {
    return absl::InvalidArgumentError(absl::StrCat("/lora_alpha: ", stored.alpha, ", but lora.alpha is ", lora.alpha,
                                                   ": set lora.alpha to ", stored.alpha));
  }
  if (stored.targets == lora.targets) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("/target_modules: \"", absl::StrJoin(TargetsOf(stored), " "), "\", but lora.target_modules is \"",
                   absl::StrJoin(TargetsOf(lora), " "), "\": set lora.target_modules to the former"));
}

// Checks that the file has the layout's tensors and no others.
absl::Status RequireTheTensors(const SafetensorsFile& file, const DecoderLayout& layout) {
  std::set<std::string> missing, unexpected;
  for (const ParameterSpec& spec : layout.specs) missing.insert(spec.name);
  for (const TensorView& tensor : file.tensors()) {
    if (missing.erase(tensor.name) == 0) unexpected.insert(tensor.name);
  }
  for (const auto& [what, names] : {std::pair("missing ", &missing), std::pair("unexpected ", &unexpected)}) {
    if (names->empty()) continue;
    const std::string more = names->size() == 1 ? "" : absl::StrCat(" and ", names->size() - 1, " more");
    return absl::InvalidArgumentError(absl::StrCat("the adapters do not fit the model: ", what, *names->begin(), more));
  }
  return absl::OkStatus();
}

absl::Status RequireNone(FileSystem& files, const std::string& directory) {
  for (const absl::string_view name : kAdapterFiles) {
    const std::string path = JoinPath(directory, name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    if (exists) return absl::AlreadyExistsError(absl::StrCat(path, " exists; export to an empty directory"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveAdapters(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                          absl::string_view base_model, absl::Span<const float> weights) {
  const DecoderLayout layout = PolicyPart(MakeDecoderLayout(config));
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  RETURN_IF_ERROR(RequireNone(files, directory));
  std::vector<TensorView> tensors = ViewsOf(layout, weights.first(static_cast<size_t>(layout.total)));
  for (const TensorView& tensor : tensors) {
    const absl::Span<const float> values = tensor.data<float>();
    if (const std::optional<size_t> at = FirstThatIsNoWeight(values)) {
      return absl::InternalError(absl::StrCat("element ", *at, " of ", tensor.name, " is ", values[*at],
                                              "; weights must be finite, so ", JoinPath(directory, kWeightsFile),
                                              " is not written"));
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  RETURN_IF_ERROR(WriteSafetensors(files, JoinPath(directory, kWeightsFile), tensors));
  return WriteFileAtomically(files, JoinPath(directory, kConfigFile), AdapterConfigJson(config.lora, base_model));
}

absl::StatusOr<AdapterDescription> ReadAdapterConfig(const std::string& directory) {
  const std::string path = JoinPath(directory, kConfigFile);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMostConfigBytes));
  absl::StatusOr<AdapterDescription> adapter = DescriptionIn(text);
  if (!adapter.ok()) return WithContext(adapter.status(), path);
  return adapter;
}

absl::Status LoadAdapters(const std::string& directory, const DecoderConfig& config, absl::Span<float> weights) {
  const DecoderLayout layout = PolicyPart(MakeDecoderLayout(config));
  ASSIGN_OR_RETURN(const AdapterDescription stored, ReadAdapterConfig(directory));
  // Adapters that no configuration can have come first: a configuration cannot be made to agree with them.
  DecoderConfig of_stored = config;
  of_stored.lora = stored.lora;
  RETURN_IF_ERROR(WithContext(ValidateDecoderConfig(of_stored), JoinPath(directory, kConfigFile)));
  RETURN_IF_ERROR(WithContext(RequireTheSame(stored.lora, config.lora), JoinPath(directory, kConfigFile)));
  const std::string path = JoinPath(directory, kWeightsFile);
  ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  RETURN_IF_ERROR(WithContext(RequireTheTensors(file, layout), path));
  for (const ParameterSpec& spec : layout.specs) {
    ASSIGN_OR_RETURN(const TensorView tensor, file.Get(spec.name));
    if (tensor.shape != spec.shape) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", spec.name, " has shape ",
                                                     ToString(tensor.shape), "; the model asks for ",
                                                     ToString(spec.shape)));
    }
    RETURN_IF_ERROR(WithContext(
        ConvertToFloat32(tensor, weights.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size))),
        path));
  }
  return absl::OkStatus();
}

void MergeAdapters(const DecoderConfig& config, absl::Span<const float> adapters, absl::Span<float> base) {
  const DecoderLayout layout = MakeDecoderLayout(config), frozen = MakeBaseLayout(config);
  const auto merge = [&](const AdapterParameters& adapter, int spec) {
    if (adapter.a < 0) return;
    const ParameterSpec& w = frozen.specs[static_cast<size_t>(spec)];
    const auto at = [&](int index) { return adapters.data() + layout.specs[static_cast<size_t>(index)].offset; };
    MergeAdapter(at(adapter.a), at(adapter.b), config.lora.r, config.lora.scale(),
                 {base.data() + w.offset, w.shape[0], w.shape[1]});
  };
  for (size_t i = 0; i < layout.adapters.size(); ++i) {
    const LayerAdapterParameters& of = layout.adapters[i];
    const LayerParameters& layer = frozen.layers[i];
    merge(of.q, layer.q);
    merge(of.k, layer.k);
    merge(of.v, layer.v);
    merge(of.o, layer.o);
    for (size_t e = 0; e < layer.gate_E.size(); ++e) {
      merge(of.gate_E[e], layer.gate_E[e]);
      merge(of.up_E[e], layer.up_E[e]);
      merge(of.down_E[e], layer.down_E[e]);
    }
  }
}

}  // namespace reprise::models
