#ifndef RL_ENVIRONMENTS_PROCESS_PROCESS_ENVIRONMENT_H_
#define RL_ENVIRONMENTS_PROCESS_PROCESS_ENVIRONMENT_H_

#include <memory>
#include <string>
#include <utility>

#include "rl/environment/environment.h"
#include "rl/environments/process/process_client.h"

namespace reprise::rl {

// An environment that is an external process; docs/environments.md defines its protocol. Tasks come from [data]. Errors
// as in ProcessClient::Ask; an error is never turned into a reward.
class ProcessEnvironment : public StatelessEnvironment {
 public:
  // `client` may be null where no request is made.
  explicit ProcessEnvironment(std::shared_ptr<ProcessClient> client) : client_(std::move(client)) {}

  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override;
  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override;

 private:
  const std::shared_ptr<ProcessClient> client_;
};

// Returns the reward of a whole episode from such a process, NaN where it replies null because it cannot score the
// episode. `text` is the completion, or the last action of several turns.
absl::StatusOr<double> ScoreByProcess(ProcessClient& client, const Dialogue& dialogue, const std::string& text,
                                      bool terminated);

}  // namespace reprise::rl

#endif  // RL_ENVIRONMENTS_PROCESS_PROCESS_ENVIRONMENT_H_
