#ifndef RL_WORKLOADS_BANDIT_SECTION_BANDIT_SECTION_H_
#define RL_WORKLOADS_BANDIT_SECTION_BANDIT_SECTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/config/field_list.h"

namespace reprise::rl {

// Of the hidden layers.
enum class BanditActivation { kRelu, kTanh };

struct BanditConfig {
  int64_t features = 8;
  int64_t actions = 4;
  double masked_share = 0.25;
  double noise = 0;
  std::string hidden = "32";  // "": none
  BanditActivation activation = BanditActivation::kRelu;
  bool layer_norm = true;

  bool operator==(const BanditConfig&) const = default;
};

// Lists the keys of [bandit].
void VisitBandit(config::FieldList& list, BanditConfig& bandit, const config::Condition& scope);

// Returns whether the key describes the policy's network, not the problem. Pure.
bool ShapesBanditPolicy(absl::string_view section, absl::string_view key);

// Returns the widths in bandit.hidden. InvalidArgument, naming the word, for one that is no width.
absl::StatusOr<std::vector<int64_t>> HiddenWidths(const BanditConfig& bandit);

// InvalidArgument, naming the keys, for values that do not go together: a network or rewards of more than 2^24 weights.
absl::Status CheckBandit(const BanditConfig& bandit);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_BANDIT_SECTION_BANDIT_SECTION_H_
