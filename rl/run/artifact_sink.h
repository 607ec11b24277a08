#ifndef RL_RUN_ARTIFACT_SINK_H_
#define RL_RUN_ARTIFACT_SINK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "core/io/file_system.h"
#include "data/artifact/format/run_header.h"
#include "data/artifact/run_writer.h"
#include "rl/config/config.h"
#include "rl/record/recorded.h"
#include "rl/record/step_sink.h"
#include "rl/workload/run_parts.h"

namespace reprise::rl {

// Returns the header of a run's artifact, which is written before the first step.
RunHeader HeaderOf(const Config& config, const RunParts& parts);

// Returns options for one segment per execution.commit_every steps.
RunWriterOptions MakeRunWriterOptions(const Config& config);

// Where a run is written. All references must outlive the sink.
struct RunOutput {
  FileSystem& files;
  std::string directory;
  RunHeader header;
  RunWriter& writer;
  std::function<double()> clock;                            // seconds from any origin
  std::function<absl::Status(const StepTables&)> observer;  // progress, metrics.jsonl: called after each step
};

// Writes steps and checkpoints into a run's artifact, makes them durable within five seconds, and keeps the newest two
// states, saved every execution.save_every steps or every two minutes (more often in the first minutes, less often
// where saving takes long).
class ArtifactSink : public StepSink {
 public:
  ArtifactSink(const Config& config, RunOutput output);

  absl::StatusOr<bool> Commit(const StepTables& step) override;
  bool WantsCheckpoint(Phase phase, int64_t step, bool is_over) override {
    return is_over || HasCheckpoint(config_, phase, step);
  }
  absl::Status Checkpoint(const PolicyState& state) override;
  bool WantsState(Phase phase, int64_t step, bool ends) override;
  absl::Status SaveState(const PolicyState& state) override;

  int64_t states() const { return states_; }  // number saved

 private:
  const Config config_;
  const RunOutput output_;
  const double begin_;
  double last_commit_, last_save_;
  double save_cost_ = 0;  // seconds that the last save took
  int64_t states_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_RUN_ARTIFACT_SINK_H_
