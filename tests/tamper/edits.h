#ifndef TESTS_TAMPER_EDITS_H_
#define TESTS_TAMPER_EDITS_H_

// Falsifications of a run with recomputed digests, which can only be detected by executing the run again.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace reprise::testing {

// All edits except those of the configuration change training step kEditedStep.
inline constexpr int64_t kEditedStep = 2;

// One of CheckpointEdits: a weight that is not a number.
inline constexpr char kNotFinite[] = "checkpoint_not_finite";
inline constexpr char kTooGreat[] = "checkpoint_too_great";  // a weight beyond the bounds of training

struct Edit {
  std::string name;
  // Returns the run file with the edit. Errors: those of reading the file.
  std::function<absl::StatusOr<std::string>(absl::string_view run_file)> apply;
  // The stage that `reproduce` must name, by mode. Empty: the run contradicts itself and must be rejected as corrupt.
  std::string replay_stage, regenerate_stage;
};

// Edits that change one value to another possible value.
std::vector<Edit> PlausibleEdits();

// Edits of a checkpoint. They are found after all other values of its step agreed.
std::vector<Edit> CheckpointEdits();

// Edits of the stored configuration. They are found at the first step that differs.
std::vector<Edit> ConfigurationEdits();

// Edits that store impossible values, which must be detected before they are used.
std::vector<Edit> ImpossibleEdits();

// Plausible edits of an external process's replies, for a run of tests/environments/outside.toml.
std::vector<Edit> OutsideEdits();

// Edits that add, move or relabel stored data so that no recomputed value would be compared with it.
std::vector<Edit> Additions();

std::vector<Edit> AllEdits();

}  // namespace reprise::testing

#endif  // TESTS_TAMPER_EDITS_H_
