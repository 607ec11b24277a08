#include "models/olmoe/peft_directory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/io/atomic_file.h"
#include "core/io/file_group.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "models/lora/adapter.h"
#include "models/safetensors/float_conversion.h"
#include "models/safetensors/reader.h"
#include "models/safetensors/writer.h"

namespace reprise::models {
namespace {

constexpr int64_t kMostConfigBytes = int64_t{1} << 20;
// Of adapters. Two of them, and two projections of activations, are multiplied with each other in a layer.
constexpr float kGreatestElement = 1e4f;
constexpr absl::string_view kConfigFile = kAdapterFiles[0], kWeightsFile = kAdapterFiles[1];

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
  return absl::InvalidArgumentError(absl::StrCat(
      "/target_modules: \"", absl::StrJoin(AdapterTargets(stored), " "), "\", but lora.target_modules is \"",
      absl::StrJoin(AdapterTargets(lora), " "), "\": set lora.target_modules to the former"));
}

// Returns a tensor's name as PEFT saves it, from one that also has the name of the adapter
// ("...lora_A.default.weight"), as in the state of a model in training, or lacks the prefix of PEFT's wrapper.
std::string NormalName(absl::string_view stored) {
  constexpr absl::string_view kPrefix = "base_model.model.", kEnd = ".weight";
  for (const absl::string_view side : {".lora_A", ".lora_B"}) {
    const size_t at = stored.rfind(absl::StrCat(side, "."));
    if (at == absl::string_view::npos || !absl::EndsWith(stored, kEnd)) continue;
    return absl::StrCat(absl::StartsWith(stored, kPrefix) ? "" : kPrefix, stored.substr(0, at + side.size()), kEnd);
  }
  return std::string(stored);
}

// Returns the file's tensors under their normal names. InvalidArgument if two have the same one, as those of two
// adapters have.
absl::StatusOr<std::map<std::string, TensorView>> TensorsByName(const SafetensorsFile& file) {
  std::map<std::string, TensorView> tensors;
  if (!file.unreadable().empty()) {
    const auto& [name, type] = *file.unreadable().begin();
    return UnreadableTensor(file.path(), name, type);
  }
  for (const TensorView& tensor : file.tensors()) {
    const auto [at, is_new] = tensors.try_emplace(NormalName(tensor.name), tensor);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat("it has tensors of several adapters, ", at->second.name, " and ",
                                                   tensor.name, ": save one adapter per file"));
  }
  return tensors;
}

// Checks that these are the layout's tensors and no others.
absl::Status RequireTheTensors(const std::map<std::string, TensorView>& tensors, const DecoderLayout& layout) {
  std::set<std::string> missing, unexpected;
  for (const ParameterSpec& spec : layout.specs) missing.insert(spec.name);
  for (const auto& [name, tensor] : tensors) {
    if (missing.erase(name) == 0) unexpected.insert(tensor.name);
  }
  std::string differences;
  for (const auto& [what, names] : {std::pair("missing ", &missing), std::pair("unexpected ", &unexpected)}) {
    if (names->empty()) continue;
    const std::string more = names->size() == 1 ? "" : absl::StrCat(" and ", names->size() - 1, " more");
    absl::StrAppend(&differences, differences.empty() ? "" : "; ", what, *names->begin(), more);
  }
  if (differences.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the adapters do not fit the model: ", differences));
}

absl::Status RequireNone(FileSystem& files, const std::string& directory) {
  for (const absl::string_view name : kAdapterFiles) {
    const std::string path = JoinPath(directory, name);
    ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
    if (exists) return absl::AlreadyExistsError(absl::StrCat(path, " exists; export to an empty directory"));
  }
  return absl::OkStatus();
}

absl::Status WriteAdapters(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                           absl::string_view base_model, absl::Span<const float> weights, FileGroup* group) {
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
  const std::string weights_path = JoinPath(directory, kWeightsFile), config_path = JoinPath(directory, kConfigFile);
  RETURN_IF_ERROR(group->Add(weights_path, WriteSafetensors(files, weights_path, tensors)));
  return group->Add(config_path, WriteFileAtomically(files, config_path, AdapterConfigJson(config.lora, base_model)));
}

}  // namespace

absl::Status SaveAdapters(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                          absl::string_view base_model, absl::Span<const float> weights) {
  FileGroup group(files);
  RETURN_IF_ERROR(WriteAdapters(files, directory, config, base_model, weights, &group));
  group.Keep();
  return absl::OkStatus();
}

absl::Status ExportWithAdapters(FileSystem& files, const std::string& directory, const DecoderConfig& config,
                                absl::string_view base_model, absl::Span<const float> weights,
                                const std::function<absl::Status()>& export_merged) {
  FileGroup group(files);
  RETURN_IF_ERROR(WriteAdapters(files, JoinPath(directory, kAdapterDirectory), config, base_model, weights, &group));
  absl::Status merged = export_merged();
  // With these two, another process exports to the same directory, and the adapters may be those of its model.
  if (merged.ok() || absl::IsAlreadyExists(merged) || absl::IsNotFound(merged)) group.Keep();
  return merged;
}

absl::StatusOr<AdapterDescription> ReadAdapterConfig(const std::string& directory) {
  const std::string path = JoinPath(directory, kConfigFile);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(PosixFileSystem(), path, kMostConfigBytes));
  absl::StatusOr<AdapterDescription> adapter = ParseAdapterConfig(text);
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
  const absl::StatusOr<std::map<std::string, TensorView>> tensors = TensorsByName(file);
  RETURN_IF_ERROR(WithContext(tensors.status(), path));
  RETURN_IF_ERROR(WithContext(RequireTheTensors(*tensors, layout), path));
  for (const ParameterSpec& spec : layout.specs) {
    const TensorView& tensor = tensors->at(spec.name);
    if (tensor.shape != spec.shape) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", tensor.name, " has shape ",
                                                     ToString(tensor.shape), "; the model asks for ",
                                                     ToString(spec.shape)));
    }
    const absl::Span<float> values = weights.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size));
    RETURN_IF_ERROR(WithContext(ConvertToFloat32(tensor, values), path));
    if (const std::optional<size_t> at = FirstBeyond(kGreatestElement, values)) {
      return absl::DataLossError(absl::StrCat(path, ": tensor ", spec.name, ", element ", *at, ": ", values[*at],
                                              "; no training makes an element beyond ", kGreatestElement,
                                              ", and a model with such an adapter computes nothing that is finite"));
    }
  }
  return absl::OkStatus();
}

void MergeAdapters(const DecoderConfig& config, absl::Span<const float> adapters, absl::Span<float> base) {
  const DecoderLayout layout = MakeDecoderLayout(config), frozen = MakeBaseLayout(config);
  const auto merge = [&](const AdapterParameters& adapter, int spec) {
    if (adapter.a < 0) return;
    const ParameterSpec& w = frozen.specs[spec];
    const auto at = [&](int index) { return adapters.data() + layout.specs[index].offset; };
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
