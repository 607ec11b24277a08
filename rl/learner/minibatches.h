#ifndef RL_LEARNER_MINIBATCHES_H_
#define RL_LEARNER_MINIBATCHES_H_

// The minibatches of a step, and what an update needs from all completions of its minibatch.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "rl/gradient/step_gradient.h"
#include "rl/gradient/step_loss.h"
#include "rl/learner/step_tools.h"
#include "rl/schedule/loader.h"

namespace reprise::rl {

// Deals the episodes of all ranks into the step's minibatches, one epoch per iteration; their ids are indices by
// prompt, then sample. Returns the same on every rank. Invalid episodes are dealt too, with weight 0, so that the
// others keep their places in every sum.
absl::StatusOr<EpisodeLoader> LoaderOf(const StepShape& shape, const StepAdvantages& advantages,
                                       const UpdateOptions& options, uint64_t seed);

// What one update is made of.
struct Minibatch {
  std::vector<int64_t> episodes = {};   // indices of the step's episodes, by prompt, then sample
  std::vector<ShardInput> inputs = {};  // this rank's part of them
  int64_t rows = 0;                     // that a pass over the whole minibatch computes
  float temperature = 1;
  UpdateContext context = {};
  bool must_learn = false;  // a gradient of 0 is an error
  // Whether any token counts. Otherwise the passes only check the sampled log-probabilities, and the optimizer makes no
  // step, which would move the weights by its moments, its decay and the routers' balance.
  bool learns = true;
};

// Returns the minibatch of these episodes; `is_first`: no update of the step precedes it. Collective.
absl::StatusOr<Minibatch> MinibatchOf(const StepPlan& plan, const StepAdvantages& advantages, const StepBatch& batch,
                                      std::vector<int64_t> episodes, bool is_first, StepTools* tools);

// Returns the mean k3 of the minibatch that was just evaluated, from the outcomes of this rank's episodes. Collective;
// the same bits on any number of ranks.
absl::StatusOr<double> ApproxKlOfMinibatch(Communicator& comm, const StepShape& shape,
                                           absl::Span<const EpisodeOutcome> outcome_N,
                                           absl::Span<const int64_t> episodes);

}  // namespace reprise::rl

#endif  // RL_LEARNER_MINIBATCHES_H_
