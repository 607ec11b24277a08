#ifndef TESTS_WORKLOADS_TRAINING_H_
#define TESTS_WORKLOADS_TRAINING_H_

// Trains a run within the test's process, and keeps the tables of its steps.

#include <cstdint>
#include <string>
#include <vector>

#include "rl/config/config.h"
#include "rl/record/step_sink.h"
#include "rl/record/step_tables.h"

namespace reprise::rl {

// Keeps the steps.
class TableSink : public StepSink {
 public:
  absl::StatusOr<bool> Commit(const StepTables& step) override {
    steps.push_back(step);
    return true;
  }
  bool WantsCheckpoint(Phase, int64_t, bool) override { return false; }
  absl::Status Checkpoint(const PolicyState&) override { return absl::OkStatus(); }
  bool WantsState(Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const PolicyState&) override { return absl::OkStatus(); }

  std::vector<StepTables> steps;
};

// Returns the configuration of a text (checked).
Config ConfigOf(const std::string& text);

// Returns the steps of a run on `ranks` ranks; with records those of their replay. A run that fails fails the test.
std::vector<StepTables> Train(const Config& config, int ranks = 1, const std::vector<StepTables>* records = nullptr);

// Expects that the steps have the same bits.
void ExpectSame(const Config& config, const std::vector<StepTables>& a, const std::vector<StepTables>& b);

}  // namespace reprise::rl

#endif  // TESTS_WORKLOADS_TRAINING_H_
