#include "rl/workloads/completions/model_weights.h"

#include <vector>

#include "core/status/status_macros.h"
#include "models/decoder/weights.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/weights.h"

namespace reprise::rl {
namespace {

// Opens the frozen language model of a run with adapters.
absl::StatusOr<models::TensorReader> OpenBase(const Config& config, const models::DecoderConfig& decoder) {
  const models::DecoderLayout layout = models::MakeBaseLayout(decoder);
  if (!config.model.path.empty()) return models::OpenWeights(config.model.path, layout);
  return [decoder, layout, seed = static_cast<uint64_t>(config.run.seed)](int spec, absl::Span<float> values) {
    models::InitializeTensor(decoder, layout, seed, spec, values);
    return absl::OkStatus();
  };
}

}  // namespace

absl::Status SetFirstWeights(const Config& config, ThreadPool& pool, models::Model& model) {
  const uint64_t seed = static_cast<uint64_t>(config.run.seed);
  int first_spec = 0;
  if (model.config().lora.is_on()) {
    ASSIGN_OR_RETURN(const models::TensorReader read, OpenBase(config, model.config()));
    RETURN_IF_ERROR(model.LoadBase(pool, read));
  } else if (!config.model.path.empty()) {
    const models::DecoderLayout policy = models::PolicyPart(model.layout());
    RETURN_IF_ERROR(models::LoadWeights(config.model.path, policy,
                                        model.mutable_parameters().first(static_cast<size_t>(policy.total))));
    first_spec = policy.policy_specs;
  }
  models::InitializeParameters(model.config(), model.layout(), seed, model.mutable_parameters(), first_spec);
  return absl::OkStatus();
}

absl::Status ExportLanguageModel(const Config& config, const models::DecoderConfig& decoder,
                                 absl::Span<const float> weights, const models::CopiedFiles& copied, FileSystem& files,
                                 const std::string& directory) {
  if (!decoder.lora.is_on()) return models::ExportModel(files, directory, decoder, weights, copied);
  RETURN_IF_ERROR(models::RequireNoModel(files, directory));
  ASSIGN_OR_RETURN(const models::TensorReader read, OpenBase(config, decoder));
  const models::DecoderLayout base = models::MakeBaseLayout(decoder);
  std::vector<float> merged(static_cast<size_t>(base.total));
  for (size_t spec = 0; spec < base.specs.size(); ++spec) {
    RETURN_IF_ERROR(
        read(static_cast<int>(spec), absl::MakeSpan(merged).subspan(static_cast<size_t>(base.specs[spec].offset),
                                                                    static_cast<size_t>(base.specs[spec].size))));
  }
  models::MergeAdapters(decoder, weights, absl::MakeSpan(merged));
  models::DecoderConfig plain = decoder;
  plain.lora = {};
  plain.value_model = models::ValueModel::kNone;
  return models::ExportWithAdapters(files, directory, decoder, config.model.path, weights,
                                    [&] { return models::ExportModel(files, directory, plain, merged, copied); });
}

}  // namespace reprise::rl
