#include "tests/workloads/thinking_run.h"

#include <algorithm>

#include "core/comm/self_communicator.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rl/run/execution.h"
#include "rl/run/prepare.h"

namespace reprise::rl {

Config MakeThoughtsConfig(const std::string& more, const std::string& thoughts) {
  return ConfigOf(
      "[run]\nworkload = \"quiet_star\"\nsteps = 2\nlogical_shards = 4\n"
      "[model]\nhidden_size = 8\nintermediate_size = 8\nnum_hidden_layers = 1\nnum_attention_heads = 2\n"
      "num_key_value_heads = 2\nnum_experts = 2\nnum_experts_per_tok = 1\nmax_position_embeddings = 48\n"
      "initializer_range = 0.2\n"
      "[data]\ntask = \"lookup\"\nmax_length = 2\nalphabet_size = 3\n"
      "[rollout]\nprompts_per_step = 5\nnum_generations = 2\n"
      "[optimizer]\nlearning_rate = 1e-2\nschedule = \"constant\"\n"
      "[quiet_star]\nmin_thought_length = 1\nmax_thought_length = 2\nbounded_mixing = true\n" +
      thoughts + more);
}

absl::Status StateSink::SaveState(const PolicyState& state) {
  LearnerState& copy = states.emplace_back();
  copy.phase = state.phase;
  copy.step = state.step;
  copy.updates = state.updates;
  copy.num_tokens = state.num_tokens;
  copy.weights = Flat(state.weights);
  for (const TensorGroup& group : state.optimizer) copy.optimizer.push_back({group.name, Flat(group.tensors)});
  copy.schedules = state.schedules;
  copy.reference = Flat(state.reference);
  copy.best = state.best;
  copy.best_weights = Flat(state.best_weights);
  return absl::OkStatus();
}

std::vector<float> StateSink::Flat(const std::vector<TensorView>& tensors) const {
  if (tensors.empty()) return {};
  const ParameterSpec& last = layout.specs[tensors.size() - 1];
  const int64_t end = tensors.size() == layout.specs.size() ? layout.total : (last.offset + last.size + 15) / 16 * 16;
  std::vector<float> flat(static_cast<size_t>(end));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const absl::Span<const float> values = tensors[i].data<float>();
    std::copy(values.begin(), values.end(), flat.begin() + layout.specs[i].offset);
  }
  return flat;
}

std::vector<float> RunFrom(const Config& config, const LearnerState* from, StateSink* sink) {
  SelfCommunicator comm;
  auto parts = PrepareRun(config);
  EXPECT_OK(parts);
  sink->layout = parts->workload->policy().layout();
  const auto execution = Execution::Create({.config = config, .parts = *parts, .comm = comm, .sink = sink});
  EXPECT_OK(execution);
  if (from != nullptr) (*execution)->learner().Restore(*from);
  EXPECT_OK((*execution)->learner().Run(0));
  const absl::Span<const float> weights = parts->workload->policy().parameters();
  return {weights.begin(), weights.end()};
}

}  // namespace reprise::rl
