#include "rl/gradient/unordered_gradient.h"

#include <algorithm>

#include "core/comm/agree.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

constexpr int64_t kBlock = int64_t{1} << 16;  // floats that a thread adds at a time

}  // namespace

std::vector<ShardInput> SharesOf(const Policy& policy, const std::vector<ShardInput>& inputs, int shares) {
  const auto work_of = [&](const EpisodeGroup& group) {
    return policy.RowsOf(group) + static_cast<int64_t>(group.episode_G.size());
  };
  int64_t all = 0, before = 0;
  for (const ShardInput& input : inputs) {
    for (const EpisodeGroup& group : input) all += work_of(group);
  }
  std::vector<ShardInput> result(static_cast<size_t>(shares));
  for (const ShardInput& input : inputs) {
    for (const EpisodeGroup& group : input) {
      const int64_t work = work_of(group), middle = before + work / 2;
      result[static_cast<size_t>(std::min<int64_t>(shares - 1, middle * shares / std::max<int64_t>(all, 1)))].push_back(
          group);
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
