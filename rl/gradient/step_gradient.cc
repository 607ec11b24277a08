#include "rl/gradient/step_gradient.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/record/bounds.h"
#include "rl/record/wire.h"

namespace reprise::rl {

StepGradient::StepGradient(const models::Model& model, const ShardMap& shards, const std::vector<ParameterUnit>& units,
                           const PassMemory& memory, const ExchangeOptions& options, Communicator& comm,
                           TreeExchange& exchange, ThreadPool& pool)
    : model_(model),
      shards_(shards),
      units_(units),
      memory_(memory),
      comm_(comm),
      pool_(pool),
      helpers_(pool),
      workspaces_(static_cast<size_t>(pool.threads())),
      exchange_(exchange),
      is_ordered_(!options.in_any_order),
      gradient_exchange_(units, model.layout().total, shards, options.overlap, comm.rank(), exchange),
      unordered_(model.layout().total, comm, pool) {}

ShardWorkspace& StepGradient::WorkspaceOf(int worker) {
  auto& workspace = workspaces_[static_cast<size_t>(worker)];
  if (workspace == nullptr) {
    workspace = std::make_unique<ShardWorkspace>(model_.config(), memory_.recompute);
    workspace->team = Team(helpers_, worker);
  }
  return *workspace;
}

void StepGradient::OnEveryShard(int64_t shards, const std::function<void(int64_t, int)>& work,
                                const std::function<void()>& meanwhile) {
  std::atomic<int64_t> next{0};
  helpers_.Run(
      [&](int worker) {
        for (int64_t index; (index = next.fetch_add(1)) < shards;) work(index, worker);
      },
      meanwhile);
}

std::vector<int64_t> StepGradient::CountExperts(const std::vector<ShardInput>& shard_inputs) {
  std::vector<std::vector<int64_t>> by_shard(shard_inputs.size());
  OnEveryShard(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
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
  OnEveryShard(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
    const ShardInput& input = shard_inputs[static_cast<size_t>(index)];
    ScoreShard(
        decoder, input.groups, memory_.max_rows, temperature,
        [&](int64_t group, int64_t completion, absl::Span<const float> logprob_T, absl::Span<const float> entropy_T) {
          receive(input.GroupOf(group), input.SampleOf(group, completion), logprob_T, entropy_T);
        },
        &WorkspaceOf(worker));
  });
}

void StepGradient::ShowLogits(const std::vector<ShardInput>& shard_inputs, const TokenLogits& receive) {
  OnEveryShard(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
    const ShardInput& input = shard_inputs[static_cast<size_t>(index)];
    ShowShardLogits(
        model_.decoder(), input.groups, memory_.max_rows,
        [&](int64_t group, int64_t completion, int64_t token, absl::Span<float> logits) {
          receive(input.GroupOf(group), input.SampleOf(group, completion), token, logits);
        },
        &WorkspaceOf(worker));
  });
}

void StepGradient::Evaluate(const std::vector<ShardInput>& shard_inputs, const CompletionValues& receive) {
  OnEveryShard(static_cast<int64_t>(shard_inputs.size()), [&](int64_t index, int worker) {
    const ShardInput& input = shard_inputs[static_cast<size_t>(index)];
    EvaluateShard(
        model_.value_decoder(), model_.value_head(), input.groups, memory_.max_rows,
        [&](int64_t group, int64_t completion, absl::Span<const float> value_T) {
          receive(input.GroupOf(group), input.SampleOf(group, completion), value_T);
        },
        &WorkspaceOf(worker));
  });
}

absl::StatusOr<ShardCounts> StepGradient::Accumulate(const ShardPass& pass, const ShardInput& input, int worker,
                                                     float* total, models::GradientSink* sink) {
  BufferPool& buffers = gradient_exchange_.buffers();
  const bool is_cut = memory_.max_rows != 0;
  Tensor open = is_cut ? buffers.Acquire() : Tensor();
  const PassTarget target = {total, is_cut ? open.mutable_data<float>().data() : nullptr, sink};
  absl::StatusOr<ShardCounts> counts =
      RunShardPass(model_, pass, input, memory_.max_rows, target, &WorkspaceOf(worker));
  if (is_cut) buffers.Release(std::move(open));
  return counts;
}

absl::StatusOr<ShardCounts> StepGradient::AccumulateShardOf(const ShardPass& pass, int shard, const ShardInput& input,
                                                            int worker) {
  Tensor total = gradient_exchange_.buffers().Acquire();
  float* const floats = total.mutable_data<float>().data();
  gradient_exchange_.StartShard(shard, std::move(total));
  // The pool's first worker is the communicating thread.
  GradientExchange::Sink sink(gradient_exchange_, shard, /*sends=*/worker == 0);
  absl::StatusOr<ShardCounts> counts = Accumulate(pass, input, worker, floats, &sink);
  gradient_exchange_.FinishShard(shard);
  return counts;
}

