#include "rl/learner/step_gradient.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/learner/plausible.h"
#include "rl/learner/wire.h"

namespace reprise::rl {

StepGradient::StepGradient(const models::Model& model, const ShardMap& shards, const std::vector<ParameterUnit>& units,
                           const PassMemory& memory, Communicator& comm, TreeExchange& exchange, ThreadPool& pool)
    : model_(model),
      shards_(shards),
      units_(units),
      memory_(memory),
      comm_(comm),
      pool_(pool),
      workspaces_(static_cast<size_t>(pool.threads())),
      buffers_(model.layout().total),
      accumulator_(shards, comm.rank(), &buffers_, kernels::AddInto),
      exchange_(exchange) {}

ShardWorkspace& StepGradient::WorkspaceOf(int worker) {
  auto& workspace = workspaces_[static_cast<size_t>(worker)];
  if (workspace == nullptr) workspace = std::make_unique<ShardWorkspace>(model_.config(), memory_.recompute);
  return *workspace;
}

models::ValueHeadGradient StepGradient::HeadGradient(float* total, float* open) const {
  const models::ParameterLayout& layout = model_.layout();
  const int64_t weight = layout.specs[static_cast<size_t>(layout.value.weight)].offset;
  const int64_t bias = layout.specs[static_cast<size_t>(layout.value.bias)].offset;
  return {total + weight, open == nullptr ? nullptr : open + weight, total + bias,
          open == nullptr ? nullptr : open + bias, 0};
}

std::vector<int64_t> StepGradient::CountExperts(const std::vector<ShardInput>& shard_inputs) {
  std::vector<std::vector<int64_t>> by_shard(shard_inputs.size());
  pool_.ForEach(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
    by_shard[static_cast<size_t>(index)] = CountShardExperts(
        model_.decoder(), shard_inputs[static_cast<size_t>(index)].groups, memory_.max_rows, &WorkspaceOf(worker));
  });
  std::vector<int64_t> count_E(static_cast<size_t>(model_.config().num_experts));
  for (const std::vector<int64_t>& shard : by_shard) {
    for (size_t e = 0; e < count_E.size(); ++e) count_E[e] += shard[e];
  }
  return count_E;
}

void StepGradient::Score(const models::Decoder& decoder, const std::vector<ShardInput>& shard_inputs, float temperature,
                         const CompletionScores& receive) {
  pool_.ForEach(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
    const ShardInput& input = shard_inputs[static_cast<size_t>(index)];
    ScoreShard(
        decoder, input.groups, memory_.max_rows, temperature,
        [&](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T) {
          receive(input.group_of[static_cast<size_t>(group)], completion, logprob_T, entropy_T);
        },
        &WorkspaceOf(worker));
  });
}

void StepGradient::Evaluate(const std::vector<ShardInput>& shard_inputs, const CompletionValues& receive) {
  pool_.ForEach(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
    const ShardInput& input = shard_inputs[static_cast<size_t>(index)];
    EvaluateShard(
        model_.value_decoder(), model_.value_head(), input.groups, memory_.max_rows,
        [&](int64_t group, int64_t completion, absl::Span<const float> value_T) {
          receive(input.group_of[static_cast<size_t>(group)], completion, value_T);
        },
        &WorkspaceOf(worker));
  });
}

// The language model's gradient, with that of a value head on it.
absl::StatusOr<ShardCounts> StepGradient::AccumulateInto(float* total, float* open, const ShardInput& input,
                                                         float temperature,
                                                         const models::AuxiliaryGradient& auxiliary_E,
                                                         const CompletionLoss& loss, ShardValues* values,
                                                         ShardWorkspace* workspace) {
  const bool own_trunk = model_.config().value_model == models::ValueModel::kNetwork;
  models::ShardGradient gradient;
  models::StartShard(model_.config(), model_.layout(), total, open, &gradient);
  ASSIGN_OR_RETURN(ShardCounts counts,
                   AccumulateShard(model_.decoder(), input.groups, memory_.max_rows, temperature, auxiliary_E, loss,
                                   workspace, &gradient, nullptr, own_trunk ? nullptr : values));
  if (values == nullptr || !own_trunk) return counts;
  const models::Decoder& network = model_.value_decoder();
  const int64_t at = model_.layout().value.trunk_offset;
  models::StartShard(network.config, network.layout, total + at, open == nullptr ? nullptr : open + at, &gradient);
  RETURN_IF_ERROR(AccumulateShardValues(network, input.groups, memory_.max_rows, workspace, &gradient, values));
  return counts;
}

absl::StatusOr<ShardCounts> StepGradient::AccumulateOne(int shard, const ShardInput& input, float temperature,
                                                        const models::AuxiliaryGradient& auxiliary_E,
                                                        const CompletionLoss& loss,
                                                        const CompletionValueLoss& value_loss,
                                                        ShardWorkspace* workspace) {
  const bool cut = memory_.max_rows != 0;
  Tensor total = buffers_.Acquire();
  Tensor open = cut ? buffers_.Acquire() : Tensor();
  float* const total_floats = total.mutable_data<float>().data();
  float* const open_floats = cut ? open.mutable_data<float>().data() : nullptr;
  const CompletionLoss loss_of_rank = [&](int64_t group, int64_t completion, absl::Span<const float> logprob_T,
                                          absl::Span<const float> entropy_T, absl::Span<float> dlogprob_T,
                                          absl::Span<float> dentropy_T) {
    return loss(input.group_of[static_cast<size_t>(group)], completion, logprob_T, entropy_T, dlogprob_T, dentropy_T);
  };
  const CompletionValueLoss value_loss_of_rank = [&](int64_t group, int64_t completion, absl::Span<const float> value_T,
                                                     absl::Span<float> dvalue_T) {
    return value_loss(input.group_of[static_cast<size_t>(group)], completion, value_T, dvalue_T);
  };
  std::optional<ShardValues> values;
  if (value_loss) values.emplace(model_.value_head(), HeadGradient(total_floats, open_floats), value_loss_of_rank);
  ASSIGN_OR_RETURN(ShardCounts counts, AccumulateInto(total_floats, open_floats, input, temperature, auxiliary_E,
                                                      loss_of_rank, values ? &*values : nullptr, workspace));
  if (!value_loss || input.groups.empty()) {  // what no pass has assigned
    const models::ParameterLayout& layout = model_.layout();
    std::fill(total_floats + layout.policy_total, total_floats + layout.total, 0.0f);
  }
  if (cut) buffers_.Release(std::move(open));
  accumulator_.Complete(shard, std::move(total));
  return counts;
}

