#include "models/olmoe/olmoe_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/olmoe/end_tokens.h"
#include "models/olmoe/model_directory.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/weights.h"
#include "models/safetensors/float_conversion.h"

namespace reprise::models {
namespace {

absl::Status CheckLoading(const OlmoeModelOptions& options, Backend backend) {
  for (const auto& [name, is_set] :
       {std::pair("load_in_8bit", options.load_in_8bit), std::pair("load_in_4bit", options.load_in_4bit)}) {
    if (!is_set) continue;
    return absl::UnimplementedError(absl::StrCat(
        name, " is not supported: weights are float32 on the trainable backend and bf16 on the inference-only one"));
  }
  if (backend == Backend::kNone) {
    return absl::InvalidArgumentError("a model is loaded on the trainable or the inference backend, not on none");
  }
  if (options.max_length < 1) {
    return absl::InvalidArgumentError(absl::StrCat("max_length is ", options.max_length, "; it must be at least 1"));
  }
  return absl::OkStatus();
}

int64_t NumParameters(const FlatLayout& layout) {
  int64_t number = 0;
  for (const ParameterSpec& spec : layout.specs) number += spec.size;
  return number;
}

absl::Span<float> ValuesOf(const ParameterSpec& spec, absl::Span<float> flat) {
  return flat.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size));
}

// The tensors of one part of a state dict, checked against this model's.
absl::Status CheckPart(const std::string& part, const std::map<std::string, TensorView>& ours,
                       const std::map<std::string, TensorView>& theirs) {
  const std::string place = absl::StrCat("the state dict's \"", part, "\": ");
  for (const auto& [name, tensor] : theirs) {
    if (!ours.contains(name)) return absl::InvalidArgumentError(absl::StrCat(place, "unexpected ", name));
  }
  for (const auto& [name, tensor] : ours) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) return absl::InvalidArgumentError(absl::StrCat(place, "missing ", name));
    if (found->second.shape == tensor.shape) continue;
    return absl::InvalidArgumentError(absl::StrCat(place, name, " has shape ", ToString(found->second.shape),
                                                   "; this model's has ", ToString(tensor.shape)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view NameOf(Backend backend) {
  switch (backend) {
    case Backend::kTrainable:
      return "trainable";
    case Backend::kInference:
      return "inference";
    case Backend::kNone:
      break;
  }
  return "none";
}

absl::Status OlmoeModel::Load(const std::string& directory, Backend backend, const std::string& lora_directory) {
  RETURN_IF_ERROR(CheckLoading(options_, backend));
  const bool is_trainable = backend == Backend::kTrainable, has_lora = is_trainable && !lora_directory.empty();
  ASSIGN_OR_RETURN(DecoderConfig config, ReadModelConfig(directory));
  config.bf16_weights = !is_trainable;
  ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::FromDirectory(directory));
  if (tokenizer.vocab_size() > config.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat(directory, ": tokenizer.json has ", tokenizer.vocab_size(),
                                                   " tokens, but config.json's vocab_size is ", config.vocab_size));
  }
  ASSIGN_OR_RETURN(std::vector<int32_t> end_tokens, EndTokens(directory, config, tokenizer));
  if (has_lora) {
    ASSIGN_OR_RETURN(const AdapterDescription adapters, ReadAdapterConfig(lora_directory));
    config.lora = adapters.lora;
    RETURN_IF_ERROR(WithContext(ValidateDecoderConfig(config), lora_directory));
  }
  RETURN_IF_ERROR(WithContext(RequireMemory(config, is_trainable, {.limit = options_.memory_bytes}), directory));
  std::unique_ptr<Model> model = Model::Create(config, is_trainable);
  if (has_lora) {
    ASSIGN_OR_RETURN(const TensorReader read, OpenWeights(directory, MakeBaseLayout(config)));
    RETURN_IF_ERROR(model->LoadBase(*pool_, read));
    RETURN_IF_ERROR(LoadAdapters(lora_directory, config, model->mutable_parameters()));
  } else {
    RETURN_IF_ERROR(LoadWeights(directory, model->layout(), model->mutable_parameters()));
  }
  model->Refresh(*pool_);
  model_ = std::move(model);
  tokenizer_ = std::make_shared<const Tokenizer>(std::move(tokenizer));
  end_tokens_ = std::move(end_tokens);
  action_head_ = is_trainable ? std::make_unique<MemoryActionHead>(config.hidden_size) : nullptr;
  if (action_head_ != nullptr) action_head_->Initialize(options_.seed);
  backend_ = backend;
  directory_ = directory;
  warning_ = is_trainable || lora_directory.empty()
                 ? ""
                 : absl::StrCat("the adapters of ", lora_directory, " are ignored: ", kNoAdaptersToInfer);
  return absl::OkStatus();
}

