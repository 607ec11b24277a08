#ifndef RL_RUN_VERIFY_SINK_H_
#define RL_RUN_VERIFY_SINK_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/artifact/run_reader.h"
#include "rl/config/config.h"
#include "rl/record/divergence.h"
#include "rl/record/step_sink.h"

namespace reprise::rl {

// Compares computed steps and checkpoints with stored ones and stops at the first difference. Data that the
// configuration requires and the run lacks is a difference too; CheckComplete reports data that the run contains beyond
// that.
class VerifySink : public StepSink {
 public:
  // `stored` are the steps of `run`; both must outlive this. `observer` is called with every step that was equal. Of a
  // run that is not finished, the checkpoints that it has are compared.
  VerifySink(const Config& config, const RunReader& run, bool is_finished, const std::vector<StepTables>& stored,
             std::vector<std::string> tensor_names, std::function<void(const StepTables&)> observer);

  absl::StatusOr<bool> Commit(const StepTables& step) override;
  bool WantsCheckpoint(Phase phase, int64_t step, bool is_over) override;
  // Returns errors of reading the stored checkpoint: NotFound when its file is not next to the run.
  absl::Status Checkpoint(const PolicyState& state) override;
  bool WantsState(Phase, int64_t, bool) override { return false; }
  absl::Status SaveState(const PolicyState& state) override;

  // Called after the last step: DataLoss, naming the first part of the run that was compared with nothing, if there is
  // any. OK after a difference, since the rest was not compared.
  absl::Status CheckComplete() const;

  const std::optional<Divergence>& divergence() const { return divergence_; }
  int64_t steps_checked() const { return static_cast<int64_t>(compared_steps_.size()); }

 private:
  absl::Status CompareCheckpoint(int64_t step, const TensorGroup& computed);

  const Config config_;
  const RecordSchema schema_;
  const RunReader& run_;
  const std::vector<StepTables>& stored_;
  const std::vector<std::string> tensor_names_;
  const std::function<void(const StepTables&)> observer_;
  std::optional<Divergence> divergence_;
  std::set<std::pair<Phase, int64_t>> compared_steps_;
  std::set<std::pair<int64_t, std::string>> compared_groups_;  // step number, group name
  std::set<int64_t> checkpoints_;                              // training steps of the compared ones
  bool ends_in_sft_ = false;                                   // as the steps of an unfinished run may
};

}  // namespace reprise::rl

#endif  // RL_RUN_VERIFY_SINK_H_
