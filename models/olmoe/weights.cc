#include "models/olmoe/weights.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/io/optional_file.h"
#include "core/io/read_file.h"
#include "core/json/json.h"
#include "core/machine/memory.h"
#include "core/status/check.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "core/tensor/bounds.h"
#include "models/decoder/weights.h"
#include "models/lora/adapter_weights.h"
#include "models/olmoe/stored_tensors.h"
#include "models/safetensors/float_conversion.h"
#include "models/safetensors/writer.h"

namespace reprise::models {
namespace {

constexpr int64_t kMaxIndexBytes = int64_t{64} << 20;
constexpr char kSingle[] = "model.safetensors", kIndex[] = "model.safetensors.index.json";

absl::Status RequirePlainName(const JsonValue& value, absl::string_view file) {
  if (absl::EndsWith(file, ".safetensors") && !absl::StrContains(file, '/')) return absl::OkStatus();
  return value.Error(absl::StrCat("\"", file, "\" is not the name of a .safetensors file in the model's directory"));
}

absl::StatusOr<std::vector<std::string>> FilesOfIndex(const std::string& directory, const std::string& text) {
  ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  ASSIGN_OR_RETURN(const JsonValue map, document.root().Get("weight_map"));
  ASSIGN_OR_RETURN(const auto members, map.Members());
  std::set<std::string> paths;
  for (const auto& [tensor, value] : members) {
    ASSIGN_OR_RETURN(const absl::string_view file, value.String());
    RETURN_IF_ERROR(RequirePlainName(value, file));
    paths.insert(JoinPath(directory, file));
  }
  if (paths.empty()) return map.Error("no tensor is listed");
  return std::vector<std::string>(paths.begin(), paths.end());
}

// Counts the shards that are not there: an interrupted download leaves some.
absl::Status RequireAll(const std::string& directory, const std::vector<std::string>& paths) {
  std::vector<std::string> missing;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const bool is_present, IsPresent(path));
    if (!is_present) missing.push_back(path);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(JoinPath(directory, kIndex), ": ", missing.size(), " of its ", paths.size(),
                                          missing.size() == 1 ? " files is missing, " : " files are missing, first ",
                                          missing.front(), ": download the model again"));
}

absl::Status LoadTensor(const StoredTensor& stored, const ParameterSpec& spec, absl::Span<float> out) {
  const auto& [tensor, path] = stored;
  if (tensor.shape != spec.shape) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", tensor.name, " has shape ",
                                                   ToString(tensor.shape), "; config.json asks for ",
                                                   ToString(spec.shape)));
  }
  return WithContext(ConvertToFloat32(tensor, out), path);
}

absl::Status RequireHeadIsEmbedding(const StoredTensors& stored, const DecoderLayout& layout,
                                    absl::Span<const float> embedding) {
  const auto head = stored.by_name.find(kLmHeadName);
  if (layout.lm_head != layout.embedding || head == stored.by_name.end()) return absl::OkStatus();
  std::vector<float> values(embedding.size());
  RETURN_IF_ERROR(LoadTensor(head->second, layout.specs[layout.embedding], absl::MakeSpan(values)));
  if (std::equal(values.begin(), values.end(), embedding.begin())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      head->second.path, ": ", kLmHeadName, " differs from the embedding, yet config.json says tie_word_embeddings"));
}

absl::StatusOr<StoredTensors> OpenChecked(const std::string& directory, const DecoderLayout& layout) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, WeightFiles(directory));
  ASSIGN_OR_RETURN(StoredTensors stored, OpenTensors(paths));
  RETURN_IF_ERROR(SplitFusedExperts(layout, &stored));
  NameTiedEmbedding(layout, &stored);
  RETURN_IF_ERROR(RequireTheSameNames(directory, layout, stored));
  return stored;
}

// The bytes of a model: of what is in the flat array, and of the packed copies of `base`, its language model or
// encoder.
int64_t BytesOf(const DecoderConfig& config, const DecoderLayout& layout, const DecoderLayout& base, bool training) {
  const int64_t bytes =
      layout.total * static_cast<int64_t>(sizeof(float)) + PackedWeights::Bytes(config, base, training);
  if (!config.lora.is_on()) return bytes;
  return bytes + PackedWeights::UnpackedBytes(config, base) +
         AdapterWeights::Bytes({config.lora, layout, layout.adapters});
}

absl::Status RequireMemoryOf(const DecoderConfig& config, const DecoderLayout& layout, const DecoderLayout& base,
                             bool training, const MemoryBudget& budget) {
  const auto gib = [](int64_t bytes) { return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (1 << 30)); };
  const int64_t needed = BytesOf(config, layout, base, training);
  const int64_t limit = budget.limit > 0 ? budget.limit : UsableMemoryBytes();
  if (budget.held + needed <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the model's ", layout.total + (config.lora.is_on() ? base.total : 0),
                   " parameters and their packed copies need ", gib(needed), " of memory",
                   budget.held > 0 ? absl::StrCat(" beside ", gib(budget.held), " that are in use") : "", ", and ",
                   budget.limit > 0 ? "the limit is " : "this process may use ", gib(limit),
                   ": use a machine with more memory, or a smaller model"));
}

// Other programs leave pickles that are no weights beside those, such as training_args.bin.
bool IsPickledModel(absl::string_view name) {
  const auto begins = [&](absl::string_view text) { return absl::StartsWith(name, text); };
  const auto ends = [&](absl::string_view text) { return absl::EndsWith(name, text); };
  return (begins("pytorch_model") || begins("model") || begins("consolidated")) &&
         (ends(".bin") || ends(".pt") || ends(".pth") || ends(".ckpt"));
}

