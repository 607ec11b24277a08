#include "rl/learner/minibatches.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/comm/collectives.h"
#include "core/comm/gather_rows.h"
#include "core/status/status_macros.h"
#include "rl/loss/loss_metrics.h"
#include "rl/loss/sequence.h"
#include "rl/record/decisions.h"

namespace reprise::rl {
namespace {

using LossInfos = std::vector<EpisodeLossInfo>;

// Returns the index among this rank's episodes of episode n of the step; nullopt for another rank's.
std::optional<size_t> FindOwnIndex(int64_t n, const StepShape& shape, size_t own_episodes) {
  const int64_t index = n - shape.first_prompt * shape.generations;
  if (index < 0 || index >= static_cast<int64_t>(own_episodes)) return std::nullopt;
  return static_cast<size_t>(index);
}

// Returns how many tokens of each of the part's episodes count in it.
std::vector<SequenceSize> CountSequenceTokens(const LossInfos& loss_info_N, const MinibatchPart& part) {
  std::vector<SequenceSize> sizes;
  for (size_t i = 0; i < part.episodes.size(); ++i) {
    SequenceSize& size = sizes.emplace_back(loss_info_N[part.episodes[i]].size);
    if (part.has_decisions()) size.num_tokens = static_cast<int64_t>(part.decisions[i].size());
  }
  return sizes;
}

LossNormalizer NormalizerOfMinibatch(const LossInfos& loss_info_N, const std::vector<SequenceSize>& sizes,
                                     int64_t num_mini_batches) {
  int64_t sampled = 0;
  for (const EpisodeLossInfo& info : loss_info_N) sampled += info.size.weight == 0 ? 0 : info.size.num_tokens;
  return MakeNormalizer(sizes, static_cast<double>(sampled), num_mini_batches);
}

// Returns whether any token counts; otherwise there is nothing to learn.
bool HasTokens(const std::vector<SequenceSize>& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const SequenceSize& size) { return size.num_tokens > 0; });
}

// Returns, by episode of this rank, which of its positions are the part's own; empty where episodes are dealt whole.
std::vector<std::vector<uint8_t>> MakeEpisodeMasks(const MinibatchPart& part, const StepBatch& batch) {
  std::vector<std::vector<uint8_t>> mask_NT(part.has_decisions() ? batch.episode_N.size() : 0);
  for (size_t i = 0; i < part.decisions.size(); ++i) {
    const std::optional<size_t> at = FindOwnIndex(part.episodes[i], batch.shape, batch.episode_N.size());
    if (!at) continue;
    const Decisions& decisions = batch.episode_N[*at].decisions;
    std::vector<uint8_t>& mask_T = mask_NT[*at];
    mask_T.assign(static_cast<size_t>(decisions.count), 0);
    auto own = part.decisions[i].begin();
    int64_t learned = 0;  // decisions before t
    for (size_t t = 0; t < mask_T.size() && own != part.decisions[i].end(); ++t) {
      if (!decisions.learned_T.empty() && decisions.learned_T[t] == 0) continue;
      if (learned++ != *own) continue;
      mask_T[t] = 1;
      ++own;
    }
  }
  return mask_NT;
}

// Returns whether any token that counts in the minibatch has an advantage other than 0. Collective where decisions are
// dealt, because each rank knows the advantages of its own.
absl::StatusOr<bool> HasAdvantage(const StepAdvantages& advantages, const StepBatch& batch, const Minibatch& minibatch,
                                  Communicator& comm) {
  const std::vector<int64_t>& episodes = minibatch.part.episodes;
  if (!minibatch.part.has_decisions()) {
    return std::any_of(episodes.begin(), episodes.end(),
                       [&](int64_t n) { return advantages.loss_info_N[n].has_advantage; });
  }
  std::vector<int64_t> any = {0};
  for (size_t at = 0; at < minibatch.mask_NT.size(); ++at) {
    const EpisodeRecord& episode = batch.episode_N[at];
    const std::vector<uint8_t>& mask_T = minibatch.mask_NT[at];
    for (size_t t = 0; t < mask_T.size(); ++t) {
      const double advantage = episode.advantage_T.empty() ? episode.advantage : episode.advantage_T[t];
      if (mask_T[t] != 0 && advantage != 0) any[0] = 1;
    }
  }
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(any)));
  return any[0] == 1;
}

