#ifndef PIPELINES_SWEEPS_TRIALS_TRIAL_NAME_H_
#define PIPELINES_SWEEPS_TRIALS_TRIAL_NAME_H_

// Names of trials and of what is compared: short, readable, and made of letters, digits, '.', '-' and '_' only, so that
// they are names of folders everywhere.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/config/literal.h"

namespace reprise {

// Returns for each key what stands for it in names: its own name if that is one word, otherwise the first letters of
// its words ("optimizer.learning_rate" -> "lr"); where two keys would have the same, their own names, and where these
// are equal too, section and name. Pure.
std::vector<std::string> ShortNames(absl::Span<const std::string> keys);

// Returns "lr0.001", "seed3"; of text that begins with a letter the text alone: "grpo". Pure.
std::string ShortSetting(const std::string& short_name, const config::Value& value);

// One varied key of a trial's label.
struct LabelPart {
  std::string key, short_name;
  config::Value value;
};

// A trial's label, and that of its variant, which has no run.seed: "rloo-lr0.001-seed3", "rloo-lr0.001".
struct Labels {
  std::string trial, arm;
};

// Joins the first words, those that are not empty, and the parts by '-'; labels of more than 80 bytes are truncated.
// Pure.
Labels JoinLabels(absl::Span<const std::string> words, absl::Span<const LabelPart> parts);

// Returns the name of a trial's folder: its index, in as many digits as the greatest one has and at least two, and its
// label: "07-grpo-lr0.001-seed3". Pure.
std::string TrialName(int64_t index, int64_t trials, const std::string& label);

}  // namespace reprise

#endif  // PIPELINES_SWEEPS_TRIALS_TRIAL_NAME_H_
