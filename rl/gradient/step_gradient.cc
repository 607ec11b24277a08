#include "rl/gradient/step_gradient.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/comm/agree.h"
#include "core/comm/gather_rows.h"
#include "core/parallel/activity.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/record/bounds.h"

namespace reprise::rl {
namespace {

constexpr int64_t kBlock = int64_t{1} << 16;  // floats that a thread adds at a time

}  // namespace

StepGradient::StepGradient(const Policy& policy, const ShardMap& shards, const std::vector<ParameterUnit>& units,
                           const PassMemory& memory, const ExchangeOptions& options, Communicator& comm,
                           TreeExchange& exchange, ThreadPool& pool)
    : policy_(policy),
      shards_(shards),
      units_(units),
      memory_(memory),
      comm_(comm),
      pool_(pool),
      helpers_(pool),
      workspaces_(static_cast<size_t>(pool.threads())),
      exchange_(exchange),
      is_ordered_(!options.in_any_order),
      gradient_exchange_(units, policy.layout().total, shards, options.overlap, comm.rank(), exchange),
      unordered_(policy.layout().total, comm, pool) {}

PassWorkspace* StepGradient::WorkerWorkspace(int worker) {
  auto& workspace = workspaces_[worker];
  if (workspace == nullptr) workspace = policy_.NewWorkspace(memory_, Team(helpers_, worker));
  return workspace.get();
}

void StepGradient::OnEveryShard(int64_t shards, const std::function<void(int64_t, int)>& work,
                                const std::function<void()>& meanwhile) {
  std::atomic<int64_t> next{0};
  helpers_.Run(
      [&](int worker) {
        for (int64_t index; (index = next.fetch_add(1)) < shards;) {
          work(index, worker);
          MarkActivity();
        }
      },
      meanwhile);
}

void StepGradient::ForEachShard(const std::vector<ShardInput>& inputs, const ShardWork& work) {
  OnEveryShard(static_cast<int64_t>(inputs.size()),
               [&](int64_t index, int worker) { work(inputs[index], WorkerWorkspace(worker)); });
}

absl::StatusOr<PassResult> StepGradient::Accumulate(const ShardPass& pass, const ShardInput& input, int worker,
                                                    PassTarget target) {
  BufferPool& buffers = gradient_exchange_.buffers();
  const bool is_cut = memory_.max_rows != 0;
  Tensor open = is_cut ? buffers.Acquire() : Tensor();
  target.open = is_cut ? open.mutable_data<float>().data() : nullptr;
  absl::StatusOr<PassResult> result = policy_.Accumulate(pass, input, target, WorkerWorkspace(worker));
  if (is_cut) buffers.Release(std::move(open));
  return result;
}

absl::StatusOr<PassResult> StepGradient::AccumulateOneShard(const ShardPass& pass, int shard, const ShardInput& input,
                                                            int worker) {
  Tensor total = gradient_exchange_.buffers().Acquire();
  PassTarget target = {.total = total.mutable_data<float>().data()};
  gradient_exchange_.StartShard(shard, std::move(total));
  // The pool's first worker is the communicating thread.
  target.finished = [&](int spec) { gradient_exchange_.FinishTensor(shard, spec, /*sends=*/worker == 0); };
  absl::StatusOr<PassResult> result = Accumulate(pass, input, worker, std::move(target));
  gradient_exchange_.FinishShard(shard);
  return result;
}

absl::StatusOr<std::vector<PassResult>> StepGradient::ComputeInOrder(const ShardPass& pass,
                                                                     const std::vector<ShardInput>& inputs) {
  gradient_exchange_.Begin();
  std::vector<PassResult> results(inputs.size());
  std::vector<absl::Status> status(inputs.size());
  const int first = shards_.ShardsOf(comm_.rank()).begin;
  const std::vector<int> order = shards_.ComputationOrder(comm_.rank());
  bool advances = true;
  OnEveryShard(
      static_cast<int64_t>(order.size()),
      [&](int64_t place, int worker) {
        const int shard = order[place];
        const size_t index = static_cast<size_t>(shard - first);
        absl::StatusOr<PassResult> result = AccumulateOneShard(pass, shard, inputs[index], worker);
        status[index] = result.status();
        if (result.ok()) results[index] = *std::move(result);
      },
      [&] { advances = advances && gradient_exchange_.Advance(); });
  // A rank with an error sends everything too, so that no other rank waits for it; then the ranks agree on the error.
  const auto failed = std::find_if(status.begin(), status.end(), [](const absl::Status& s) { return !s.ok(); });
  const absl::Status mine = failed == status.end() ? absl::OkStatus() : *failed;
  const absl::Status exchanged = gradient_exchange_.Complete();
  if (!exchanged.ok()) return mine.ok() ? exchanged : mine;
  RETURN_IF_ERROR(AgreeOk(comm_, mine));
  return results;
}

absl::StatusOr<std::vector<PassResult>> StepGradient::ComputeInAnyOrder(const ShardPass& pass,
                                                                        const std::vector<ShardInput>& inputs) {
  std::vector<PassResult> results(static_cast<size_t>(pool_.threads()));
  RETURN_IF_ERROR(unordered_.Compute(
      SplitIntoShares(policy_, inputs, pool_.threads()),
      [&](int64_t share, const ShardInput& input, int worker, Tensor& total) -> absl::Status {
        ASSIGN_OR_RETURN(results[share],
                         Accumulate(pass, input, worker, {.total = total.mutable_data<float>().data()}));
        return absl::OkStatus();
      }));
  return results;
}

absl::StatusOr<GradientResult> StepGradient::Compute(const std::vector<ShardInput>& inputs, const ShardPass& pass) {
  const ShardRange range = shards_.ShardsOf(comm_.rank());
  CHECK_EQ(static_cast<int>(inputs.size()), range.end - range.begin);
  absl::StatusOr<std::vector<PassResult>> shards =
      is_ordered_ ? ComputeInOrder(pass, inputs) : ComputeInAnyOrder(pass, inputs);
  if (!shards.ok()) return shards.status();
  GradientResult result;
  ASSIGN_OR_RETURN(result.norm, Norm());
  RETURN_IF_ERROR(AddResults(*shards, pass.clips_attention, &result));
  return result;
}

int64_t StepGradient::activation_bytes() const {
  int64_t bytes = 0;
  for (const auto& workspace : workspaces_) bytes += workspace == nullptr ? 0 : workspace->activation_bytes();
  return bytes;
}

// The sums of squares of the blocks of a unit, which its owner computes.
struct UnitSquares {
  int64_t unit = 0;
  std::vector<double> sum_of_block = {};

