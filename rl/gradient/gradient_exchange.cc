#include "rl/gradient/gradient_exchange.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"

namespace reprise::rl {
namespace {

std::vector<FlatRange> ToRanges(const std::vector<ParameterUnit>& units) {
  std::vector<FlatRange> ranges;
  for (const ParameterUnit& unit : units) ranges.push_back({unit.offset, unit.size});
  return ranges;
}

size_t UnitAt(const std::vector<ParameterUnit>& units, int64_t offset) {
  const auto after = std::upper_bound(units.begin(), units.end(), offset,
                                      [](int64_t value, const ParameterUnit& unit) { return value < unit.offset; });
  return static_cast<size_t>(after - units.begin()) - 1;
}

}  // namespace

std::vector<ExchangeBucket> BackwardBuckets(const std::vector<ParameterUnit>& units, const Ownership& ownership,
                                            int64_t floats_per_rank) {
  std::vector<int> order(units.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return BucketsInOrder(ownership, order, floats_per_rank);
}

TreeExchange MakeTreeExchange(const std::vector<ParameterUnit>& units, const ShardMap& shards,
                              const ExchangeOptions& options, Communicator* comm) {
  const Ownership ownership = Ownership::Deal(UnitExtents(units), comm->size());
  return TreeExchange(comm, shards, ownership, BackwardBuckets(units, ownership, options.floats_per_rank),
                      kernels::AddInto);
}

GradientExchange::GradientExchange(const std::vector<ParameterUnit>& units, int64_t size, const ShardMap& shards,
                                   bool overlap, int rank, TreeExchange& exchange)
    : overlap_(overlap),
      buffers_(size),
      accumulator_(shards, rank, &buffers_, kernels::AddInto, ToRanges(units)),
      sum_(exchange.comm().size() == 1 ? nullptr : &exchange.sum()),
      buckets_of_unit_(units.size()),
      shards_of_rank_(shards.ShardsOf(rank).end - shards.ShardsOf(rank).begin) {
  for (size_t unit = 0; unit < units.size(); ++unit) {
    units_of_spec_.resize(std::max(units_of_spec_.size(), static_cast<size_t>(units[unit].spec) + 1));
    units_of_spec_[units[unit].spec].push_back(static_cast<int>(unit));
  }
  if (sum_ == nullptr) return;
  const absl::Span<const ExchangeBucket> buckets = sum_->buckets();
  units_of_bucket_.resize(buckets.size());
  open_units_ = std::make_unique<std::atomic<int>[]>(buckets.size());
  for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    for (const std::vector<FlatRange>& ranges : buckets[bucket].ranges) {
      for (const FlatRange& range : ranges) {
        buckets_of_unit_[UnitAt(units, range.offset)].push_back(static_cast<int>(bucket));
        ++units_of_bucket_[bucket];
      }
    }
  }
}

void GradientExchange::Begin() {
  for (SubtreeSum& sum : sums_) buffers_.Release(std::move(sum.sum));
  sums_.clear();
  open_shards_.store(shards_of_rank_);
  for (size_t bucket = 0; bucket < units_of_bucket_.size(); ++bucket) {
    open_units_[bucket].store(units_of_bucket_[bucket]);
  }
}

void GradientExchange::StartShard(int shard, Tensor total) { accumulator_.Start(shard, std::move(total)); }

void GradientExchange::FinishTensor(int shard, int spec, bool sends) {
  for (int unit : units_of_spec_[spec]) FinishUnit(shard, unit);
  if (sends) Advance();
}

void GradientExchange::FinishUnit(int shard, int unit) {
  if (accumulator_.FinishPart(shard, unit)) UnitIsFinal(unit);
}

void GradientExchange::UnitIsFinal(int unit) {
  for (int bucket : buckets_of_unit_[unit]) open_units_[bucket].fetch_sub(1);
}

void GradientExchange::FinishShard(int shard) {
  for (int unit : accumulator_.FinishRest(shard)) UnitIsFinal(unit);
  open_shards_.fetch_sub(1);
}

absl::Status GradientExchange::SendFinalBuckets() {
  const int64_t buckets = static_cast<int64_t>(sum_->buckets().size());
  while (sum_->started() < buckets && sum_->HasRoom() && open_units_[sum_->started()] == 0) {
    ++counts_.buckets;
    counts_.early_buckets += open_shards_ > 0 ? 1 : 0;
    RETURN_IF_ERROR(sum_->Start(accumulator_.Sums()));
  }
  return absl::OkStatus();
}

bool GradientExchange::Advance() {
  if (sum_ == nullptr || !communication_.ok() || (!overlap_ && open_shards_ > 0)) return false;
  communication_ = SendFinalBuckets();
  if (communication_.ok()) communication_ = sum_->Progress();
  return communication_.ok() && !sum_->is_finished();
}

absl::Status GradientExchange::Complete() {
  while (Advance()) {
    if (sum_->is_under_way()) communication_ = sum_->WaitForOldest();
  }
  RETURN_IF_ERROR(communication_);
  if (sum_ != nullptr) sum_->Reset();
  sums_ = accumulator_.Take();
  return absl::OkStatus();
}

}  // namespace reprise::rl
