#ifndef RL_CONFIG_ENVIRONMENT_SECTION_H_
#define RL_CONFIG_ENVIRONMENT_SECTION_H_

#include "core/config/field_list.h"
#include "rl/config/config.h"

namespace reprise::rl {

class Conditions;  // rl/config/key_conditions.h

// Lists the keys of [environment].
void VisitEnvironment(config::FieldList& list, EnvironmentConfig& environment, const Conditions& when);

// Returns whether training finds actions in the policy's text and checks them.
inline bool ChecksActions(const EnvironmentConfig& environment) {
  return environment.action_mask != "all" || environment.invalid_episodes != "keep";
}

// Lists the key of [process].
void VisitProcess(config::FieldList& list, ProcessConfig& process, const Conditions& when);

}  // namespace reprise::rl

#endif  // RL_CONFIG_ENVIRONMENT_SECTION_H_
