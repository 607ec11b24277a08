#include "rl/workloads/memory_agent/policy_weights.h"

#include <algorithm>
#include <vector>

#include "core/status/status_macros.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"
#include "models/olmoe/memory_action_head.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/weights.h"
#include "rl/config/check.h"
#include "rl/workloads/completions/model_files.h"

namespace reprise::rl {
namespace {

static_assert(models::MemoryActionHead::kActions == kMemoryShape.actions);

// Returns the layout of an exported policy: the whole encoder and its action head.
models::DecoderLayout ExportedLayout(const models::DecoderConfig& encoder) {
  models::DecoderLayout layout = models::TrunkLayout(encoder);
  const EncoderHeads heads(encoder.hidden_size, kMemoryShape, &layout);
  return layout;
}

absl::Span<float> ValuesOf(const ParameterSpec& spec, absl::Span<float> flat) {
  return flat.subspan(static_cast<size_t>(spec.offset), static_cast<size_t>(spec.size));
}

// The encoder of model.path, and perhaps an action head, to be read by tensors of ExportedLayout.
struct StoredPolicy {
  models::TensorReader read;
  bool has_head = false;
};

absl::StatusOr<StoredPolicy> OpenPolicy(const Config& config, const models::DecoderConfig& encoder) {
  const models::DecoderLayout exported = ExportedLayout(encoder);
  const std::string& path = config.model.path;
  if (path.empty()) {
    const models::DecoderLayout trunk = models::TrunkLayout(encoder);
    return StoredPolicy{[encoder, trunk, seed = static_cast<uint64_t>(config.run.seed)](int spec, auto values) {
      models::InitializeTensor(encoder, trunk, seed, spec, values);
      return absl::OkStatus();
    }};
  }
  bool has_head = false;  // any tensor of one
  for (size_t spec = models::TrunkLayout(encoder).specs.size(); spec < exported.specs.size(); ++spec) {
    ASSIGN_OR_RETURN(const bool has, models::HasTensor(path, exported.specs[spec].name));
    has_head |= has;
  }
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadDecoderConfig(config.model));
  // A language model begins with the encoder's tensors.
  ASSIGN_OR_RETURN(models::TensorReader read,
                   models::OpenWeights(path, has_head ? exported : models::MakeBaseLayout(decoder)));
  return StoredPolicy{std::move(read), has_head};
}

}  // namespace

absl::StatusOr<models::DecoderConfig> ReadTrainedEncoderConfig(const Config& config) {
  ASSIGN_OR_RETURN(models::DecoderConfig encoder, ReadDecoderConfig(config.model));
  if (config.lora.r == 0) return encoder;
  encoder.lora = AdaptersOf(config.lora);
  RETURN_IF_ERROR(models::ValidateDecoderConfig(encoder));
  return encoder;
}

models::DecoderLayout MakePolicyLayout(const models::DecoderConfig& encoder, bool has_values) {
  models::DecoderLayout layout = models::EncoderLayout(encoder);
  EncoderShape shape = kMemoryShape;
  shape.has_values = has_values;
  const EncoderHeads heads(encoder.hidden_size, shape, &layout);
  return layout;
}

absl::Status SetFirstPolicyWeights(const Config& config, ThreadPool& pool, EncoderPolicy* policy) {
  const uint64_t seed = static_cast<uint64_t>(config.run.seed);
  const models::DecoderConfig& encoder = policy->encoder();
  const bool has_adapters = encoder.lora.is_on();
  policy->InitializeHeads(seed);
  if (has_adapters || config.model.path.empty()) policy->InitializeEncoder(seed);
  if (!has_adapters && config.model.path.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StoredPolicy stored, OpenPolicy(config, encoder));
  const models::DecoderLayout trunk = models::TrunkLayout(encoder), exported = ExportedLayout(encoder);
  const size_t own_specs = models::EncoderLayout(encoder).specs.size();
  if (has_adapters) {
    RETURN_IF_ERROR(policy->LoadBase(pool, stored.read));
  } else {
    for (size_t spec = 0; spec < trunk.specs.size(); ++spec) {
      RETURN_IF_ERROR(stored.read(static_cast<int>(spec), ValuesOf(trunk.specs[spec], policy->mutable_parameters())));
    }
  }
  if (!stored.has_head) return absl::OkStatus();
  for (size_t spec = trunk.specs.size(); spec < exported.specs.size(); ++spec) {
    const ParameterSpec& own = policy->layout().specs[own_specs + spec - trunk.specs.size()];
    RETURN_IF_ERROR(stored.read(static_cast<int>(spec), ValuesOf(own, policy->mutable_parameters())));
  }
  return absl::OkStatus();
}

absl::Status ExportPolicy(const Config& config, const models::DecoderConfig& encoder, absl::Span<const float> weights,
                          const models::CopiedFiles& copied, FileSystem& files, const std::string& directory) {
  const models::DecoderLayout exported = ExportedLayout(encoder);
  if (!encoder.lora.is_on()) return models::ExportEncoder(files, directory, encoder, exported, weights, copied);
  RETURN_IF_ERROR(models::RequireNoModel(files, directory));
  ASSIGN_OR_RETURN(const StoredPolicy stored, OpenPolicy(config, encoder));
  const models::DecoderLayout trunk = models::TrunkLayout(encoder);
  const models::DecoderLayout own = MakePolicyLayout(encoder, /*has_values=*/false);
  std::vector<float> merged(static_cast<size_t>(exported.total));
  for (size_t spec = 0; spec < trunk.specs.size(); ++spec) {
    RETURN_IF_ERROR(stored.read(static_cast<int>(spec), ValuesOf(trunk.specs[spec], absl::MakeSpan(merged))));
  }
  models::MergeAdapters(encoder, weights, absl::MakeSpan(merged));
  const size_t heads = exported.specs.size() - trunk.specs.size(), first = own.specs.size() - heads;
  for (size_t head = 0; head < heads; ++head) {
    const ParameterSpec& from = own.specs[first + head];
    const ParameterSpec& to = exported.specs[trunk.specs.size() + head];
    std::copy_n(weights.begin() + from.offset, from.size, merged.begin() + to.offset);
  }
  models::DecoderConfig plain = encoder;
  plain.lora = {};
  return models::ExportWithAdapters(files, directory, encoder, config.model.path, weights, [&] {
    return models::ExportEncoder(files, directory, plain, exported, merged, copied);
  });
}

}  // namespace reprise::rl
