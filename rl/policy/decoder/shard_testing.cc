#include "rl/policy/decoder/shard_testing.h"

#include "models/decoder/testing/testing.h"
#include "rl/record/completions/completion_record.h"

namespace reprise::rl::testing {

ExampleShard::ExampleShard(bool tied, models::ValueModel value_model, bool dense, const models::LoraConfig& lora)
    : config(models::testing::SmallConfig()) {
  config.tie_word_embeddings = tied;
  config.value_model = value_model;
  config.lora = lora;
  if (dense) config.num_experts_per_tok = config.num_experts;
  model = models::testing::RandomModel(config, 3);
  for (uint64_t p = 0; p < 3; ++p) {
    prompts.push_back(models::testing::RandomTokens(config, 10 + p, 4 + static_cast<int64_t>(p)));
    completions.emplace_back();
    for (uint64_t g = 0; g < 4; ++g) {
      completions.back().push_back(
          models::testing::RandomTokens(config, 100 + 10 * p + g, 1 + static_cast<int64_t>((5 * p + 4 * g) % 12)));
    }
  }
  for (size_t p = 0; p < prompts.size(); ++p) {
    groups.push_back({prompts[p], {}});
    if (lora.dropout > 0) groups.back().dropout = {.seed = 9, .step = 2, .prompt = p};
    CompletionOf(task_P.emplace_back()).tokens = prompts[p];
    for (const auto& completion : completions[p]) {
      groups.back().sample_G.push_back(groups.back().completion_G.size());
      groups.back().completion_G.push_back(completion);
      CompletionOf(episode_N.emplace_back()).tokens = completion;
    }
  }
}

EpisodeGroup ExampleShard::GroupEpisodes(size_t group) const {
  EpisodeGroup episodes;
  episodes.task = &task_P[group];
  for (size_t c = 0; c < completions[group].size(); ++c) {
    const size_t n = group * completions[group].size() + c;
    episodes.episode_G.push_back(&episode_N[n]);
    episodes.index_G.push_back(static_cast<int64_t>(n));
  }
  return episodes;
}

}  // namespace reprise::rl::testing
