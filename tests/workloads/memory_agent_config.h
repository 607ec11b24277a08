#ifndef TESTS_WORKLOADS_MEMORY_AGENT_CONFIG_H_
#define TESTS_WORKLOADS_MEMORY_AGENT_CONFIG_H_

// Configurations of small runs of a memory agent. more: text that is added at the end; memory: keys of [memory].

#include <string>

#include "rl/config/config.h"

namespace reprise::rl {

// Three steps: one of each stage.
Config AgentConfig(const std::string& more = "", const std::string& memory = "");

// The same with questions about facts in the last one.
Config FactsConfig(const std::string& more = "", const std::string& memory = "");

}  // namespace reprise::rl

#endif  // TESTS_WORKLOADS_MEMORY_AGENT_CONFIG_H_
