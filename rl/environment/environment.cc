#include "rl/environment/environment.h"

#include "absl/strings/str_cat.h"

namespace reprise::rl {

std::string NameOf(const Dialogue& dialogue) {
  const bool is_evaluation = dialogue.place.purpose == Purpose::kEvaluationTask;
  return absl::StrCat(is_evaluation ? "held-out problem " : "prompt ", dialogue.place.prompt,
                      dialogue.greedy ? " greedy" : absl::StrCat(" sample ", dialogue.sample), " turn ",
                      dialogue.actions.empty() ? 0 : dialogue.actions.size() - 1);
}

}  // namespace reprise::rl
