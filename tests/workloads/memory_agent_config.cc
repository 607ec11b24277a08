#include "tests/workloads/memory_agent_config.h"

#include "tests/workloads/training.h"

namespace reprise::rl {
namespace {

const char kModel[] = R"(
[model]
vocab_size = 145
words = '''["operation: pending", "; context: training", "; step: ", "; total_steps: ", "; plan: ",
  "Store what matters, then answer from memory.", "Keep the memory small and up to date.",
  "Collect facts first and condense them later.", "Look things up before adding anything new.",
  "; history: [", "'add'", "'update'", "'delete'", "'retrieve'", "'summary'", "'filter'", ", "]'''
hidden_size = 16
intermediate_size = 16
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 2
num_experts = 2
num_experts_per_tok = 1
max_position_embeddings = 32
initializer_range = 0.1
)";

}  // namespace

Config AgentConfig(const std::string& more, const std::string& memory) {
  return ConfigOf("[run]\nworkload = \"memory_agent\"\nsteps = 3\nlogical_shards = 4\n" + std::string(kModel) +
                  "[memory]\nstage1_steps = 1\nstage2_steps = 1\nstage3_steps = 1\n" + memory +
                  "[rollout]\nprompts_per_step = 5\nnum_generations = 4\n"
                  "[optimizer]\nlearning_rate = 1e-2\nschedule = \"constant\"\n" +
                  more);
}

Config FactsConfig(const std::string& more, const std::string& memory) {
  return AgentConfig(more, "task = \"facts\"\nbuffer_size = 4\ncontext_window = 160\noptimal_retrieved = 1\n" + memory);
}

}  // namespace reprise::rl
