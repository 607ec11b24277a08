#ifndef RL_RUN_VERIFY_SINK_H_
#define RL_RUN_VERIFY_SINK_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rl/learner/divergence.h"
#include "rl/learner/step_sink.h"

namespace reprise::rl {

// Compares computed steps with stored ones and stops at the first difference.
class VerifySink : public StepSink {
 public:
  // `stored` must outlive this; `observer` sees every step that agreed.
  VerifySink(const std::vector<StepRecord>& stored, std::vector<std::string> tensor_names,
             std::function<void(const StepRecord&)> observer);

  absl::StatusOr<bool> Commit(const StepRecord& record) override;
  bool WantsCheckpoint(Phase, int64_t) override { return false; }
  absl::Status Checkpoint(int64_t, absl::Span<const TensorView>, absl::Span<const TensorView>,
                          absl::Span<const TensorView>) override;

  const std::optional<Divergence>& divergence() const { return divergence_; }
  int64_t steps_checked() const { return steps_checked_; }

 private:
  std::map<std::pair<Phase, int64_t>, const StepRecord*> stored_;
  const std::vector<std::string> tensor_names_;
  const std::function<void(const StepRecord&)> observer_;
  std::optional<Divergence> divergence_;
  int64_t steps_checked_ = 0;
};

}  // namespace reprise::rl

#endif  // RL_RUN_VERIFY_SINK_H_
