#include "rl/learner/minibatches.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "rl/loss/loss_metrics.h"
#include "rl/loss/sequence.h"
#include "rl/record/decisions.h"
#include "rl/record/wire.h"

namespace reprise::rl {
namespace {

using Signals = std::vector<EpisodeSignal>;

LossNormalizer NormalizerOfMinibatch(const Signals& signal_N, absl::Span<const int64_t> episodes,
                                     int64_t num_mini_batches) {
  std::vector<SequenceSize> sizes;
  for (const int64_t n : episodes) sizes.push_back(signal_N[static_cast<size_t>(n)].size);
  int64_t sampled = 0;
  for (const EpisodeSignal& signal : signal_N) sampled += signal.size.weight == 0 ? 0 : signal.size.num_tokens;
  return NormalizerOf(sizes, static_cast<double>(sampled), num_mini_batches);
}

// Returns whether any token of the minibatch counts; otherwise there is nothing to learn from it.
bool HasTokens(const Signals& signal_N, absl::Span<const int64_t> episodes) {
  return std::any_of(episodes.begin(), episodes.end(),
                     [&](int64_t n) { return signal_N[static_cast<size_t>(n)].size.num_tokens > 0; });
}

// Returns whether any token that counts has an advantage other than 0.
bool HasAdvantage(const Signals& signal_N, absl::Span<const int64_t> episodes) {
  return std::any_of(episodes.begin(), episodes.end(),
                     [&](int64_t n) { return signal_N[static_cast<size_t>(n)].has_advantage; });
}

std::vector<double> Counted(const std::vector<double>& value_T, const std::vector<uint8_t>& mask_T) {
  if (mask_T.empty()) return value_T;
  std::vector<double> counted;
  for (size_t t = 0; t < value_T.size(); ++t) {
    if (mask_T[t] != 0) counted.push_back(value_T[t]);
  }
  return counted;
}

// Returns the entropy below which the minibatch's tokens are left out of the policy term (rl/loss/sequence.h),
// from a forward pass over `inputs`. Collective; the same bits on any number of ranks.
absl::StatusOr<double> EntropyThreshold(double top_entropy_quantile, const Signals& signal_N, const StepBatch& batch,
                                        const std::vector<ShardInput>& inputs, StepTools* tools) {
  std::vector<std::vector<double>> entropy_NT(batch.episode_N.size());
  tools->Score(tools->parts.policy(), inputs,
               [&](int64_t episode, absl::Span<const float>, absl::Span<const float> entropy_T) {
                 entropy_NT[static_cast<size_t>(episode)].assign(entropy_T.begin(), entropy_T.end());
               });
  WireWriter mine;
  for (size_t i = 0; i < entropy_NT.size(); ++i) {
    const EpisodeRecord& episode = batch.episode_N[i];
    if (signal_N[batch.shape.PlaceOf(episode)].masked) continue;
    mine.PutArray(Counted(entropy_NT[i], episode.decisions.learned_T));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(tools->parts.comm, mine.bytes()));
  std::vector<double> entropies;
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) {
      for (double entropy : reader.GetArray<double>()) entropies.push_back(entropy);
    }
  }
  return TopEntropyThreshold(entropies, top_entropy_quantile);
}

// Returns the number of rows that a pass over `episodes` episodes of the step computes on all ranks.
absl::StatusOr<int64_t> RowsOf(const StepBatch& batch, const std::vector<ShardInput>& inputs, size_t episodes,
                               const LearnerParts& parts) {
  if (static_cast<int64_t>(episodes) == batch.shape.prompts * batch.shape.generations) return batch.counts.rows;
  std::vector<int64_t> rows = {0};
  for (const ShardInput& input : inputs) rows[0] += parts.policy().RowsOf(input);
  RETURN_IF_ERROR(AllreduceSum(parts.comm, absl::MakeSpan(rows)));
  return rows[0];
}

}  // namespace

absl::StatusOr<EpisodeLoader> LoaderOf(const StepShape& shape, const StepAdvantages& advantages,
                                       const UpdateOptions& options, uint64_t seed) {
  EpisodeBatch::Arrays arrays;
  for (size_t n = 0; n < advantages.signal_N.size(); ++n) {
    const int64_t id = static_cast<int64_t>(n);
    arrays.id_N.push_back(id);
    arrays.group_N.push_back(id / shape.generations);
    arrays.turns_N.push_back(advantages.signal_N[n].turns);
    arrays.is_valid_N.push_back(advantages.signal_N[n].is_dropped ? 0 : 1);
  }
  arrays.reward_N = advantages.reward_N;
  ASSIGN_OR_RETURN(EpisodeBatch episodes, EpisodeBatch::Create(std::move(arrays)));
  return EpisodeLoader::Create(std::move(episodes),
                               {.whole_groups = !options.by_episode,
                                .num_batches = options.num_mini_batches,
                                .filter_invalid = false,
                                .allows_fewer_than_two = true},
                               seed, static_cast<uint64_t>(shape.number));
}

absl::StatusOr<Minibatch> MinibatchOf(const StepPlan& plan, const StepAdvantages& advantages, const StepBatch& batch,
                                      std::vector<int64_t> episodes, bool is_first, StepTools* tools) {
  const LossOptions& loss = plan.algorithm.loss;
  const Signals& signal_N = advantages.signal_N;
  Minibatch minibatch = {.episodes = std::move(episodes)};
  minibatch.inputs = tools->InputsOf(batch, minibatch.episodes);
  ASSIGN_OR_RETURN(minibatch.rows, RowsOf(batch, minibatch.inputs, minibatch.episodes.size(), tools->parts));
  minibatch.temperature = tools->temperature();
  minibatch.learns = HasTokens(signal_N, minibatch.episodes);
  // In the first update clipping cannot cause a gradient of 0, but the entropy mask can: it may leave only tokens of
  // episodes without an advantage.
  minibatch.must_learn = is_first && loss.top_entropy_quantile >= 1 && HasAdvantage(signal_N, minibatch.episodes);
  UpdateContext& context = minibatch.context;
  context.first = is_first;
  context.options = loss;
  context.compares_with_sampling = tools->is_exact();
  context.normalizer = NormalizerOfMinibatch(signal_N, minibatch.episodes, plan.algorithm.update.num_mini_batches);
  if (loss.top_entropy_quantile < 1) {
    ASSIGN_OR_RETURN(context.entropy_threshold,
                     EntropyThreshold(loss.top_entropy_quantile, signal_N, batch, minibatch.inputs, tools));
  }
  return minibatch;
}

absl::StatusOr<double> ApproxKlOfMinibatch(Communicator& comm, const StepShape& shape,
                                           absl::Span<const EpisodeOutcome> outcome_N,
                                           absl::Span<const int64_t> episodes) {
  const int64_t first = shape.first_prompt * shape.generations;
  std::vector<SequenceLossMetrics> mine;
  for (const int64_t n : episodes) {
    const int64_t i = n - first;
    if (i >= 0 && i < static_cast<int64_t>(outcome_N.size())) mine.push_back(outcome_N[static_cast<size_t>(i)].metrics);
  }
  WireWriter writer;
  writer.PutArray(mine);
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm, writer.bytes()));
  std::vector<SequenceLossMetrics> metrics_N;
  for (const std::string& bytes : all) {
    const std::vector<SequenceLossMetrics> more = WireReader(bytes).GetArray<SequenceLossMetrics>();
    metrics_N.insert(metrics_N.end(), more.begin(), more.end());
  }
  return ApproxKl(metrics_N);
}

}  // namespace reprise::rl
