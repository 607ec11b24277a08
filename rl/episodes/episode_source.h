#ifndef RL_EPISODES_EPISODE_SOURCE_H_
#define RL_EPISODES_EPISODE_SOURCE_H_

// Where a step's episodes come from: sampled by the policy, copied from solved problems, or replayed from an artifact.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "rl/record/completions/completion_record.h"
#include "rl/record/step_record.h"

namespace reprise::rl {

struct Episodes {
  std::vector<EpisodeRecord> episode_N;  // for this rank's prompts, in order; the samples of a prompt are adjacent
  // How often each expert was chosen over all layers and rows of this rank; empty when this was not counted.
  std::vector<int64_t> expert_count_LE;
};

class EpisodeSource {
 public:
  virtual ~EpisodeSource() = default;
  // Returns the episodes for this rank's tasks of a step. They have their tokens; rewards and advantages are set later.
  virtual absl::StatusOr<Episodes> Draw(Phase phase, int64_t step, const std::vector<TaskRecord>& tasks) = 0;

  // Returns the stored replies of the external process in the evaluations that this training step reports, for all
  // ranks' problems. The step must be the one that was drawn last. Null: nothing is stored, and the caller must call
  // the process.
  virtual const std::vector<EvaluationReply>* StoredEvaluation(int64_t /*step*/) const { return nullptr; }

  // Returns how many completions took over the decode slot of a finished one, over all steps.
  virtual int64_t refills() const { return 0; }
};

}  // namespace reprise::rl

#endif  // RL_EPISODES_EPISODE_SOURCE_H_
