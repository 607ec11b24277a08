#include "rl/gradient/shard_pass.h"

#include <algorithm>
#include <optional>

#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// Reports a value network's tensors by their indices in the model's layout.
class ValueNetworkSink : public models::GradientSink {
 public:
  ValueNetworkSink(models::GradientSink* sink, int first_spec) : sink_(sink), first_spec_(first_spec) {}
  void Finished(int spec, const models::ShardGradient& gradient) override {
    if (sink_ != nullptr) sink_->Finished(first_spec_ + spec, gradient);
  }

 private:
  models::GradientSink* const sink_;
  const int first_spec_;
};

models::ValueHeadGradient HeadGradient(const models::DecoderLayout& layout, const PassTarget& target) {
  const int64_t weight = layout.specs[static_cast<size_t>(layout.value.weight)].offset;
  const int64_t bias = layout.specs[static_cast<size_t>(layout.value.bias)].offset;
  const bool is_cut = target.open != nullptr;
  return {target.total + weight, is_cut ? target.open + weight : nullptr, target.total + bias,
          is_cut ? target.open + bias : nullptr, 0};
}

// Sets to 0 the value function's gradient, which no pass assigns, and reports it to the sink; the caller reports a
// shard without groups at its end.
void AssignNoValues(const models::DecoderLayout& layout, bool has_groups, const PassTarget& target,
                    const models::ShardGradient& gradient) {
  std::fill(target.total + layout.policy_total, target.total + layout.total, 0.0f);
  if (!has_groups || target.sink == nullptr) return;
  for (int spec = static_cast<int>(layout.specs.size()) - 1; spec >= layout.policy_specs; --spec) {
    target.sink->Finished(spec, gradient);
  }
}

absl::Status RunValueNetwork(const models::Model& model, const ShardInput& input, int64_t max_rows,
                             const PassTarget& target, ShardValues* values, ShardWorkspace* workspace) {
  const models::Decoder& network = model.value_decoder();
  const models::ValueParameters& value = model.layout().value;
  models::ShardGradient gradient;
  models::StartShard(network.config, network.layout, target.total + value.trunk_offset,
                     target.open == nullptr ? nullptr : target.open + value.trunk_offset, &gradient);
  ValueNetworkSink sink(target.sink, value.embedding);
  return AccumulateShardValues(network, input.groups, max_rows, workspace, &gradient, values, &sink);
}

}  // namespace

absl::StatusOr<ShardCounts> RunShardPass(const models::Model& model, const ShardPass& pass, const ShardInput& input,
                                         int64_t max_rows, const PassTarget& target, ShardWorkspace* workspace) {
  const models::DecoderLayout& layout = model.layout();
  const CompletionLoss loss = [&](int64_t group, int64_t completion, const TokenScores& scores,
                                  const TokenGradients& gradients) {
    return pass.loss(input.GroupOf(group), input.SampleOf(group, completion), scores, gradients);
  };
  const CompletionValueLoss value_loss = [&](int64_t group, int64_t completion, absl::Span<const float> value_T,
                                             absl::Span<float> dvalue_T) {
    return pass.value_loss(input.GroupOf(group), input.SampleOf(group, completion), value_T, dvalue_T);
  };
  models::ShardGradient& gradient = workspace->gradient;
  models::StartShard(model.config(), layout, target.total, target.open, &gradient);
  std::optional<ShardValues> values;
  if (pass.value_loss) {
    values.emplace(model.value_head(), HeadGradient(layout, target), value_loss);
    values->head_is_final = [&] {
      if (target.sink == nullptr) return;
      target.sink->Finished(layout.value.bias, gradient);
      target.sink->Finished(layout.value.weight, gradient);
    };
  } else {
    AssignNoValues(layout, !input.groups.empty(), target, gradient);
  }
  const bool has_network = model.config().value_model == models::ValueModel::kNetwork;
  ASSIGN_OR_RETURN(ShardCounts counts, AccumulateShard(model.decoder(), input.groups,
                                                       {.max_rows = max_rows,
                                                        .temperature = pass.temperature,
                                                        .auxiliary_E = pass.auxiliary_E,
                                                        .values = values && !has_network ? &*values : nullptr,
                                                        .reference = pass.reference},
                                                       loss, workspace, &gradient, target.sink));
  if (values && has_network) {
    RETURN_IF_ERROR(RunValueNetwork(model, input, max_rows, target, &*values, workspace));
  }
  return counts;
}

}  // namespace reprise::rl
