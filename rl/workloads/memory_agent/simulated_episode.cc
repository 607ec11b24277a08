#include "rl/workloads/memory_agent/simulated_episode.h"

#include <limits>
#include <utility>

#include "core/random/draw.h"
#include "core/status/check.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "rl/workloads/memory_agent/state_text.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;

constexpr int64_t kMicrosecondsPerMillisecond = 1000;

int64_t StoreCapacity(const MemoryConfig& memory, const MemoryTask& task) {
  return task.is_about_facts() ? memory.store_size : std::numeric_limits<int64_t>::max();
}

std::variant<NotesWorld, FactsWorld> MakeWorld(const MemoryConfig& config, uint64_t seed, const MemoryTask& task,
                                               EpisodeMemory& memory) {
  if (task.is_about_facts()) return FactsWorld(task.message_T, config.store_size, memory);
  return NotesWorld(seed, task, memory);
}

}  // namespace

SimulatedLatency OperationLatency(MemoryOperation operation) {
  switch (operation) {
    case MemoryOperation::kAdd:
      return {120, 40};
    case MemoryOperation::kUpdate:
      return {90, 30};
    case MemoryOperation::kDelete:
      return {60, 20};
    case MemoryOperation::kRetrieve:
      return {150, 50};
    case MemoryOperation::kSummary:
      return {400, 150};
    case MemoryOperation::kFilter:
      return {180, 60};
  }
  return {};
}

SimulatedEpisode::SimulatedEpisode(const MemoryConfig& memory, uint64_t seed, const MemoryTask& task, uint64_t sample)
    : config_(memory),
      seed_(seed),
      task_(task),
      sample_(sample),
      num_steps_(DrawEpisodeLength(seed, task, sample)),
      memory_(memory, StoreCapacity(memory, task)),
      world_(MakeWorld(memory, seed, task, memory_)) {}

std::string SimulatedEpisode::StateText() const {
  CHECK(!is_over());
  AgentState state = {{"operation", "pending"}};
  if (task_.stage == 1) {
    state.emplace_back("context", "training");
    return rl::StateText(state);
  }
  state.emplace_back("step", turn());
  if (task_.stage == kMemoryStages) {
    state.emplace_back("total_steps", num_steps_);
    state.emplace_back("plan", std::string(kPlans[task_.plan]));
  }
  if (const auto* const facts = std::get_if<FactsWorld>(&world_)) {
    facts->Describe(turn(), memory_, &state);
  } else {
    std::get<NotesWorld>(world_).Describe(operation_T_, &state);
  }
  return rl::StateText(state);
}

int64_t SimulatedEpisode::DrawLatency(MemoryOperation operation) const {
  const SimulatedLatency latency = OperationLatency(operation);
  const int64_t spread_us = static_cast<int64_t>(config_.latency_spread *
                                                 static_cast<double>(latency.spread_ms * kMicrosecondsPerMillisecond));
  const DrawAt at = {.step = task_.step,
                     .prompt = task_.prompt,
                     .sample = sample_,
                     .turn = kFirstOperationTurn + static_cast<uint64_t>(turn())};
  return latency.mean_ms * kMicrosecondsPerMillisecond - spread_us +
         static_cast<int64_t>(DrawBelow(seed_, Purpose::kEnvironment, at, static_cast<uint64_t>(2 * spread_us + 1)));
}

OperationResult SimulatedEpisode::Act(MemoryOperation operation) {
  CHECK(!is_over());
  const int64_t latency_us = DrawLatency(operation);
  memory_.SetLatency(latency_us);
  OperationResult result = {.operation = operation};
  EpisodeMemory::Event event = std::visit([&](auto& world) { return world.Execute(turn(), memory_, &result); }, world_);
  result.succeeded = event.succeeded;
  event_ = std::move(event.text);
  result.latency_ms = static_cast<double>(latency_us) / kMicrosecondsPerMillisecond;
  operation_T_.push_back(operation);
  return result;
}

MemoryOperation SimulatedEpisode::Solution() const {
  CHECK(!is_over());
  if (const auto* const facts = std::get_if<FactsWorld>(&world_)) return facts->Solution(turn(), memory_);
  return std::get<NotesWorld>(world_).Solution(turn());
}

int64_t SimulatedEpisode::CountRecalled() const {
  return static_cast<int64_t>(memory_.Search(task_.query(), kRecallWanted, memory_.similarity()).size());
}

std::optional<FactsAnswer> SimulatedEpisode::Answer() const {
  const auto* const facts = std::get_if<FactsWorld>(&world_);
  return facts == nullptr ? std::nullopt : std::optional<FactsAnswer>(facts->Answer(memory_));
}

MemoryOutcome SimulatedEpisode::Outcome() const {
  MemoryOutcome outcome = memory_.Outcome(task_.query(), turn());
  const std::optional<FactsAnswer> answer = Answer();
  if (!answer) return outcome;
  outcome.answer.reset();
  if (!answer->answered.empty()) outcome.answer = answer->is_correct() ? 1 : 0;
  return outcome;
}

}  // namespace reprise::rl
