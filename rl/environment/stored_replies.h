#ifndef RL_ENVIRONMENT_STORED_REPLIES_H_
#define RL_ENVIRONMENT_STORED_REPLIES_H_

#include <cstdint>
#include <map>
#include <tuple>

#include "rl/environment/environment.h"

namespace reprise::rl {

// In the place of an environment that is not to be asked again: what it once said.
class StoredReplies : public Environment {
 public:
  // What happens where nothing is stored. kEndsEpisode is for what a comparison finds afterwards.
  enum class Lack { kIsError, kEndsEpisode };
  explicit StoredReplies(Lack lack = Lack::kIsError) : lack_(lack) {}

  void Add(int64_t prompt, int64_t sample, int64_t turn, Reply reply) {
    replies_[{prompt, sample, turn}] = std::move(reply);
  }

  // DataLoss where nothing is stored and that is an error; otherwise a reply that is truncated.
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;

  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override;

  // The reward for a finished episode, stored as that of turn -1; 0 where none is.
  double Score(int64_t prompt, int64_t sample) const;

 private:
  Lack lack_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Reply> replies_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_STORED_REPLIES_H_
