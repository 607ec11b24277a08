#include "rl/learner/step_context.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/status/status_macros.h"

namespace reprise::rl {
namespace {

// Appends the episodes, all of one prompt, as a group.
void AppendGroup(const StepBatch& batch, absl::Span<const int64_t> episodes, ShardInput* input) {
  const StepShape& shape = batch.shape;
  const int64_t p = episodes[0] / shape.generations - shape.first_prompt;
  EpisodeGroup group;
  group.task = &batch.task_P[p];
  group.step = shape.number;
  group.phase = shape.phase;
  for (const int64_t episode : episodes) {
    group.index_G.push_back(episode - shape.first_prompt * shape.generations);
    group.episode_G.push_back(&batch.episode_N[group.index_G.back()]);
  }
  input->push_back(std::move(group));
}

ExchangeOptions MakeExchangeOptions(const Config& config) {
  return {config.run.reduction == Reduction::kFast, config.execution.overlap, config.execution.exchange_floats};
}

}  // namespace

absl::StatusOr<std::unique_ptr<StepContext>> StepContext::Create(const LearnerDeps& parts) {
  ASSIGN_OR_RETURN(const ShardMap shards,
                   ShardMap::Create(static_cast<int>(parts.config.run.logical_shards), parts.comm.size()));
  ASSIGN_OR_RETURN(const Choices choices, ResolveChoices(parts.config));
  return std::make_unique<StepContext>(parts, shards, choices);
}

StepContext::StepContext(const LearnerDeps& all_parts, const ShardMap& shard_map, const Choices& all_choices)
    : parts(all_parts),
      shards(shard_map),
      choices(all_choices),
      updater(parts.policy(), shards, MakeOptimizer(parts.config.optimizer), parts.config.optimizer.max_grad_norm,
              {parts.config.execution.micro_batch_tokens, parts.config.execution.activation_checkpointing},
              MakeExchangeOptions(parts.config), parts.comm, parts.pool) {}

void StepContext::BeginTraining() {
  updater.Reset();
  parts.policy().StartValueFunction(parts.pool);
  if (NeedsReference(choices.algorithm)) reference = parts.policy().FrozenCopy();
}

StepShape StepContext::MakeStepShape(Phase phase, int64_t number, int64_t prompts, int64_t generations) const {
  const int first_shard = shards.ShardsOf(parts.comm.rank()).begin;
  return {phase, number, prompts, generations, FirstPromptOfShard(prompts, shards.shards(), first_shard)};
}

std::vector<ShardInput> StepContext::ShardInputs(const StepBatch& batch, absl::Span<const int64_t> episodes) const {
  const StepShape& shape = batch.shape;
  const ShardRange range = shards.ShardsOf(parts.comm.rank());
  const auto first_of = [&](int shard) {
    const int64_t first = FirstPromptOfShard(shape.prompts, shards.shards(), shard) * shape.generations;
    return std::lower_bound(episodes.begin(), episodes.end(), first);
  };
  std::vector<ShardInput> inputs;
  for (int shard = range.begin; shard < range.end; ++shard) {
    ShardInput input;
    const auto end = first_of(shard + 1);
    for (auto begin = first_of(shard); begin != end;) {
      const int64_t prompt = *begin / shape.generations;
      const auto next = std::find_if(begin, end, [&](int64_t n) { return n / shape.generations != prompt; });
      AppendGroup(batch,
                  episodes.subspan(static_cast<size_t>(begin - episodes.begin()), static_cast<size_t>(next - begin)),
                  &input);
      begin = next;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

void StepContext::Score(const Policy& policy, const std::vector<ShardInput>& inputs, const EpisodeScores& receive) {
  updater.gradient().ForEachShard(inputs, [&](const ShardInput& input, PassWorkspace* workspace) {
    policy.Score(input, temperature(), receive, workspace);
  });
}

std::vector<ShardInput> StepContext::ShardInputs(const StepBatch& batch) const {
  std::vector<int64_t> episodes(static_cast<size_t>(batch.shape.prompts * batch.shape.generations));
  std::iota(episodes.begin(), episodes.end(), 0);
  return ShardInputs(batch, episodes);
}

}  // namespace reprise::rl
