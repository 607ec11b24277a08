#include "rl/environment/environment.h"

#include "absl/strings/str_cat.h"

namespace reprise::rl {

std::string NameOf(const Dialogue& dialogue) {
  return absl::StrCat("prompt ", dialogue.place.prompt, " sample ", dialogue.sample, " turn ",
                      dialogue.actions.empty() ? 0 : dialogue.actions.size() - 1);
}

}  // namespace reprise::rl
