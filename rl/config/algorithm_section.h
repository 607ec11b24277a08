#ifndef RL_CONFIG_ALGORITHM_SECTION_H_
#define RL_CONFIG_ALGORITHM_SECTION_H_

#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the section [algorithm] and its keys.
void Visit(config::FieldList& list, AlgorithmConfig& algorithm, const Conditions& when);

// Lists its keys of the loss: VisitTerm those that choose the term of a token, VisitLoss the others.
void VisitTerm(config::FieldList& list, AlgorithmConfig& algorithm, const Conditions& when);
void VisitLoss(config::FieldList& list, AlgorithmConfig& algorithm, const Conditions& when);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ALGORITHM_SECTION_H_
