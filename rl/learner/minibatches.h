#ifndef RL_LEARNER_MINIBATCHES_H_
#define RL_LEARNER_MINIBATCHES_H_

// The minibatches of a step, and what an update needs from all completions of its minibatch.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/comm/communicator.h"
#include "rl/gradient/step_gradient.h"
#include "rl/gradient/step_loss.h"
#include "rl/learner/step_context.h"
#include "rl/schedule/loader.h"
#include "rl/schedule/minibatches.h"

namespace reprise::rl {

// What one minibatch is dealt of a step.
struct MinibatchPart {
  std::vector<int64_t> episodes = {};  // indices of the step's episodes, by prompt, then sample, ascending
  // With minibatches_of decisions: the minibatch's own decisions of each of these episodes, as indices among its
  // learned ones, ascending. Empty: all of them.
  std::vector<std::vector<int64_t>> decisions = {};

  bool has_decisions() const { return !decisions.empty(); }
};

// Deals the episodes of all ranks, or their decisions, to the step's minibatches, one epoch per iteration. The same on
// every rank. Invalid episodes are dealt too, with weight 0, so that the others keep their places in every sum. Of
// decisions, those that count are dealt; a step without any has one minibatch of all its episodes.
class MinibatchSampler {
 public:
  static absl::StatusOr<MinibatchSampler> Create(const StepShape& shape, const StepAdvantages& advantages,
                                                 const UpdateOptions& options, uint64_t seed);

  // Returns the minibatches of an iteration; every iteration has as many. Pure.
  std::vector<MinibatchPart> Sample(int64_t iteration) const;

  // Returns what is reported where single episodes are dealt.
  std::optional<LoaderStats> stats() const;

 private:
  MinibatchSampler(const UpdateOptions& options, EpisodeLoader loader, std::vector<int64_t> decisions_N, uint64_t seed,
                   uint64_t step)
      : options_(options), loader_(std::move(loader)), decisions_N_(std::move(decisions_N)), seed_(seed), step_(step) {}

  UpdateOptions options_;
  EpisodeLoader loader_;              // of whole episodes
  std::vector<int64_t> decisions_N_;  // that count, of each episode
  uint64_t seed_, step_;
};

// What one update is made of.
struct Minibatch {
  MinibatchPart part = {};
  std::vector<ShardInput> inputs = {};  // this rank's part of the episodes
  // By episode of this rank, where decisions are dealt: which of its positions are the minibatch's own. Empty where
  // episodes are dealt whole.
  std::vector<std::vector<uint8_t>> mask_NT = {};
  int64_t rows = 0;  // that a pass over the whole minibatch computes
  float temperature = 1;
  UpdateContext context = {};
  int64_t iteration = 0;
  bool must_learn = false;  // a gradient of 0 is an error
  // Whether any token counts. Otherwise the passes only check the sampled log-probabilities, and the optimizer makes no
  // step, which would move the weights by its moments, its decay and the routers' balance.
  bool learns = true;

  // Returns the mask of this rank's episode `at`, in place of its learned positions; empty: these.
  absl::Span<const uint8_t> EpisodeMask(size_t at) const {
    return mask_NT.empty() ? absl::Span<const uint8_t>() : absl::MakeConstSpan(mask_NT[at]);
  }
};

// Where an update stands among those of its step.
struct UpdatePlace {
  int64_t iteration = 0;
  int64_t num_mini_batches = 1;  // of the iteration
  bool is_first = false;         // no update of the step precedes it
};

// Returns the minibatch of this part. Collective.
absl::StatusOr<Minibatch> MakeMinibatch(const StepPlan& plan, const StepAdvantages& advantages, const StepBatch& batch,
                                        MinibatchPart part, const UpdatePlace& place, StepContext* step_context);

// Returns the mean k3 of the minibatch that was just evaluated, from the outcomes of this rank's episodes. Collective;
// the same bits on any number of ranks.
absl::StatusOr<double> ApproxKlOfMinibatch(Communicator& comm, const StepShape& shape,
                                           absl::Span<const EpisodeOutcome> outcome_N,
                                           absl::Span<const int64_t> episodes);

}  // namespace reprise::rl

#endif  // RL_LEARNER_MINIBATCHES_H_
