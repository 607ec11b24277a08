#include "rl/learner/step_loader.h"

#include <utility>

#include "core/status/status_macros.h"

namespace reprise::rl {

absl::StatusOr<EpisodeLoader> LoaderOf(const Step& step, const UpdateOptions& options, uint64_t seed) {
  EpisodeBatch::Arrays arrays;
  for (size_t n = 0; n < step.signal_N.size(); ++n) {
    const int64_t id = static_cast<int64_t>(n);
    arrays.id_N.push_back(id);
    arrays.group_N.push_back(id / step.generations);
    arrays.turns_N.push_back(step.signal_N[n].turns);
    arrays.is_valid_N.push_back(step.signal_N[n].is_dropped ? 0 : 1);
  }
  arrays.reward_N = step.reward_N;
  ASSIGN_OR_RETURN(EpisodeBatch episodes, EpisodeBatch::Create(std::move(arrays)));
  return EpisodeLoader::Create(std::move(episodes),
                               {.whole_groups = !options.by_episode,
                                .num_batches = options.num_mini_batches,
                                .filter_invalid = false,
                                .allows_fewer_than_two = true},
                               seed, static_cast<uint64_t>(step.step));
}

}  // namespace reprise::rl