std::vector<double> Counted(const std::vector<double>& value_T, absl::Span<const uint8_t> mask_T) {
  if (mask_T.empty()) return value_T;
  std::vector<double> counted;
  for (size_t t = 0; t < value_T.size(); ++t) {
    if (mask_T[t] != 0) counted.push_back(value_T[t]);
  }
  return counted;
}

// Returns the entropy below which the minibatch's tokens are left out of the policy term (rl/loss/sequence.h),
// from a forward pass. Collective; the same bits on any number of ranks.
absl::StatusOr<double> EntropyThreshold(double top_entropy_quantile, const LossInfos& loss_info_N,
                                        const StepBatch& batch, const Minibatch& minibatch, StepContext* step_context) {
  std::vector<std::vector<double>> entropy_NT(batch.episode_N.size());
  step_context->Score(step_context->parts.policy(), minibatch.inputs,
                      [&](int64_t episode, absl::Span<const float>, absl::Span<const float> entropy_T) {
                        entropy_NT[episode].assign(entropy_T.begin(), entropy_T.end());
                      });
  std::vector<double> mine;
  for (size_t i = 0; i < entropy_NT.size(); ++i) {
    const EpisodeRecord& episode = batch.episode_N[i];
    if (loss_info_N[batch.shape.PlaceOf(episode)].masked) continue;
    const std::vector<double> counted =
        Counted(entropy_NT[i], minibatch.part.has_decisions() ? minibatch.EpisodeMask(i) : episode.decisions.learned_T);
    mine.insert(mine.end(), counted.begin(), counted.end());
  }
  ASSIGN_OR_RETURN(const std::vector<double> entropies, AllgatherRows(step_context->parts.comm, std::move(mine)));
  return TopEntropyThreshold(entropies, top_entropy_quantile);
}

// Returns the number of rows that a pass over the minibatch computes on all ranks. Collective, unless its episodes are
// dealt whole and are all of the step's.
absl::StatusOr<int64_t> RowsOf(const StepBatch& batch, const Minibatch& minibatch, const LearnerDeps& parts) {
  const int64_t episodes = static_cast<int64_t>(minibatch.part.episodes.size());
  const bool is_whole = episodes == batch.shape.prompts * batch.shape.generations;
  if (is_whole && !minibatch.part.has_decisions()) return batch.counts.rows;
  std::vector<int64_t> rows = {0};
  for (const ShardInput& input : minibatch.inputs) rows[0] += parts.policy().RowsOf(input);
  RETURN_IF_ERROR(AllreduceSum(parts.comm, absl::MakeSpan(rows)));
  return rows[0];
}

}  // namespace

absl::StatusOr<MinibatchSampler> MinibatchSampler::Create(const StepShape& shape, const StepAdvantages& advantages,
                                                          const UpdateOptions& options, uint64_t seed) {
  EpisodeBatch::Arrays arrays;
  std::vector<int64_t> decisions_N;
  for (size_t n = 0; n < advantages.loss_info_N.size(); ++n) {
    const int64_t id = static_cast<int64_t>(n);
    arrays.id_N.push_back(id);
    arrays.group_N.push_back(id / shape.generations);
    arrays.turns_N.push_back(advantages.loss_info_N[n].turns);
    arrays.is_valid_N.push_back(advantages.loss_info_N[n].is_dropped ? 0 : 1);
    decisions_N.push_back(advantages.loss_info_N[n].size.num_tokens);
  }
  arrays.reward_N = advantages.reward_N;
  ASSIGN_OR_RETURN(EpisodeBatch episodes, EpisodeBatch::Create(std::move(arrays)));
  LoaderOptions whole = {
      .whole_groups = options.unit == MinibatchUnit::kGroup, .filter_invalid = false, .allows_fewer_than_two = true};
  if (options.unit == MinibatchUnit::kDecision) {
    whole.num_batches = 1;  // for a step without decisions to deal
  } else if (options.mini_batch_size > 0) {
    whole.batch_size = options.mini_batch_size;
  } else {
    whole.num_batches = options.num_mini_batches;
  }
  const uint64_t step = static_cast<uint64_t>(shape.number);
  ASSIGN_OR_RETURN(EpisodeLoader loader, EpisodeLoader::Create(std::move(episodes), whole, seed, step));
  return MinibatchSampler(options, std::move(loader), std::move(decisions_N), seed, step);
}

