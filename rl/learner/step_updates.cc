#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/learner/stages.h"
#include "rl/schedule/minibatches.h"

namespace reprise::rl {
namespace {

struct UpdateRate {
  double learning_rate = 0;
  absl::string_view key;  // that it comes from
  double target_kl = 0;   // 0: never stops early
  EarlyStop target_kl_of = EarlyStop::kMinibatch;
};

// Keeps the outcomes of the minibatch's episodes of this rank: in place of those of an earlier iteration, or beside
// those of the same one, in which other decisions of the episode counted.
void KeepOutcomes(const Minibatch& minibatch, const std::vector<EpisodeOutcome>& outcome_N, StepUpdates* updates) {
  for (const ShardInput& input : minibatch.inputs) {
    for (const EpisodeGroup& group : input) {
      for (const int64_t index : group.index_G) {
        const size_t at = static_cast<size_t>(index);
        if (updates->iteration_N[at] == minibatch.iteration) {
          AddOutcome(outcome_N[at], &updates->outcome_N[at]);
        } else {
          updates->outcome_N[at] = outcome_N[at];
        }
        updates->iteration_N[at] = minibatch.iteration;
      }
    }
  }
}

// Returns the updates of a batch before the first one.
StepUpdates NoUpdates(const StepBatch& batch) {
  StepUpdates updates;
  updates.outcome_N.resize(batch.episode_N.size());
  updates.iteration_N.assign(batch.episode_N.size(), -1);
  return updates;
}

// Applies the update. With qk_clip_threshold it is followed by QK-clip, which adds its metrics.
absl::Status ApplyUpdate(const UpdateRate& rate, const GradientResult& gradient, StepContext* step_context,
                         StepUpdates* updates) {
  const double threshold = step_context->parts.config.optimizer.qk_clip_threshold;
  if (threshold == 0) return step_context->updater.Apply(gradient.norm, rate.learning_rate, rate.key);
  int64_t heads = 0;
  RETURN_IF_ERROR(step_context->updater.Apply(gradient.norm, rate.learning_rate, rate.key, [&] {
    heads = step_context->parts.policy().ClipAttention(gradient.largest_logits, threshold);
  }));
  const auto largest = std::max_element(gradient.largest_logits.begin(), gradient.largest_logits.end());
  updates->policy_metrics.emplace_back("qk_clip/heads", static_cast<double>(heads));
  if (largest != gradient.largest_logits.end()) {
    updates->policy_metrics.emplace_back("qk_clip/largest_logit", static_cast<double>(*largest));
  }
  return absl::OkStatus();
}

// Sets the policy's own metrics to their means over the minibatches of the iteration so far, as `loss` is a mean.
void KeepMetrics(const Minibatch& minibatch, Metrics of_minibatch, StepUpdates* updates) {
  std::vector<Metrics>& all = updates->metrics_of_minibatch;
  if (std::exchange(updates->metrics_iteration, minibatch.iteration) != minibatch.iteration) all.clear();
  all.push_back(std::move(of_minibatch));
  updates->policy_metrics = all.front();
  for (size_t m = 0; m < updates->policy_metrics.size(); ++m) {
    std::vector<double> values;
    for (const Metrics& metrics : all) values.push_back(metrics[m].second);
    updates->policy_metrics[m].second = kernels::TreeSum(values) / static_cast<double>(values.size());
  }
}

// Returns false if the policy has moved beyond target_kl: then no weight was changed, and the caller must not make
// further updates in this step.
absl::StatusOr<bool> UpdatePolicy(const UpdateRate& rate, const Minibatch& minibatch, const Objective& objective,
                                  const StepBatch& batch, StepContext* step_context, StepUpdates* updates) {
  if (!std::isfinite(rate.learning_rate)) {
    return absl::InternalError(absl::StrCat("the learning rate is ", rate.learning_rate));
  }
  const PassTotals totals = {batch.counts.rows, minibatch.rows, batch.counts.count_C, minibatch.learns};
  std::vector<EpisodeOutcome> outcome_N(batch.episode_N.size());
  const UpdateLosses losses = objective.MakeLosses(minibatch, absl::MakeSpan(outcome_N));
  const bool clips_attention = step_context->parts.config.optimizer.qk_clip_threshold > 0;
  ASSIGN_OR_RETURN(
      const GradientResult gradient,
      step_context->updater.gradient().Compute(minibatch.inputs, {minibatch.temperature, totals, losses.policy,
                                                                  losses.values, losses.reference, clips_attention}));
  if (minibatch.must_learn && gradient.norm < std::numeric_limits<float>::min()) {
    return absl::InternalError(absl::StrCat("the gradient is ", gradient.norm,
                                            " everywhere although episodes have advantages: the model cannot learn "
                                            "as it is; no weight was changed"));
  }
  KeepOutcomes(minibatch, outcome_N, updates);
  if (minibatch.context.first) updates->first_outcome_N = outcome_N;
  if (minibatch.learns) updates->grad_norm = gradient.norm;
  KeepMetrics(minibatch, step_context->parts.policy().OwnMetrics(totals, gradient.sum_M), updates);
  updates->passes += gradient.counts;
  if (!minibatch.learns) return true;
  if (rate.target_kl > 0) {
    ASSIGN_OR_RETURN(const double approx_kl,
                     ApproxKlOfMinibatch(step_context->parts.comm, batch.shape, outcome_N, minibatch.part.episodes));
    if (rate.target_kl_of == EarlyStop::kMinibatch && StopsEarly(approx_kl, rate.target_kl)) return false;
    updates->approx_kls.push_back(approx_kl);
  }
  RETURN_IF_ERROR(ApplyUpdate(rate, gradient, step_context, updates));
  return true;
}

bool EndsAfterIteration(const UpdateOptions& options, const StepUpdates& updates) {
  if (options.target_kl_of != EarlyStop::kIteration || updates.approx_kls.empty()) return false;
  const double mean = kernels::TreeSum(updates.approx_kls) / static_cast<double>(updates.approx_kls.size());
  return StopsEarly(mean, options.target_kl);
}

}  // namespace

absl::StatusOr<StepUpdates> UpdateByMinibatches(const StepPlan& plan, const StepAdvantages& advantages,
                                                const Objective& objective, const StepBatch& batch,
                                                StepContext* step_context) {
  step_context->Enter(StepStage::kUpdate, batch.shape);
  const UpdateOptions& options = plan.algorithm.update;
  const UpdateRate rate = {plan.learning_rate, "optimizer.learning_rate", options.target_kl, options.target_kl_of};
  const uint64_t seed = static_cast<uint64_t>(step_context->parts.config.run.seed);
  ASSIGN_OR_RETURN(const MinibatchSampler sampler, MinibatchSampler::Create(batch.shape, advantages, options, seed));
  StepUpdates updates = NoUpdates(batch);
  updates.loader = sampler.stats();
  bool is_first = true;
  for (int64_t iteration = 0; iteration < options.num_iterations; ++iteration) {
    std::vector<MinibatchPart> parts = sampler.Sample(iteration);
    updates.num_mini_batches = static_cast<int64_t>(parts.size());
    for (MinibatchPart& part : parts) {
      const UpdatePlace place = {iteration, updates.num_mini_batches, std::exchange(is_first, false)};
      ASSIGN_OR_RETURN(const Minibatch minibatch,
                       MakeMinibatch(plan, advantages, batch, std::move(part), place, step_context));
      ASSIGN_OR_RETURN(const bool continues, UpdatePolicy(rate, minibatch, objective, batch, step_context, &updates));
      if (!continues) return updates;
      if (minibatch.learns) updates.iterations = iteration + 1;
    }
    if (EndsAfterIteration(options, updates)) break;
    updates.approx_kls.clear();
  }
  return updates;
}

absl::StatusOr<StepUpdates> UpdateByAnswers(const Objective& objective, const StepBatch& batch,
                                            StepContext* step_context) {
  step_context->Enter(StepStage::kUpdate, batch.shape);
  const UpdateRate rate = {step_context->parts.config.sft.learning_rate, "sft.learning_rate"};
  StepUpdates updates = NoUpdates(batch);
  Minibatch whole = {.inputs = step_context->ShardInputs(batch), .rows = batch.counts.rows};
  whole.context.first = true;
  RETURN_IF_ERROR(UpdatePolicy(rate, whole, objective, batch, step_context, &updates).status());
  return updates;
}

}  // namespace reprise::rl
