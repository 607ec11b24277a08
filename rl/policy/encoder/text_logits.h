#ifndef RL_POLICY_ENCODER_TEXT_LOGITS_H_
#define RL_POLICY_ENCODER_TEXT_LOGITS_H_

// The logits that frozen weights have computed for the texts of a step. A reference policy scores a step's episodes
// once, and each update of the step needs its distributions again: the weights have not changed, so the logits are kept
// instead of computed again. They depend on their text alone, so that it does not matter which pass computed them.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "rl/policy/encoder/text_decisions.h"
#include "rl/policy/policy.h"

namespace reprise::rl {

// Thread-safe. Holds the texts of one step at most.
class TextLogits {
 public:
  // Computes the logits [missing, actions] of texts.
  using Compute = absl::FunctionRef<std::vector<float>(const UniqueTexts& missing)>;

  explicit TextLogits(int64_t actions) : actions_(static_cast<size_t>(actions)) {}

  // Returns the logits [texts, actions] of texts of the step of `group`. Calls `compute` for those that are not kept,
  // if there are any, and keeps the result. Two threads may compute the same text.
  std::vector<float> Get(const EpisodeGroup& group, const UniqueTexts& texts, Compute compute);

  // Must be called when the weights change.
  void Clear();

 private:
  const size_t actions_;
  std::mutex mutex_;
  // The rest is guarded by mutex_.
  Phase phase_ = Phase::kTraining;
  int64_t step_ = -1;                                                  // of the texts
  std::map<std::string, std::vector<float>, std::less<>> logit_A_of_;  // by the bytes of a text's tokens
};

}  // namespace reprise::rl

#endif  // RL_POLICY_ENCODER_TEXT_LOGITS_H_
