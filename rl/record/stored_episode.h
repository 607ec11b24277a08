#ifndef RL_RECORD_STORED_EPISODE_H_
#define RL_RECORD_STORED_EPISODE_H_

// What the records of all workloads store of an episode: its place, and its numbers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/tensor/bounds.h"
#include "rl/record/episode_record.h"
#include "rl/record/table_row.h"

namespace reprise::rl {

inline constexpr absl::string_view kOutOfBounds =
    "a number is out of bounds: numbers are finite, at most 1e18, and not subnormal";

bool AreWithinBounds(const auto& values) {
  return std::all_of(values.begin(), values.end(), [](auto value) { return IsWithinBounds(value); });
}

// Returns whether there is a next row, and it is of this episode. The stream's own columns begin with prompt, sample.
inline bool IsRowForEpisode(const RowReader& row, int64_t prompt, int64_t sample) {
  return row.has_row() && row.Peek<int64_t>(0) == prompt && row.Peek<int64_t>(1) == sample;
}

// Returns what is wrong with the numbers of an episode that was read; "" if nothing. decisions: how many
// log-probabilities under the reference it has, if there is one. rewards: how many it must have.
inline absl::string_view FaultOfEpisode(const EpisodeRecord& episode, size_t decisions, size_t rewards) {
  const size_t reference = episode.ref_logprobs.size();
  if (reference != 0 && reference != decisions) return "it lacks log-probabilities under the reference";
  if (episode.rewards_F.size() != rewards) return "it has another number of rewards than functions reward it";
  const bool sound = AreWithinBounds(episode.logprobs) && AreWithinBounds(episode.entropies) &&
                     AreWithinBounds(episode.behaviour_logprobs) && AreWithinBounds(episode.ref_logprobs) &&
                     AreWithinBounds(episode.rewards_F) && IsWithinBounds(episode.reward) &&
                     IsWithinBounds(episode.advantage);
  return sound ? "" : kOutOfBounds;
}

// Moves the numbers that were read into the episode that the workload has made of the other columns.
inline void TakeNumbers(EpisodeRecord&& read, EpisodeRecord* episode) {
  episode->logprobs = std::move(read.logprobs);
  episode->entropies = std::move(read.entropies);
  episode->behaviour_logprobs = std::move(read.behaviour_logprobs);
  episode->ref_logprobs = std::move(read.ref_logprobs);
  episode->earned_T = std::move(read.earned_T);
  episode->rewards_F = std::move(read.rewards_F);
  episode->reward = read.reward;
  episode->advantage = read.advantage;
  episode->advantage_T = std::move(read.advantage_T);
}

}  // namespace reprise::rl

#endif  // RL_RECORD_STORED_EPISODE_H_
