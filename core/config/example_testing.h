#ifndef CORE_CONFIG_EXAMPLE_TESTING_H_
#define CORE_CONFIG_EXAMPLE_TESTING_H_

// A small configuration with a key of every type, for this package's tests.

#include <cstdint>
#include <string>

#include "core/config/field_list.h"

namespace reprise::config {

struct Example {
  int64_t num_generations = 8;
  double temperature = 1.0;
  double epsilon_high = -1;
  std::string loss_type = "dapo";
  std::string path = "";
  double learning_rate = 1e-6;
  int64_t threads = 1;
  bool activation_checkpointing = false;

  bool operator==(const Example&) const = default;
};

inline void Visit(FieldList& list, Example& example) {
  list.Section("rollout", Kind::kSemantic, "How completions are sampled.");
  list.Int("num_generations", example.num_generations, Between(2, 65536), "Completions for each prompt.");
  list.Double("temperature", example.temperature, {.low = 0, .without_low = true}, "Divides the logits.");
  list.Section("algorithm", Kind::kSemantic, "What is learned from them.");
  list.Double("epsilon_high", example.epsilon_high, {.low = 0, .or_exactly = -1}, "Upper clip; -1 = the lower one.");
  list.Name("loss_type", example.loss_type, {"dapo", "grpo", "dr_grpo"}, "How tokens are averaged.");
  list.String("path", example.path, "A file | a folder.");
  list.Double("learning_rate", example.learning_rate, {.low = 0}, "Step size.");
  list.Section("execution", Kind::kExecution, "How the work is done.");
  list.Int("threads", example.threads, AtLeast(0), "Threads of a rank.");
  list.Bool("activation_checkpointing", example.activation_checkpointing, "Recomputes activations.");
}

inline FieldList FieldsOf(Example& example) {
  FieldList list;
  Visit(list, example);
  return list;
}

}  // namespace reprise::config

#endif  // CORE_CONFIG_EXAMPLE_TESTING_H_