absl::StatusOr<GradientResult> StepGradient::Compute(const std::vector<ShardInput>& shard_inputs, float temperature,
                                                     const models::AuxiliaryGradient& auxiliary_E,
                                                     const CompletionLoss& loss,
                                                     const CompletionValueLoss& value_loss) {
  const ShardRange range = shards_.ShardsOf(comm_.rank());
  CHECK_EQ(static_cast<int>(shard_inputs.size()), range.end - range.begin);
  for (SubtreeSum& sum : sums_) buffers_.Release(std::move(sum.sum));
  sums_.clear();
  std::vector<ShardCounts> counts(shard_inputs.size());
  std::vector<absl::Status> status(shard_inputs.size());
  const std::vector<int> order = shards_.ComputationOrder(comm_.rank());
  pool_.ForEach(static_cast<int64_t>(order.size()), [&](int64_t place, int worker) {
    const int shard = order[static_cast<size_t>(place)];
    const size_t index = static_cast<size_t>(shard - range.begin);
    absl::StatusOr<ShardCounts> result =
        AccumulateOne(shard, shard_inputs[index], temperature, auxiliary_E, loss, value_loss, &WorkspaceOf(worker));
    status[index] = result.status();
    if (result.ok()) counts[index] = *std::move(result);
  });
  const auto failed = std::find_if(status.begin(), status.end(), [](const absl::Status& s) { return !s.ok(); });
  RETURN_IF_ERROR(AgreeOk(comm_, failed == status.end() ? absl::OkStatus() : *failed));
  sums_ = accumulator_.Take();
  RETURN_IF_ERROR(exchange_.SumOwned(absl::MakeSpan(sums_)));
  if (fault_) fault_(sums_[0].sum.mutable_data<float>());
  GradientResult result;
  ASSIGN_OR_RETURN(result.norm, Norm());
  RETURN_IF_ERROR(SumProbabilities(counts, &result));
  return result;
}

int64_t StepGradient::activation_bytes() const {
  int64_t bytes = 0;
  for (const auto& workspace : workspaces_) {
    if (workspace != nullptr) bytes += workspace->activations.bytes() + workspace->prompt_activations.bytes();
  }
  return bytes;
}

// The sums of squares of all blocks of all units, from their owners, in one fixed tree.
absl::StatusOr<double> StepGradient::Norm() {
  std::vector<std::vector<double>> blocks(units_.size());
  WireWriter mine;
  for (const Piece& piece : exchange_.ownership().PiecesOf(comm_.rank())) {
    std::vector<double> sums(static_cast<size_t>(kernels::SumBlocks(piece.size)));
    kernels::SumOfSquaresByBlock(piece.size, reduced().data() + piece.offset, sums.data());
    mine.Put<int64_t>(piece.tensor);
    mine.PutArray(sums);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm_, mine.bytes()));
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) {
      const size_t unit = static_cast<size_t>(reader.Get<int64_t>());
      blocks[unit] = reader.GetArray<double>();
    }
  }
  std::vector<double> sums;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (double sum : blocks[unit]) {
      if (!(sum <= kMostPlausible * kMostPlausible)) {
        return absl::InternalError(absl::StrCat(
            "the gradient of ", model_.layout().specs[static_cast<size_t>(units_[unit].spec)].name,
            std::isfinite(sum) ? " is greater than any loss can have: a norm of " : " is not finite: a norm of ",
            std::sqrt(sum), "; no weight was changed"));
      }
      sums.push_back(sum);
    }
  }
  return std::sqrt(kernels::TreeSum(sums));
}

// Integers add up in any order; the probabilities' sums go through the tree over shards.
absl::Status StepGradient::SumProbabilities(const std::vector<ShardCounts>& counts, GradientResult* result) {
  const size_t experts = static_cast<size_t>(model_.config().num_experts);
  WireWriter mine;
  result->counts.expert_count_E.assign(experts, 0);
  for (const ShardCounts& shard : counts) {
    result->counts.prompt_rows += shard.prompt_rows;
    result->counts.completion_rows += shard.completion_rows;
    result->counts.micro_batches += shard.micro_batches;
    result->counts.cut_groups += shard.cut_groups;
    for (size_t e = 0; e < experts; ++e) result->counts.expert_count_E[e] += shard.expert_count_E[e];
    mine.PutArray(shard.probability_sum_E);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm_, mine.bytes()));
  std::vector<std::vector<double>> by_expert(experts);
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) {
      const std::vector<double> shard = reader.GetArray<double>();
      for (size_t e = 0; e < experts; ++e) by_expert[e].push_back(shard[e]);
    }
  }
  for (size_t e = 0; e < experts; ++e) result->counts.probability_sum_E.push_back(kernels::TreeSum(by_expert[e]));
  return absl::OkStatus();
}

}  // namespace reprise::rl
