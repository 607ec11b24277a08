#ifndef RL_POLICY_DECODER_SHARD_TESTING_H_
#define RL_POLICY_DECODER_SHARD_TESTING_H_

#include <memory>
#include <vector>

#include "models/decoder/model.h"
#include "rl/policy/decoder/group_batch.h"
#include "rl/policy/policy.h"

namespace reprise::rl::testing {

// A small random model, and a shard of three groups with completions of 1 to 12 tokens.
struct ExampleShard {
  // With `dense`, every row uses all experts, so that the choice of experts does not depend on the weights.
  // With `lora`, the model is frozen and has these adapters; where these drop inputs, the groups have places.
  explicit ExampleShard(bool tied = false, models::ValueModel value_model = models::ValueModel::kNone,
                        bool dense = false, const models::LoraConfig& lora = {});

  models::DecoderConfig config;
  std::unique_ptr<models::Model> model;
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::vector<std::vector<int32_t>>> completions;
  std::vector<TrainingGroup> groups;
  std::vector<TaskRecord> task_P;
  std::vector<EpisodeRecord> episode_N;  // the completions, those of a group adjacent

  // Returns a group's episodes; callbacks receive indices into episode_N.
  EpisodeGroup GroupEpisodes(size_t group) const;
};

}  // namespace reprise::rl::testing

#endif  // RL_POLICY_DECODER_SHARD_TESTING_H_