// Returns whether the name is one such as model-00001-of-00003.safetensors.
bool IsShard(absl::string_view name) {
  return absl::StartsWith(name, "model-") && absl::StrContains(name, "-of-") && absl::EndsWith(name, ".safetensors");
}

}  // namespace

std::string OtherWeights(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = PosixFileSystem().List(directory);
  if (!names.ok()) return "";
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, ".gguf")) {
      return absl::StrCat("; ", name, " is a GGUF file, which is not read: fetch the model's safetensors");
    }
    if (IsShard(name)) {
      return absl::StrCat("; ", name, " is one of several files, and ", kIndex,
                          ", which lists them, is missing: ", "download the model again");
    }
    if (name == "adapter_config.json") {
      return absl::StrCat("; it has ", name,
                          ", so it is a directory of adapters: the model's path is that of their base model");
    }
    if (IsPickledModel(name)) {
      return absl::StrCat("; pickled weights, such as ", name,
                          ", are not read: save the model as safetensors, in Python "
                          "with AutoModelForCausalLM.from_pretrained(DIR).save_pretrained(OTHER_DIR)");
    }
  }
  return "";
}

absl::StatusOr<std::vector<std::string>> WeightFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(const bool is_single, IsPresent(JoinPath(directory, kSingle)));
  if (is_single) return std::vector{JoinPath(directory, kSingle)};
  RETURN_IF_ERROR(IsPresent(JoinPath(directory, kIndex)).status());
  const absl::StatusOr<std::string> text = ReadFile(PosixFileSystem(), JoinPath(directory, kIndex), kMaxIndexBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": neither ", kSingle, " nor ", kIndex, " exists", OtherWeights(directory)));
  }
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<std::vector<std::string>> files = FilesOfIndex(directory, *text);
  if (!files.ok()) return WithContext(files.status(), JoinPath(directory, kIndex));
  RETURN_IF_ERROR(RequireAll(directory, *files));
  return files;
}

absl::StatusOr<bool> HasTensor(const std::string& directory, absl::string_view name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, WeightFiles(directory));
  ASSIGN_OR_RETURN(const StoredTensors stored, OpenTensors(paths));
  return stored.by_name.contains(name);
}

absl::StatusOr<TensorReader> OpenWeights(const std::string& directory, const DecoderLayout& layout) {
  ASSIGN_OR_RETURN(StoredTensors all, OpenChecked(directory, layout));
  if (layout.lm_head == layout.embedding && all.by_name.contains(kLmHeadName)) {
    const ParameterSpec& embedding = layout.specs[layout.embedding];
    std::vector<float> values(static_cast<size_t>(embedding.size));
    RETURN_IF_ERROR(LoadTensor(all.by_name.at(embedding.name), embedding, absl::MakeSpan(values)));
    RETURN_IF_ERROR(RequireHeadIsEmbedding(all, layout, values));
  }
  return [stored = std::make_shared<const StoredTensors>(std::move(all)), specs = layout.specs](
             int index, absl::Span<float> values) {
    const ParameterSpec& spec = specs[index];
    return LoadTensor(stored->by_name.at(spec.name), spec, values);
  };
}

absl::Status LoadWeights(const std::string& directory, const DecoderLayout& layout, absl::Span<float> flat) {
  CHECK_EQ(static_cast<int64_t>(flat.size()), layout.total);
  ASSIGN_OR_RETURN(const StoredTensors stored, OpenChecked(directory, layout));
  std::fill(flat.begin(), flat.end(), 0.0f);
  for (const ParameterSpec& spec : layout.specs) {
    RETURN_IF_ERROR(LoadTensor(stored.by_name.at(spec.name), spec, flat.subspan(spec.offset, spec.size)));
  }
  const ParameterSpec& embedding = layout.specs[layout.embedding];
  return RequireHeadIsEmbedding(stored, layout, flat.subspan(embedding.offset, embedding.size));
}

absl::Status RequireMemory(const DecoderConfig& config, bool training, const MemoryBudget& budget) {
  return RequireMemoryOf(config, MakeDecoderLayout(config), MakeBaseLayout(config), training, budget);
}

absl::Status RequireEncoderMemory(const DecoderConfig& config, bool training) {
  return RequireMemoryOf(config, EncoderLayout(config), TrunkLayout(config), training, {});
}

int64_t MemoryOf(const DecoderConfig& config, bool training) {
  return BytesOf(config, MakeDecoderLayout(config), MakeBaseLayout(config), training);
}

absl::Status SaveWeights(FileSystem& files, const std::string& directory, const FlatLayout& layout,
                         absl::Span<const float> flat) {
  std::vector<TensorView> tensors = ViewsOf(layout, flat);
  for (const TensorView& tensor : tensors) {
    const absl::Span<const float> values = tensor.data<float>();
    if (const std::optional<size_t> at = FirstThatIsNoWeight(values)) {
      return absl::InternalError(absl::StrCat("element ", *at, " of ", tensor.name, " is ", values[*at],
                                              "; weights must be finite, so ", JoinPath(directory, kSingle),
                                              " is not written"));
    }
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return WriteSafetensors(files, JoinPath(directory, kSingle), tensors);
}

}  // namespace reprise::models
