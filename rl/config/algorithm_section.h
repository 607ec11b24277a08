#ifndef RL_CONFIG_ALGORITHM_SECTION_H_
#define RL_CONFIG_ALGORITHM_SECTION_H_

#include "rl/config/config.h"

namespace reprise::rl {

// Lists the section [algorithm] and its keys. Keys that came after the first runs are unsaid at their defaults; those
// that the algorithm chooses are left to it by WithoutOwnChoices before.
void Visit(config::FieldList& list, AlgorithmConfig& algorithm);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ALGORITHM_SECTION_H_