// Returns a model with the same frozen decoder and adapters that are 0.
absl::StatusOr<std::unique_ptr<Model>> OlmoeModel::WithAdapters(const LoraConfig& lora) const {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  if (backend_ != Backend::kTrainable) return absl::FailedPreconditionError(kNoAdaptersToInfer);
  if (!lora.is_on()) return absl::InvalidArgumentError(absl::StrCat("lora.r is ", lora.r, "; it must be at least 1"));
  DecoderConfig config = model_->config();
  config.lora = lora;
  RETURN_IF_ERROR(ValidateDecoderConfig(config));
  // Adapters of a frozen decoder are made for it; the decoder as it was loaded stays until its frozen copy is there.
  const bool is_frozen = model_->config().lora.is_on();
  const int64_t held = is_frozen ? 0 : MemoryOf(model_->config(), /*training=*/true);
  RETURN_IF_ERROR(RequireMemory(config, /*training=*/true, {.held = held, .limit = options_.memory_bytes}));
  std::unique_ptr<Model> model = Model::Create(config, /*training=*/true);
  if (is_frozen) {
    model->ShareBase(*model_);
    return model;
  }
  RETURN_IF_ERROR(model->LoadBase(*pool_, [this](int spec, absl::Span<float> values) {
    const absl::Span<const float> own = model_->parameter(spec).data<float>();
    std::copy(own.begin(), own.end(), values.begin());
    return absl::OkStatus();
  }));
  return model;
}

absl::Status OlmoeModel::AddLoraAdapter(const LoraConfig& lora) {
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, WithAdapters(lora));
  InitializeParameters(model->config(), model->layout(), options_.seed, model->mutable_parameters());
  model->Refresh(*pool_);
  model_ = std::move(model);
  return absl::OkStatus();
}

absl::Status OlmoeModel::LoadLoraAdapter(const std::string& directory) {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  ASSIGN_OR_RETURN(const AdapterDescription adapters, ReadAdapterConfig(directory));
  absl::StatusOr<std::unique_ptr<Model>> model = WithAdapters(adapters.lora);
  RETURN_IF_ERROR(WithContext(model.status(), directory));
  RETURN_IF_ERROR(LoadAdapters(directory, (*model)->config(), (*model)->mutable_parameters()));
  (*model)->Refresh(*pool_);
  model_ = *std::move(model);
  return absl::OkStatus();
}

absl::Status OlmoeModel::SaveLoraAdapter(const std::string& directory) const {
  if (!is_loaded()) return absl::FailedPreconditionError(kModelNotLoaded);
  if (!model_->config().lora.is_on()) return absl::FailedPreconditionError(kNoAdapters);
  return SaveAdapters(PosixFileSystem(), directory, model_->config(), directory_, model_->parameters());
}

