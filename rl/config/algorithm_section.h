#ifndef RL_CONFIG_ALGORITHM_SECTION_H_
#define RL_CONFIG_ALGORITHM_SECTION_H_

#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the section [algorithm] and its keys.
void Visit(config::FieldList& list, AlgorithmConfig& algorithm, const Conditions& when);

// Lists its keys of the loss: VisitEpsilon the bounds of the ratio, VisitLoss the others.
void VisitEpsilon(config::FieldList& list, AlgorithmConfig& algorithm, const Conditions& when);
void VisitLoss(config::FieldList& list, AlgorithmConfig& algorithm, const Conditions& when);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ALGORITHM_SECTION_H_
