#include "rl/environment/environment.h"

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"

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

std::string DialogueName(const Dialogue& dialogue) {
  const bool is_evaluation = dialogue.place.purpose == Purpose::kEvaluationTask;
  return absl::StrCat(is_evaluation ? "held-out problem " : "prompt ", dialogue.place.prompt,
                      dialogue.greedy ? " greedy" : absl::StrCat(" sample ", dialogue.sample), " turn ",
                      dialogue.actions.empty() ? 0 : dialogue.actions.size() - 1);
}

absl::StatusOr<Reply> StoredReplies::Step(const Dialogue& dialogue) {
  const auto found = replies_.find({static_cast<int64_t>(dialogue.place.prompt), static_cast<int64_t>(dialogue.sample),
                                    static_cast<int64_t>(dialogue.actions.size()) - 1});
  if (found == replies_.end()) {
    if (lack_ == Lack::kEndsEpisode) return Reply{.truncated = true};
    return absl::DataLossError(absl::StrCat("the run has no stored reply to ", DialogueName(dialogue)));
  }
  return found->second;
}

absl::StatusOr<bool> StoredReplies::IsToolCall(const Dialogue& dialogue) {
  ASSIGN_OR_RETURN(const Reply stored, Step(dialogue));
  return stored.tool_call != ToolCall::kNone;
}

double StoredReplies::Score(int64_t prompt, int64_t sample) const {
  const auto found = replies_.find({prompt, sample, -1});
  return found == replies_.end() ? 0.0 : found->second.reward;
}

}  // namespace reprise::rl
