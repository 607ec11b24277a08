#ifndef RL_RECORD_STEP_TABLES_H_
#define RL_RECORD_STEP_TABLES_H_

// The complete record of a step, as tables: what an artifact stores of it, and what a reproduction compares. It
// contains nothing that depends on ranks, threads, batches, host or time. RecordSchema describes the tables.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/tables/table.h"

namespace reprise::rl {

// Stored in artifacts: do not change the values. Steps of each phase count from 1.
enum class Phase : uint8_t { kSft = 0, kTraining = 1 };

// Returns "SFT step 3" or "training step 3".
inline std::string StepName(Phase phase, int64_t step) {
  return absl::StrCat(phase == Phase::kSft ? "SFT" : "training", " step ", step);
}

struct StepTables {
  Phase phase = Phase::kTraining;
  int64_t step = 0;
  std::vector<StreamTable> tables;  // one for each stream

  // Returns the table of a stream; null where the step has none.
  const StreamTable* Find(absl::string_view stream) const {
    for (const StreamTable& table : tables) {
      if (table.schema().name == stream) return &table;
    }
    return nullptr;
  }
};

// Returns a step of those in order; null where they lack it.
inline const StepTables* FindStep(const std::vector<StepTables>& steps, Phase phase, int64_t step) {
  const auto found = std::lower_bound(
      steps.begin(), steps.end(), std::make_pair(phase, step),
      [](const StepTables& a, const std::pair<Phase, int64_t>& b) { return std::make_pair(a.phase, a.step) < b; });
  return found == steps.end() || found->phase != phase || found->step != step ? nullptr : &*found;
}

// Returns whether the step follows all of those in order.
inline bool IsAfter(const std::vector<StepTables>& steps, Phase phase, int64_t step) {
  return steps.empty() || std::make_pair(steps.back().phase, steps.back().step) < std::make_pair(phase, step);
}

}  // namespace reprise::rl

#endif  // RL_RECORD_STEP_TABLES_H_
