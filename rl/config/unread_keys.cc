#include "rl/config/unread_keys.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/config/field_list.h"
#include "core/status/status_macros.h"
#include "rl/config/algorithm_check.h"
#include "rl/config/reward_choice.h"
#include "rl/config/workload_traits.h"

namespace reprise::rl {
namespace {

// A configuration and its keys, in the order of listing. To list them takes longer than to compare all their values, so
// it is done once for each.
class Keys {
 public:
  explicit Keys(const Config& config) : config_(config) { Visit(list_, config_); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  Config& config() { return config_; }
  absl::Span<const config::Field> fields() const { return list_.fields(); }

 private:
  Config config_;
  config::FieldList list_;
};

// Tells which keys of a configuration were chosen: those that differ from what they would be without their own setting,
// which is the default or, in [algorithm], what its preset and its other keys make of them.
class SettingFinder {
 public:
  explicit SettingFinder(const Config& config) : defaults_(Config()), with_(config), without_(config) {}

  std::vector<std::string> All() {
    std::vector<std::string> keys;
    for (size_t i = 0; i < with_.fields().size(); ++i) {
      if (IsChosen(i)) keys.push_back(with_.fields()[i].Name());
    }
    return keys;
  }

  // i: in the order of listing.
  bool IsChosen(size_t i) {
    const config::Field& field = with_.fields()[i];
    if (field.section != "algorithm") return field.Get() != defaults_.fields()[i].Get();
    SetOthers(i);
    return field.Get() != without_.fields()[i].Get();
  }

 private:
  // Sets every key of [algorithm] but this one, in the order of listing.
  void SetOthers(size_t but) {
    without_.config().algorithm = {};
    for (size_t i = 0; i < with_.fields().size(); ++i) {
      const config::Field& field = with_.fields()[i];
      if (i != but && field.section == "algorithm") without_.fields()[i].Put(field.Get());
    }
  }

  Keys defaults_, with_, without_;
};

std::string FindOrigin(const config::Origins& origins, const std::string& key) {
  const auto found = origins.find(key);
  return found == origins.end() ? "" : found->second;
}

struct UnreadKey {
  std::string key, needs;
  bool is_of_others = false;  // of other workloads
};

// The keys that are set although nothing reads them: those of other workloads, then the others, in the order of
// listing.
std::vector<UnreadKey> FindUnread(const Config& config) {
  std::vector<UnreadKey> of_others, unread;
  SettingFinder settings(config);
  Config listed = config;
  config::FieldList list;
  Visit(list, listed);
  for (size_t i = 0; i < list.fields().size(); ++i) {
    const config::Field& field = list.fields()[i];
    const config::Condition* const unmet = field.FirstUnmet();
    if (unmet == nullptr || !settings.IsChosen(i)) continue;
    (unmet->is_scope ? of_others : unread).push_back({field.Name(), unmet->needs, unmet->is_scope});
  }
  of_others.insert(of_others.end(), unread.begin(), unread.end());
  return of_others;
}

absl::Status RejectFirst(const std::vector<UnreadKey>& unread) {
  if (unread.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(unread[0].key, " is set, but nothing would read it: it needs ", unread[0].needs, "; or remove it"));
}

// A row that makes several iterations can be combined with a term that has no ratio, but not with all of its
// iterations.
absl::Status CheckIterationsHaveRatios(const AlgorithmConfig& algorithm) {
  if (EffectiveClip(algorithm.loss) != Clip::kReinforce || algorithm.update.num_iterations == 1)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm.clip reinforce has no ratio to the sampling policy, which differs from the policy after the first of ",
      algorithm.update.num_iterations, " iterations: set algorithm.num_iterations to 1"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> UnreadKeys(const Config& config) {
  RETURN_IF_ERROR(CheckAlgorithm(config.algorithm));
  std::vector<std::string> keys;
  for (UnreadKey& each : FindUnread(config)) keys.push_back(std::move(each.key));
  return keys;
}

std::vector<std::string> ChosenKeys(const Config& config) { return SettingFinder(config).All(); }

absl::Status CheckKeysOfWorkload(const Config& config) {
  const std::vector<UnreadKey> unread = FindUnread(config);
  return !unread.empty() && unread[0].is_of_others ? RejectFirst(unread) : absl::OkStatus();
}

absl::Status CheckKeysAreRead(const Config& config) {
  RETURN_IF_ERROR(CheckAlgorithm(config.algorithm));
  RETURN_IF_ERROR(RejectFirst(FindUnread(config)));
  if (Traits(config).has_completions) RETURN_IF_ERROR(CheckSomeRewardCounts(config.algorithm.reward));
  return CheckIterationsHaveRatios(config.algorithm);
}

absl::StatusOr<std::vector<std::string>> CheckRunIsLongEnough(const Config& config, const config::Origins& origins) {
  const int64_t steps = config.run.steps;
  std::vector<std::string> warnings;
  if (steps == 0) return warnings;
  if (config.evaluation.every > steps) {
    warnings.push_back(absl::StrCat("evaluation.every ", config.evaluation.every, " is more than run.steps ", steps,
                                    ": no evaluation follows a training step; the verb evaluate can make one later"));
  }
  const int64_t sft = config.optimizer.warmup_steps;
  if (config.optimizer.warmup_ratio > 0 || sft <= steps) return warnings;
  const std::string message = absl::StrCat("optimizer.warmup_steps ", sft, " is more than run.steps ", steps,
                                           ": the learning rate does not reach optimizer.learning_rate");
  const bool is_cut_short = FindOrigin(origins, "run.steps") == config::kFromOverride &&
                            FindOrigin(origins, "optimizer.warmup_steps") != config::kFromOverride;
  if (!is_cut_short) {
    return absl::InvalidArgumentError(
        absl::StrCat(message, "; set it to at most run.steps, or optimizer.warmup_ratio to a share of them"));
  }
  warnings.push_back(message);
  return warnings;
}

}  // namespace reprise::rl
