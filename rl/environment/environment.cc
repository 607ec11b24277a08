#include "rl/environment/environment.h"

#include "absl/strings/str_cat.h"

namespace reprise::rl {
namespace {

class StatelessSession : public Session {
 public:
  explicit StatelessSession(StatelessEnvironment& environment) : environment_(environment) {}
  absl::StatusOr<Reply> Step(const Dialogue& dialogue) override { return environment_.Step(dialogue); }
  absl::StatusOr<bool> IsToolCall(const Dialogue& dialogue) override { return environment_.IsToolCall(dialogue); }

 private:
  StatelessEnvironment& environment_;
};

}  // namespace

std::unique_ptr<Session> StatelessEnvironment::Reset(const Dialogue&) {
  return std::make_unique<StatelessSession>(*this);
}

std::string NameOf(const Dialogue& dialogue) {
  const bool is_evaluation = dialogue.place.purpose == Purpose::kEvaluationTask;
  return absl::StrCat(is_evaluation ? "held-out problem " : "prompt ", dialogue.place.prompt,
                      dialogue.greedy ? " greedy" : absl::StrCat(" sample ", dialogue.sample), " turn ",
                      dialogue.actions.empty() ? 0 : dialogue.actions.size() - 1);
}

}  // namespace reprise::rl