  void ForEachMember(auto visit) { visit(unit), visit(sum_of_block); }
};

// Sums the squares of all blocks of all units, which their owners send, in one fixed tree.
absl::StatusOr<double> StepGradient::Norm() {
  std::vector<std::vector<double>> blocks(units_.size());
  Communicator& owners = exchange_.comm();
  const absl::Span<const Piece> pieces = exchange_.ownership().PiecesOf(owners.rank());
  std::vector<std::vector<double>> sums_of(pieces.size());
  pool_.ForEach(static_cast<int64_t>(pieces.size()), [&](int64_t index, int) {
    const size_t i = static_cast<size_t>(index);
    sums_of[i].resize(static_cast<size_t>(kernels::SumBlocks(pieces[i].size)));
    kernels::SumOfSquaresByBlock(pieces[i].size, reduced().data() + pieces[i].offset, sums_of[i].data());
  });
  std::vector<UnitSquares> mine;
  for (size_t i = 0; i < pieces.size(); ++i) mine.push_back({pieces[i].tensor, std::move(sums_of[i])});
  ASSIGN_OR_RETURN(std::vector<UnitSquares> all, AllgatherRows(owners, std::move(mine)));
  for (UnitSquares& squares : all) blocks[squares.unit] = std::move(squares.sum_of_block);
  std::vector<double> sums;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (double sum : blocks[unit]) {
      if (!(sum <= kLargestMagnitude * kLargestMagnitude)) {
        return absl::InternalError(absl::StrCat(
            "the gradient of ", policy_.layout().specs[units_[unit].spec].name,
            std::isfinite(sum) ? " is greater than any loss can produce: a norm of " : " is not finite: a norm of ",
            std::sqrt(sum), "; no weight was changed"));
      }
      sums.push_back(sum);
    }
  }
  return std::sqrt(kernels::TreeSum(sums));
}