absl::StatusOr<std::vector<ShardCounts>> StepGradient::ComputeInOrder(const ShardPass& pass,
                                                                      const std::vector<ShardInput>& inputs) {
  gradient_exchange_.Begin();
  std::vector<ShardCounts> counts(inputs.size());
  std::vector<absl::Status> status(inputs.size());
  const int first = shards_.ShardsOf(comm_.rank()).begin;
  const std::vector<int> order = shards_.ComputationOrder(comm_.rank());
  bool advances = true;
  OnEveryShard(
      static_cast<int64_t>(order.size()),
      [&](int64_t place, int worker) {
        const int shard = order[static_cast<size_t>(place)];
        const size_t index = static_cast<size_t>(shard - first);
        absl::StatusOr<ShardCounts> result = AccumulateShardOf(pass, shard, inputs[index], worker);
        status[index] = result.status();
        if (result.ok()) counts[index] = *std::move(result);
      },
      [&] { advances = advances && gradient_exchange_.Advance(); });
  // A rank with an error sends everything too, so that no other rank waits for it; then the ranks agree on the error.
  const auto failed = std::find_if(status.begin(), status.end(), [](const absl::Status& s) { return !s.ok(); });
  const absl::Status mine = failed == status.end() ? absl::OkStatus() : *failed;
  const absl::Status exchanged = gradient_exchange_.Complete();
  if (!exchanged.ok()) return mine.ok() ? exchanged : mine;
  RETURN_IF_ERROR(AgreeOk(comm_, mine));
  return counts;
}

absl::StatusOr<std::vector<ShardCounts>> StepGradient::ComputeInAnyOrder(const ShardPass& pass,
                                                                         const std::vector<ShardInput>& inputs) {
  std::vector<ShardCounts> counts(static_cast<size_t>(pool_.threads()));
  RETURN_IF_ERROR(unordered_.Compute(
      SharesOf(inputs, pool_.threads()),
      [&](int64_t share, const ShardInput& input, int worker, Tensor& total) -> absl::Status {
        ASSIGN_OR_RETURN(counts[static_cast<size_t>(share)],
                         Accumulate(pass, input, worker, total.mutable_data<float>().data(), nullptr));
        return absl::OkStatus();
      }));
  return counts;
}

absl::StatusOr<GradientResult> StepGradient::Compute(const std::vector<ShardInput>& shard_inputs, float temperature,
                                                     const models::AuxiliaryGradient& auxiliary_E,
                                                     const CompletionLoss& loss, const CompletionValueLoss& value_loss,
                                                     const models::Decoder* reference) {
  const ShardRange range = shards_.ShardsOf(comm_.rank());
  CHECK_EQ(static_cast<int>(shard_inputs.size()), range.end - range.begin);
  const ShardPass pass = {temperature, auxiliary_E, loss, value_loss, reference};
  absl::StatusOr<std::vector<ShardCounts>> counts =
      is_ordered_ ? ComputeInOrder(pass, shard_inputs) : ComputeInAnyOrder(pass, shard_inputs);
  if (!counts.ok()) return counts.status();
  GradientResult result;
  ASSIGN_OR_RETURN(result.norm, Norm());
  RETURN_IF_ERROR(SumProbabilities(*counts, &result));
  return result;
}

int64_t StepGradient::activation_bytes() const {
  int64_t bytes = 0;
  for (const auto& workspace : workspaces_) {
    for (const ShardWorkspace* at = workspace.get(); at != nullptr; at = at->reference.get()) {
      bytes += at->activations.bytes() + at->prompt_activations.bytes();
    }
  }
  return bytes;
}

// Sums the squares of all blocks of all units, which their owners send, in one fixed tree.
absl::StatusOr<double> StepGradient::Norm() {
  std::vector<std::vector<double>> blocks(units_.size());
  WireWriter mine;
  Communicator& owners = exchange_.comm();
  const absl::Span<const Piece> pieces = exchange_.ownership().PiecesOf(owners.rank());
  std::vector<std::vector<double>> sums_of(pieces.size());
  pool_.ForEach(static_cast<int64_t>(pieces.size()), [&](int64_t index, int) {
    const size_t i = static_cast<size_t>(index);
    sums_of[i].resize(static_cast<size_t>(kernels::SumBlocks(pieces[i].size)));
    kernels::SumOfSquaresByBlock(pieces[i].size, reduced().data() + pieces[i].offset, sums_of[i].data());
  });
  for (size_t i = 0; i < pieces.size(); ++i) {
    mine.Put<int64_t>(pieces[i].tensor);
    mine.PutArray(sums_of[i]);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(owners, mine.bytes()));
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) {
      const size_t unit = static_cast<size_t>(reader.Get<int64_t>());
      blocks[unit] = reader.GetArray<double>();
    }
  }
  std::vector<double> sums;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (double sum : blocks[unit]) {
      if (!(sum <= kLargestMagnitude * kLargestMagnitude)) {
        return absl::InternalError(absl::StrCat(
            "the gradient of ", model_.layout().specs[static_cast<size_t>(units_[unit].spec)].name,
            std::isfinite(sum) ? " is greater than any loss can produce: a norm of " : " is not finite: a norm of ",
            std::sqrt(sum), "; no weight was changed"));
      }
      sums.push_back(sum);
    }
  }
  return std::sqrt(kernels::TreeSum(sums));
}

// Integers are added in any order; the sums of probabilities are added in the tree over shards.
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