OlmoeInfo OlmoeModel::Info() const {
  OlmoeInfo info;
  if (!is_loaded()) return info;
  info.model_name = directory_;
  info.device = "cpu";
  info.is_loaded = true;
  info.backend = backend_;
  info.has_lora = model_->config().lora.is_on();
  info.warning = warning_;
  info.parameters = NumParameters(model_->layout());
  if (action_head_ != nullptr) info.action_head_parameters = action_head_->num_parameters();
  return info;
}

absl::StatusOr<std::vector<float>> OlmoeModel::ActionLogits(absl::Span<const float> embedding) const {
  if (action_head_ == nullptr) return absl::FailedPreconditionError(kNoActionHead);
  return action_head_->Forward(embedding);
}

std::vector<OlmoeModel::Part> OlmoeModel::Parts() const {
  std::vector<Part> parts;
  if (model_ != nullptr) parts.push_back({"model", "", &model_->layout(), model_->mutable_parameters()});
  if (action_head_ != nullptr) {
    parts.push_back({"action_head", "action_head.", &action_head_->layout(), action_head_->mutable_parameters()});
  }
  return parts;
}

std::vector<MutableTensor> OlmoeModel::Parameters() {
  std::vector<MutableTensor> parameters;
  for (const Part& part : Parts()) {
    for (const ParameterSpec& spec : part.layout->specs) {
      parameters.push_back({spec.name, spec.shape, ValuesOf(spec, part.values)});
    }
  }
  return parameters;
}

void OlmoeModel::Refresh() {
  if (model_ != nullptr) model_->Refresh(*pool_);
  if (action_head_ != nullptr) action_head_->Refresh();
}

StateDict OlmoeModel::GetStateDict() const {
  StateDict state;
  for (const Part& part : Parts()) {
    std::map<std::string, TensorView>& tensors = state[part.name];
    for (TensorView& tensor : ViewsOf(*part.layout, part.values)) {
      std::string name(absl::StripPrefix(tensor.name, part.prefix));
      tensors.emplace(std::move(name), std::move(tensor));
    }
  }
  return state;
}

absl::Status OlmoeModel::LoadStateDict(const StateDict& state) {
  const StateDict own = GetStateDict();
  for (const auto& [part, tensors] : own) {
    const auto found = state.find(part);
    if (found == state.end()) continue;
    RETURN_IF_ERROR(CheckPart(part, tensors, found->second));
    std::vector<float> values;
    for (const auto& [name, tensor] : found->second) {
      values.resize(static_cast<size_t>(tensor.size()));
      RETURN_IF_ERROR(WithContext(ConvertToFloat32(tensor, absl::MakeSpan(values)), part));
    }
  }
  for (const Part& part : Parts()) {
    const auto found = state.find(part.name);
    if (found == state.end()) continue;
    for (const ParameterSpec& spec : part.layout->specs) {
      const TensorView& tensor = found->second.at(std::string(absl::StripPrefix(spec.name, part.prefix)));
      const absl::Span<float> values = ValuesOf(spec, part.values);
      if (reinterpret_cast<const float*>(tensor.bytes.data()) == values.data()) continue;  // this model's own
      RETURN_IF_ERROR(ConvertToFloat32(tensor, values));
    }
  }
  Refresh();
  return absl::OkStatus();
}

OlmoeModel OlmoeModel::Copy() const {
  OlmoeModel copy(*pool_, options_);
  if (!is_loaded()) return copy;
  copy.backend_ = backend_;
  copy.directory_ = directory_;
  copy.warning_ = warning_;
  copy.tokenizer_ = tokenizer_;
  copy.end_tokens_ = end_tokens_;
  copy.model_ = Model::Create(model_->config(), backend_ == Backend::kTrainable);
  if (model_->config().lora.is_on()) copy.model_->ShareBase(*model_);  // which never changes
  std::copy(model_->parameters().begin(), model_->parameters().end(), copy.model_->mutable_parameters().begin());
  copy.model_->Refresh(*pool_);
  if (action_head_ != nullptr) copy.action_head_ = action_head_->Copy();
  return copy;
}

}  // namespace reprise::models
