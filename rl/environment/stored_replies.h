#ifndef RL_ENVIRONMENT_STORED_REPLIES_H_
#define RL_ENVIRONMENT_STORED_REPLIES_H_

#include <cstdint>
#include <map>
#include <tuple>

#include "rl/environment/environment.h"

namespace reprise::rl {

// Replaces an environment by its stored replies, so that it is not called again.
class StoredReplies : public StatelessEnvironment {
 public:
  // Behaviour where no reply is stored. With kEndsEpisode a later comparison reports the difference.
  enum class Lack { kIsError, kEndsEpisode };
  explicit StoredReplies(Lack lack = Lack::kIsError) : lack_(lack) {}

  void Add(int64_t prompt, int64_t sample, int64_t turn, Reply reply) {
    replies_[{prompt, sample, turn}] = std::move(reply);
  }

  // Where no reply is stored: DataLoss with kIsError, otherwise a truncated reply.
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;

  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override;

  // Returns the reward of a finished episode, stored as that of turn -1; 0 if none is stored.
  double Score(int64_t prompt, int64_t sample) const;

 private:
  Lack lack_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Reply> replies_;
};

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENT_STORED_REPLIES_H_