// Counts are added in any order; the sums of the policy's own loss terms are added in the tree over shards.
absl::Status StepGradient::AddResults(const std::vector<PassResult>& shards, bool clips_attention,
                                      GradientResult* result) {
  if (clips_attention) {
    for (const PassResult& shard : shards) KeepLargest(shard.largest_logits, &result->largest_logits);
    ASSIGN_OR_RETURN(const std::vector<std::vector<float>> of_rank,
                     AllgatherRows(comm_, std::vector<std::vector<float>>{result->largest_logits}));
    for (const std::vector<float>& largest : of_rank) KeepLargest(largest, &result->largest_logits);
  }
  std::vector<std::vector<double>> mine;
  for (const PassResult& shard : shards) {
    result->counts += shard.counts;
    mine.push_back(shard.sum_M);
  }
  ASSIGN_OR_RETURN(const std::vector<std::vector<double>> sum_SM, AllgatherRows(comm_, std::move(mine)));
  std::vector<std::vector<double>> by_term;
  for (const std::vector<double>& sum_M : sum_SM) {
    by_term.resize(sum_M.size());
    for (size_t m = 0; m < sum_M.size(); ++m) by_term[m].push_back(sum_M[m]);
  }
  for (const std::vector<double>& terms : by_term) result->sum_M.push_back(kernels::TreeSum(terms));
  return absl::OkStatus();
}

std::vector<ShardInput> SplitIntoShares(const Policy& policy, const std::vector<ShardInput>& inputs, int shares) {
  const auto work_of = [&](const EpisodeGroup& group) {
    return policy.RowsOf({group}) + static_cast<int64_t>(group.episode_G.size());
  };
  int64_t all = 0, before = 0;
  for (const ShardInput& input : inputs) {
    for (const EpisodeGroup& group : input) all += work_of(group);
  }
  std::vector<ShardInput> result(static_cast<size_t>(shares));
  for (const ShardInput& input : inputs) {
    for (const EpisodeGroup& group : input) {
      const int64_t work = work_of(group), middle = before + work / 2;
      result[std::min<int64_t>(shares - 1, middle * shares / std::max<int64_t>(all, 1))].push_back(group);
      before += work;
    }
  }
  return result;
}

UnorderedGradient::UnorderedGradient(int64_t size, Communicator& comm, ThreadPool& pool)
    : size_(size), comm_(comm), pool_(pool) {}

absl::Status UnorderedGradient::Compute(const std::vector<ShardInput>& shares, const Accumulate& accumulate) {
  while (totals_.size() < shares.size()) totals_.push_back(Tensor("", DType::kF32, {size_}));
  std::vector<absl::Status> status(shares.size());
  pool_.ForEach(static_cast<int64_t>(shares.size()), [&](int64_t share, int worker) {
    const size_t i = static_cast<size_t>(share);
    status[i] = accumulate(share, shares[i], worker, totals_[i]);
  });
  const auto failed = std::find_if(status.begin(), status.end(), [](const absl::Status& s) { return !s.ok(); });
  RETURN_IF_ERROR(AgreeOk(comm_, failed == status.end() ? absl::OkStatus() : *failed));
  float* const sum = totals_[0].mutable_data<float>().data();
  if (shares.size() > 1) {
    pool_.ForEach((size_ + kBlock - 1) / kBlock, [&](int64_t block, int) {
      const int64_t begin = block * kBlock, floats = std::min(kBlock, size_ - begin);
      for (size_t i = 1; i < shares.size(); ++i) {
        kernels::AddInto(floats, totals_[i].data<float>().data() + begin, sum + begin);
      }
    });
  }
  const ExchangeScope scope(comm_);
  return comm_.SumInAnyOrder(absl::MakeSpan(sum, static_cast<size_t>(size_)));
}

}  // namespace reprise::rl