std::vector<MinibatchPart> MinibatchSampler::Sample(int64_t iteration) const {
  std::vector<MinibatchPart> parts;
  if (options_.unit == MinibatchUnit::kDecision) {
    for (std::vector<DecisionSubset>& dealt : SplitDecisions(decisions_N_, options_, seed_, step_, iteration)) {
      MinibatchPart& part = parts.emplace_back();
      for (DecisionSubset& episode : dealt) {
        part.episodes.push_back(episode.episode);
        part.decisions.push_back(std::move(episode.decisions));
      }
    }
  }
  if (!parts.empty()) return parts;
  for (const EpisodeBatch& episodes : loader_.Batches(iteration)) parts.push_back({.episodes = episodes.id_N()});
  return parts;
}

std::optional<LoaderStats> MinibatchSampler::stats() const {
  if (options_.unit != MinibatchUnit::kEpisode) return std::nullopt;
  return loader_.stats();
}

absl::StatusOr<Minibatch> MakeMinibatch(const StepPlan& plan, const StepAdvantages& advantages, const StepBatch& batch,
                                        MinibatchPart part, const UpdatePlace& place, StepContext* step_context) {
  const LossOptions& loss = plan.algorithm.loss;
  const LossInfos& loss_info_N = advantages.loss_info_N;
  Minibatch minibatch = {.part = std::move(part), .iteration = place.iteration};
  const std::vector<SequenceSize> sizes = CountSequenceTokens(loss_info_N, minibatch.part);
  minibatch.inputs = step_context->ShardInputs(batch, minibatch.part.episodes);
  minibatch.mask_NT = MakeEpisodeMasks(minibatch.part, batch);
  ASSIGN_OR_RETURN(minibatch.rows, RowsOf(batch, minibatch, step_context->parts));
  minibatch.temperature = step_context->temperature();
  minibatch.learns = HasTokens(sizes);
  // In the first update clipping cannot cause a gradient of 0, but the entropy mask can: it may leave only tokens of
  // episodes without an advantage.
  if (place.is_first && loss.top_entropy_quantile >= 1) {
    ASSIGN_OR_RETURN(minibatch.must_learn, HasAdvantage(advantages, batch, minibatch, step_context->parts.comm));
  }
  UpdateContext& context = minibatch.context;
  context.first = place.is_first;
  context.options = loss;
  context.compares_with_sampling = step_context->is_exact();
  context.normalizer = NormalizerOfMinibatch(loss_info_N, sizes, place.num_mini_batches);
  if (loss.top_entropy_quantile < 1) {
    ASSIGN_OR_RETURN(context.entropy_threshold,
                     EntropyThreshold(loss.top_entropy_quantile, loss_info_N, batch, minibatch, step_context));
  }
  return minibatch;
}

absl::StatusOr<double> ApproxKlOfMinibatch(Communicator& comm, const StepShape& shape,
                                           absl::Span<const EpisodeOutcome> outcome_N,
                                           absl::Span<const int64_t> episodes) {
  std::vector<SequenceLossMetrics> mine;
  for (const int64_t n : episodes) {
    const std::optional<size_t> at = FindOwnIndex(n, shape, outcome_N.size());
    if (at) mine.push_back(outcome_N[*at].metrics);
  }
  ASSIGN_OR_RETURN(const std::vector<SequenceLossMetrics> metrics_N, AllgatherRows(comm, std::move(mine)));
  return ApproxKl(metrics_N);
}

}  // namespace reprise::rl
