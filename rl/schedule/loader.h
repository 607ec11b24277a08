#ifndef RL_SCHEDULE_LOADER_H_
#define RL_SCHEDULE_LOADER_H_

// Deals the episodes of a step into batches, anew in every epoch. An episode's batch is a function of seed, step and
// epoch alone.
//
// The learner deals a step to num_batches. There an invalid episode has weight 0 instead of being left out, so that the
// others keep their places in every sum (rl/learner/minibatches.h).

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace reprise::rl {

// A batch of episodes, as parallel arrays. An episode is one element of each array, however many turns it has: turns
// are never flattened.
class EpisodeBatch {
 public:
  struct Arrays {
    std::vector<int64_t> id_N;     // identifiers that the owner of the episodes chose
    std::vector<int64_t> group_N;  // episodes of one group (of one prompt) are compared with each other
    std::vector<double> reward_N;  // NaN: unscorable
    std::vector<int64_t> turns_N;  // number of turns; a completion has one
    std::vector<uint8_t> is_valid_N;
  };

  // InvalidArgument, naming the array, where an array and the ids differ in length.
  static absl::StatusOr<EpisodeBatch> Create(Arrays arrays);

  int64_t size() const { return static_cast<int64_t>(arrays_.id_N.size()); }
  const std::vector<int64_t>& id_N() const { return arrays_.id_N; }
  const std::vector<int64_t>& group_N() const { return arrays_.group_N; }
  const std::vector<double>& reward_N() const { return arrays_.reward_N; }
  const std::vector<int64_t>& turns_N() const { return arrays_.turns_N; }
  const std::vector<uint8_t>& is_valid_N() const { return arrays_.is_valid_N; }

  // Returns the episodes at these places, in this order.
  EpisodeBatch At(absl::Span<const int64_t> places) const;

 private:
  explicit EpisodeBatch(Arrays arrays) : arrays_(std::move(arrays)) {}

  Arrays arrays_;
};

struct LoaderOptions {
  // The unit that is dealt: an episode, or all episodes of a group, which must then be adjacent.
  bool whole_groups = false;
  int64_t batch_size = 8;  // units per batch, except the last
  bool drop_last = false;  // drops a last batch with fewer units
  // If not 0: this many batches instead, whose sizes differ by at most one unit, the larger ones first.
  int64_t num_batches = 0;
  bool shuffle = true;         // no effect on a single batch of all units
  bool filter_invalid = true;  // leaves out invalid episodes
  bool allows_fewer_than_two = false;
};

struct LoaderStats {
  int64_t total = 0, valid = 0, invalid = 0;
  double avg_turns = 0, avg_reward = 0;  // over valid episodes (rewards: those that have one); 0 without any
  int64_t num_batches = 0;               // per epoch
};

class EpisodeLoader {
 public:
  // InvalidArgument where fewer than two episodes remain to be dealt, because an episode is compared with others
  // (unless options.allows_fewer_than_two), and for a batch size below 1 or fewer units than batches.
  static absl::StatusOr<EpisodeLoader> Create(EpisodeBatch episodes, const LoaderOptions& options, uint64_t seed,
                                              uint64_t step);

  // Returns the batches of an epoch, each with its episodes in the order of the input. Pure.
  std::vector<EpisodeBatch> Batches(int64_t epoch) const;

  LoaderStats stats() const;

 private:
  EpisodeLoader(EpisodeBatch episodes, const LoaderOptions& options, uint64_t seed, uint64_t step);

  // Returns the number of units of each batch.
  std::vector<int64_t> SizesOfBatches() const;

  EpisodeBatch episodes_;
  LoaderOptions options_;
  uint64_t seed_, step_;
  std::vector<std::vector<int64_t>> unit_U_;  // indices of the episodes of each unit
};

}  // namespace reprise::rl

#endif  // RL_SCHEDULE_LOADER_H_
