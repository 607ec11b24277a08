#include "rl/policy/decoder/shard_pass.h"

#include <algorithm>
#include <optional>

#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// Reports a decoder's tensors by their indices in the model's layout.
class TargetSink : public models::GradientSink {
 public:
  explicit TargetSink(const PassTarget& target, int first_spec = 0) : target_(target), first_spec_(first_spec) {}
  void Finished(int spec, const models::ShardGradient&) override {
    if (target_.finished) target_.finished(first_spec_ + spec);
  }

 private:
  const PassTarget& target_;
  const int first_spec_;
};

models::ValueHeadGradient HeadGradient(const models::DecoderLayout& layout, const PassTarget& target) {
  const int64_t weight = layout.specs[layout.value.weight].offset;
  const int64_t bias = layout.specs[layout.value.bias].offset;
  const bool is_cut = target.open != nullptr;
  return {target.total + weight, is_cut ? target.open + weight : nullptr, target.total + bias,
          is_cut ? target.open + bias : nullptr, 0};
}

// Sets to 0 the value function's gradient, which no pass assigns, and reports it; the caller reports a shard without
// groups at its end.
void AssignNoValues(const models::DecoderLayout& layout, bool has_groups, const PassTarget& target) {
  std::fill(target.total + layout.policy_total, target.total + layout.total, 0.0f);
  if (!has_groups || !target.finished) return;
  for (int spec = static_cast<int>(layout.specs.size()) - 1; spec >= layout.policy_specs; --spec) {
    target.finished(spec);
  }
}

absl::Status RunValueNetwork(const models::Model& model, const std::vector<TrainingGroup>& groups, int64_t max_rows,
                             const PassTarget& target, ShardValues* values, ShardWorkspace* workspace) {
  const models::Decoder& network = model.value_decoder();
  const models::ValueParameters& value = model.layout().value;
  models::ShardGradient gradient;
  models::StartShard(network.config, network.layout, target.total + value.trunk_offset,
                     target.open == nullptr ? nullptr : target.open + value.trunk_offset, &gradient);
  TargetSink sink(target, value.embedding);
  return AccumulateShardValues(network, groups, max_rows, workspace, &gradient, values, &sink);
}

}  // namespace

absl::StatusOr<ShardCounts> RunShardPass(const models::Model& model, const DecoderPass& pass,
                                         const std::vector<TrainingGroup>& groups, int64_t max_rows,
                                         const PassTarget& target, ShardWorkspace* workspace) {
  const models::DecoderLayout& layout = model.layout();
  models::ShardGradient& gradient = workspace->gradient;
  models::StartShard(model.config(), layout, target.total, target.open, &gradient);
  std::optional<ShardValues> values;
  if (pass.value_loss) {
    values.emplace(model.value_head(), HeadGradient(layout, target), pass.value_loss);
    values->head_is_final = [&] {
      if (!target.finished) return;
      target.finished(layout.value.bias);
      target.finished(layout.value.weight);
    };
  } else {
    AssignNoValues(layout, !groups.empty(), target);
  }
  TargetSink sink(target);
  const bool has_network = model.config().value_model == models::ValueModel::kNetwork;
  ASSIGN_OR_RETURN(ShardCounts counts, AccumulateShard(model.decoder(), groups,
                                                       {.max_rows = max_rows,
                                                        .temperature = pass.temperature,
                                                        .auxiliary_E = pass.auxiliary_E,
                                                        .values = values && !has_network ? &*values : nullptr,
                                                        .reference = pass.reference},
                                                       pass.loss, workspace, &gradient, &sink));
  if (values && has_network) {
    RETURN_IF_ERROR(RunValueNetwork(model, groups, max_rows, target, &*values, workspace));
  }
  return counts;
}

}  // namespace reprise::rl
