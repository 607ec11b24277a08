#include "rl/workloads/quiet_star/thinker_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "models/decoder/parameters.h"
#include "models/olmoe/peft_directory.h"
#include "models/olmoe/weights.h"
#include "models/quiet_star/thinking_tokens.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/check.h"
#include "rl/workloads/completions/model_files.h"
#include "rl/workloads/quiet_star/section/quiet_star_section.h"

namespace reprise::rl {
namespace {

// Returns what reads the frozen model, of which the thinking tokens' rows are 0.
absl::StatusOr<models::TensorReader> OpenFrozen(const Config& config, const models::DecoderConfig& grown) {
  const models::DecoderLayout base = models::MakeBaseLayout(grown);
  if (config.model.path.empty()) {
    const uint64_t seed = static_cast<uint64_t>(config.run.seed);
    return models::TensorReader([=](int spec, absl::Span<float> values) {
      models::InitializeTensor(grown, base, seed, spec, values);
      return absl::OkStatus();
    });
  }
  ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadDecoderConfig(config.model));
  const models::DecoderLayout stored = models::MakeBaseLayout(decoder);
  ASSIGN_OR_RETURN(models::TensorReader read, models::OpenWeights(config.model.path, stored));
  return models::TensorReader([read, stored](int spec, absl::Span<float> values) {
    const size_t size = static_cast<size_t>(stored.specs[spec].size);
    std::fill(values.begin() + static_cast<int64_t>(size), values.end(), 0.0f);
    return read(spec, values.first(size));
  });
}

// Returns the layout of an exported model: decoder, and heads without a value function.
models::DecoderLayout ExportedLayout(models::DecoderConfig grown, models::ThoughtHeadsShape shape) {
  grown.lora = {};
  grown.new_rows = 0;
  shape.has_values = false;
  models::DecoderLayout layout = models::MakeDecoderLayout(grown);
  const models::ThoughtHeads heads(grown.hidden_size, shape, &layout);
  return layout;
}

void CopyTensor(const ParameterSpec& from, absl::Span<const float> weights, float* to) {
  std::copy_n(weights.begin() + from.offset, from.size, to);
}

// Returns the whole model, in the layout of ExportedLayout.
absl::StatusOr<std::vector<float>> Merge(const Config& config, const Thinker& thinker,
                                         const models::DecoderLayout& exported, absl::Span<const float> weights) {
  const models::DecoderConfig& grown = thinker.grown;
  ASSIGN_OR_RETURN(const models::TensorReader read, OpenFrozen(config, grown));
  const models::DecoderLayout base = models::MakeBaseLayout(grown), own = models::MakeDecoderLayout(grown);
  std::vector<float> merged(static_cast<size_t>(exported.total));
  for (size_t spec = 0; spec < base.specs.size(); ++spec) {
    const ParameterSpec& tensor = base.specs[spec];
    RETURN_IF_ERROR(read(static_cast<int>(spec), absl::MakeSpan(merged).subspan(static_cast<size_t>(tensor.offset),
                                                                                static_cast<size_t>(tensor.size))));
  }
  models::MergeAdapters(grown, weights, absl::MakeSpan(merged).first(static_cast<size_t>(base.total)));
  const auto set_new_rows = [&](int spec, int new_rows) {
    const ParameterSpec &from = own.specs[new_rows], &to = base.specs[spec];
    CopyTensor(from, weights, merged.data() + to.offset + to.size - from.size);
  };
  set_new_rows(base.embedding, own.new_rows.embedding);
  set_new_rows(base.lm_head, own.new_rows.lm_head);
  models::DecoderLayout with_heads = own;
  const models::ThoughtHeads heads(grown.hidden_size, thinker.heads, &with_heads);
  for (size_t head = base.specs.size(); head < exported.specs.size(); ++head) {
    CopyTensor(with_heads.specs[own.specs.size() + head - base.specs.size()], weights,
               merged.data() + exported.specs[head].offset);
  }
  return merged;
}

}  // namespace

absl::StatusOr<Thinker> ReadThinker(const Config& config) {
  const QuietStarConfig& quiet_star = config.quiet_star;
  ASSIGN_OR_RETURN(models::DecoderConfig decoder, ReadDecoderConfig(config.model));
  if (config.lora.r > 0) decoder.lora = AdaptersOf(config.lora);
  const AlgorithmConfig& algorithm = config.algorithm;
  Thinker thinker = {models::WithThinkingTokens(decoder), {}};
  models::ThoughtHeadsShape& heads = thinker.heads;
  heads.mixing =
      quiet_star.mixing == ThoughtMixing::kAttention ? models::Mixing::kAttention : models::Mixing::kScalar;
  heads.bounded = quiet_star.bounded_mixing;
  heads.attention_heads = quiet_star.mixing_heads;
  heads.dropout = quiet_star.mixing_dropout;
  heads.has_values = NeedsValues(algorithm);
  ASSIGN_OR_RETURN(heads.value_hidden, ValueWidths(quiet_star));
  heads.values_train_decoder = quiet_star.values_train_decoder;
  RETURN_IF_ERROR(WithContext(models::ValidateThoughtHeads(heads, thinker.grown.hidden_size), "[quiet_star]"));
  return thinker;
}

absl::Status SetFirstWeights(const Config& config, int32_t like_token, ThreadPool& pool, models::ThoughtModel* model) {
  const uint64_t seed = static_cast<uint64_t>(config.run.seed);
  model->InitializeDecoder(seed);
  model->InitializeHeads(seed);
  if (model->config().lora.is_on()) {
    ASSIGN_OR_RETURN(const models::TensorReader read, OpenFrozen(config, model->config()));
    RETURN_IF_ERROR(model->LoadBase(pool, read));
    return models::InitializeNewRows(model->config(), model->layout(), seed, like_token, read,
                                     model->mutable_parameters());
  }
  if (!config.model.path.empty()) {
    ASSIGN_OR_RETURN(const models::DecoderConfig decoder, ReadDecoderConfig(config.model));
    const models::DecoderLayout base = models::MakeBaseLayout(decoder);
    std::vector<float> weights(static_cast<size_t>(base.total));
    RETURN_IF_ERROR(models::LoadWeights(config.model.path, base, absl::MakeSpan(weights)));
    models::CopyParameters(base, weights, model->layout(), model->mutable_parameters());
  }
  models::InitializeThinkingTokens(model->config(), model->layout(), seed, like_token, model->mutable_parameters());
  return absl::OkStatus();
}

absl::Status ExportThinker(const Config& config, const Thinker& thinker, absl::Span<const float> weights,
                           const models::CopiedFiles& copied, FileSystem& files, const std::string& directory) {
  const models::DecoderLayout exported = ExportedLayout(thinker.grown, thinker.heads);
  if (!thinker.grown.lora.is_on()) {
    return models::ExportEncoder(files, directory, thinker.grown, exported,
                                 weights.first(static_cast<size_t>(exported.total)), copied);
  }
  RETURN_IF_ERROR(models::RequireNoModel(files, directory));
  ASSIGN_OR_RETURN(const std::vector<float> merged, Merge(config, thinker, exported, weights));
  models::DecoderConfig adapted = thinker.grown;
  adapted.new_rows = 0;
  models::DecoderConfig plain = adapted;
  plain.lora = {};
  return models::ExportWithAdapters(files, directory, adapted, config.model.path, weights, [&] {
    return models::ExportEncoder(files, directory, plain, exported, merged, copied);
  });
}

}  // namespace reprise::rl
