#ifndef RL_LEARNER_TESTS_LEARNER_TESTING_H_
#define RL_LEARNER_TESTS_LEARNER_TESTING_H_

// Runs the whole learner in memory, for tests: ranks are threads, and the data of an artifact is kept in memory.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/decoder/model.h"
#include "rl/episodes/episode_source.h"
#include "rl/learner/learner.h"
#include "rl/record/completions/record_testing.h"
#include "rl/reward/reward.h"

namespace reprise::rl::testing {

// Returns three SFT phase and four training steps of a small model, in which invariance is not trivial: the number of
// prompts is not a multiple of the shards, and each step has two updates.
Config SmallRun();

class MemorySink : public StepSink {
 public:
  absl::StatusOr<bool> Commit(const StepTables& step) override;
  bool WantsCheckpoint(Phase, int64_t step, bool is_over) override { return step == 4 || is_over; }
  absl::Status Checkpoint(const PolicyState& state) override;
  bool WantsState(Phase, int64_t, bool ends_early) override {
    received_last_step |= ends_early;
    return keep_states;
  }
  absl::Status SaveState(const PolicyState& state) override;

  RecordForm form;  // of the records
  std::vector<StepRecord> records;
  std::vector<Digest> checkpoint;
  bool keep_states = false;
  bool received_last_step = false;   // whether a step was marked as the last before the run's end
  absl::Status checkpoint_status;    // the result of Checkpoint
  std::vector<LearnerState> states;  // one per record, if keep_states
};

struct Outcome {
  MemorySink sink;
  LearnerCounts counts;  // of all ranks
  int64_t refills = 0;
  Traffic traffic, exchange_traffic;   // of all ranks
  std::vector<Digest> last_weights_R;  // by rank: the flat weights when the run ended, also after an error
  std::vector<absl::Status> status_R;  // by rank
};

struct RunOptions {
  int ranks = 1;
  const LearnerState* from = nullptr;  // null: from the first step
  int64_t stop_after_step = 0;
  const std::vector<StepRecord>* replay = nullptr;  // null: episodes are sampled
  RewardFunction reward = nullptr;  // in place of the functions that the configuration names; null: these
  // Called on every rank after a step's episodes were drawn; may corrupt them, or the model.
  std::function<void(int rank, Phase phase, int64_t step, models::Model& model, Episodes& episodes)> spoil = {};
  const std::atomic<bool>* interrupt = nullptr;
  int interrupted_rank = -1;  // the only rank that receives the interrupt; -1: all ranks
  // Called on every rank in place of Learner::Run. Null: the learner runs.
  std::function<absl::Status(StepContext& step_context)> instead = {};
};

// Runs the learner and returns the status that the ranks agree on.
absl::Status RunLearner(const Config& config, const RunOptions& how, Outcome* outcome);

// Expects the same records and checkpoints, bit for bit.
void ExpectSame(const Outcome& a, const Outcome& b);

// Returns a metric of a record; NaN if it has no metric of that name.
double GetMetric(const StepRecord& record, absl::string_view name);

}  // namespace reprise::rl::testing

#endif  // RL_LEARNER_TESTS_LEARNER_TESTING_H_
