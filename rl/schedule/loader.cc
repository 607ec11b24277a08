#include "rl/schedule/loader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/schedule/minibatches.h"

namespace reprise::rl {
namespace {

template <typename T>
std::vector<T> Taken(const std::vector<T>& values, absl::Span<const int64_t> places) {
  std::vector<T> taken;
  for (const int64_t place : places) taken.push_back(values[place]);
  return taken;
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0.0 : kernels::TreeSum(values) / static_cast<double>(values.size());
}

}  // namespace

absl::StatusOr<EpisodeBatch> EpisodeBatch::Create(Arrays arrays) {
  const auto check = [&](const char* name, size_t size) {
    if (size == arrays.id_N.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a batch of ", arrays.id_N.size(), " episodes has ", size, " ", name));
  };
  RETURN_IF_ERROR(check("groups", arrays.group_N.size()));
  RETURN_IF_ERROR(check("rewards", arrays.reward_N.size()));
  RETURN_IF_ERROR(check("numbers of turns", arrays.turns_N.size()));
  RETURN_IF_ERROR(check("validity flags", arrays.is_valid_N.size()));
  return EpisodeBatch(std::move(arrays));
}

EpisodeBatch EpisodeBatch::At(absl::Span<const int64_t> places) const {
  return EpisodeBatch({Taken(arrays_.id_N, places), Taken(arrays_.group_N, places), Taken(arrays_.reward_N, places),
                       Taken(arrays_.turns_N, places), Taken(arrays_.is_valid_N, places)});
}

EpisodeLoader::EpisodeLoader(EpisodeBatch episodes, const LoaderOptions& options, uint64_t seed, uint64_t step)
    : episodes_(std::move(episodes)), options_(options), seed_(seed), step_(step) {
  int64_t group = 0;
  for (int64_t n = 0; n < episodes_.size(); ++n) {
    const size_t at = static_cast<size_t>(n);
    if (options_.filter_invalid && episodes_.is_valid_N()[at] == 0) continue;
    const bool follows = options_.whole_groups && !unit_U_.empty() && episodes_.group_N()[at] == group;
    if (!follows) unit_U_.emplace_back();
    unit_U_.back().push_back(n);
    group = episodes_.group_N()[at];
  }
}

absl::StatusOr<EpisodeLoader> EpisodeLoader::Create(EpisodeBatch episodes, const LoaderOptions& options, uint64_t seed,
                                                    uint64_t step) {
  const auto refuse = [](const auto&... parts) { return absl::InvalidArgumentError(absl::StrCat(parts...)); };
  if (options.num_batches == 0 && options.batch_size < 1)
    return refuse("the batch size ", options.batch_size, " is below 1");
  EpisodeLoader loader(std::move(episodes), options, seed, step);
  size_t dealt = 0;
  for (const std::vector<int64_t>& unit : loader.unit_U_) dealt += unit.size();
  if (dealt < 2 && !options.allows_fewer_than_two) {
    return refuse("an episode is compared with others, but of ", loader.episodes_.size(), " episodes ", dealt,
                  options.filter_invalid ? " valid ones are" : " are", " left: at least 2 are needed");
  }
  if (static_cast<int64_t>(loader.unit_U_.size()) < options.num_batches) {
    return refuse(loader.unit_U_.size(), options.whole_groups ? " groups" : " episodes", " for ", options.num_batches,
                  " batches: each batch needs at least one");
  }
  return loader;
}

std::vector<int64_t> EpisodeLoader::SizesOfBatches() const {
  std::vector<int64_t> sizes =
      BatchSizes(static_cast<int64_t>(unit_U_.size()), options_.num_batches, options_.batch_size);
  if (options_.num_batches == 0 && options_.drop_last && !sizes.empty() && sizes.back() < options_.batch_size) {
    sizes.pop_back();
  }
  return sizes;
}

std::vector<EpisodeBatch> EpisodeLoader::Batches(int64_t epoch) const {
  const int64_t units = static_cast<int64_t>(unit_U_.size());
  const std::vector<int64_t> sizes = SizesOfBatches();
  std::vector<int64_t> order(unit_U_.size());
  std::iota(order.begin(), order.end(), 0);
  // A single batch that leaves units out is shuffled too, so that not always the same units are left out.
  const bool is_all = sizes.size() == 1 && sizes[0] == units;
  if (options_.shuffle && !is_all) order = ShuffledOrder(units, seed_, step_, epoch);
  std::vector<EpisodeBatch> batches;
  auto unit = order.begin();
  for (const int64_t size : sizes) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < size; ++i) {
      const std::vector<int64_t>& more = unit_U_[*unit++];
      places.insert(places.end(), more.begin(), more.end());
    }
    std::sort(places.begin(), places.end());
    batches.push_back(episodes_.At(places));
  }
  return batches;
}

LoaderStats EpisodeLoader::stats() const {
  LoaderStats stats = {.total = episodes_.size(), .num_batches = static_cast<int64_t>(SizesOfBatches().size())};
  std::vector<double> turns, rewards;
  for (size_t n = 0; n < episodes_.id_N().size(); ++n) {
    if (episodes_.is_valid_N()[n] == 0) continue;
    ++stats.valid;
    turns.push_back(static_cast<double>(episodes_.turns_N()[n]));
    if (!std::isnan(episodes_.reward_N()[n])) rewards.push_back(episodes_.reward_N()[n]);
  }
  stats.invalid = stats.total - stats.valid;
  stats.avg_turns = Mean(turns);
  stats.avg_reward = Mean(rewards);
  return stats;
}

}  // namespace reprise::rl
