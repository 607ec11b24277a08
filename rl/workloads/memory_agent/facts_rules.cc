#include "rl/workloads/memory_agent/facts_rules.h"

#include <string>

namespace reprise::rl {

using enum data::MemoryOperation;

bool SaysKnown(const SimulatedEpisode& episode) { return episode.StateText().find("known: True") != std::string::npos; }

data::MemoryOperation BestFactsOperation(const MemoryTask& task, const SimulatedEpisode& episode) {
  const bool is_known = SaysKnown(episode);
  switch (task.message_T[episode.operations().size()].kind) {
    case FactMessage::Kind::kPlace:
      return is_known ? kUpdate : kAdd;
    case FactMessage::Kind::kGone:
      return is_known ? kDelete : kFilter;
    case FactMessage::Kind::kTalk:
      return kFilter;
    case FactMessage::Kind::kQuestion:
      return kRetrieve;
  }
  return kFilter;
}

}  // namespace reprise::rl
