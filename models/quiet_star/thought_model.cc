#include "models/quiet_star/thought_model.h"

#include <algorithm>
#include <utility>

#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise::models {

ThoughtModel::ThoughtModel(const DecoderConfig& config, const ThoughtHeadsShape& shape, DecoderLayout layout,
                           bool training)
    : heads_(config.hidden_size, shape, &layout), model_(Model::CreateWithHeads(config, std::move(layout), training)) {}

absl::StatusOr<std::unique_ptr<ThoughtModel>> ThoughtModel::Create(const DecoderConfig& config,
                                                                   const ThoughtHeadsShape& shape, bool training) {
  RETURN_IF_ERROR(ValidateDecoderConfig(config));
  RETURN_IF_ERROR(ValidateThoughtHeads(shape, config.hidden_size));
  if (config.value_model != ValueModel::kNone) {
    return absl::InvalidArgumentError(
        "a model that thinks has a value function of its own: the decoder's value model must be none");
  }
  if (config.lora.dropout != 0) {
    return absl::InvalidArgumentError(
        "lora.dropout must be 0 for a model that thinks: its passes drop no inputs of adapters");
  }
  return std::unique_ptr<ThoughtModel>(new ThoughtModel(config, shape, MakeDecoderLayout(config), training));
}

void ThoughtModel::InitializeDecoder(uint64_t seed) {
  const DecoderLayout own = MakeDecoderLayout(config());
  InitializeParameters(config(), own, seed, mutable_parameters().first(static_cast<size_t>(own.total)));
}

void ThoughtModel::Refresh(ThreadPool& pool, const RangeFunction& change) {
  model_->Refresh(pool, change);
  heads_.Refresh(parameters());
}

std::unique_ptr<ThoughtModel> ThoughtModel::FrozenCopy() const {
  ThoughtHeadsShape shape = heads_.shape();
  shape.has_values = false;
  std::unique_ptr<ThoughtModel> copy(new ThoughtModel(config(), shape, MakeDecoderLayout(config()), false));
  std::copy_n(parameters().begin(), copy->layout().total, copy->mutable_parameters().begin());
  CHECK(copy->model_->ShareIfEqual(*model_));
  copy->heads_.Refresh(copy->parameters());
  return copy;
}

void ThoughtModel::MoveTowards(const ThoughtModel& other, double alpha, ThreadPool& pool) {
  const float share = static_cast<float>(alpha), rest = static_cast<float>(1.0 - alpha);
  const absl::Span<const float> from = other.parameters();
  const absl::Span<float> to = mutable_parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i] = alpha == 1.0 ? from[i] : share * from[i] + rest * to[i];
  if (!model_->ShareIfEqual(*other.model_)) model_->Refresh(pool);
  heads_.Refresh(parameters());
}

}  // namespace reprise::models
