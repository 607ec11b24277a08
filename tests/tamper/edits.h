#ifndef TESTS_TAMPER_EDITS_H_
#define TESTS_TAMPER_EDITS_H_

// Ways to falsify a run whose digests are all redone afterwards, so that only executing it again can tell.

#include <map>
#include <string>
#include <vector>

#include "data/artifact/rewrite.h"

namespace reprise::testing {

// All edits change training step kEditedStep.
inline constexpr int64_t kEditedStep = 2;

struct Edit {
  std::string name;
  EditStreams apply;
  // The stage that `reproduce` must name, by mode. Empty: the run contradicts itself and must be refused as damaged.
  std::string replay_stage, regenerate_stage;
};

// One value changed to another that could have been there.
std::vector<Edit> PlausibleEdits();

// What no run can hold: nothing of it may be believed before it was checked.
std::vector<Edit> ImpossibleEdits();

}  // namespace reprise::testing

#endif  // TESTS_TAMPER_EDITS_H_
