#include "rl/workloads/memory_agent/memory_task.h"

#include <numeric>
#include <utility>

#include "core/status/check.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {

absl::string_view QueryFor(absl::string_view note) { return note.substr(0, note.find(',')); }

std::vector<int32_t> DrawDistinct(uint64_t seed, Purpose purpose, DrawAt at, int32_t n, int32_t count) {
  CHECK(count >= 0 && count <= n);
  std::vector<int32_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int32_t i = 0; i < count; ++i) {
    at.token = static_cast<uint64_t>(i);
    const uint64_t j = static_cast<uint64_t>(i) + DrawBelow(seed, purpose, at, static_cast<uint64_t>(n - i));
    std::swap(numbers[i], numbers[j]);
  }
  numbers.resize(static_cast<size_t>(count));
  return numbers;
}

MemoryTask DrawMemoryTask(uint64_t seed, Purpose purpose, int stage, uint64_t step, uint64_t prompt, bool has_facts) {
  DrawAt at = {.step = step, .prompt = prompt};
  MemoryTask task = {.stage = stage, .purpose = purpose, .step = step, .prompt = prompt};
  const bool is_about_facts = has_facts && stage == kMemoryStages;
  if (!is_about_facts) task.note_S = DrawDistinct(seed, purpose, at, kNumNotes, kNumNotes);
  at.token = static_cast<uint64_t>(kNumNotes);
  task.plan = static_cast<int32_t>(DrawBelow(seed, purpose, at, kNumPlans));
  ++at.token;
  if (is_about_facts) task.message_T = DrawFactsStory(seed, purpose, at);
  return task;
}

int64_t DrawEpisodeLength(uint64_t seed, const MemoryTask& task, uint64_t sample) {
  CHECK(task.stage >= 1 && task.stage <= kMemoryStages);
  if (task.is_about_facts()) return static_cast<int64_t>(task.message_T.size());
  const EpisodeLengths lengths = kLengthsOfStage[task.stage - 1];
  const DrawAt at = {.step = task.step, .prompt = task.prompt, .sample = sample};
  return lengths.least + static_cast<int64_t>(DrawBelow(seed, Purpose::kEnvironment, at,
                                                        static_cast<uint64_t>(lengths.most - lengths.least + 1)));
}

}  // namespace reprise::rl
