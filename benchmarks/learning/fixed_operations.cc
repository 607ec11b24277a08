// What a memory agent can earn in its third stage without looking at states: random operations, each operation alone,
// and the best sequence of operations that a beam search finds. Prints a markdown table. The search and the table use
// different tasks.
//
//   fixed_operations [SEED]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/random/draw.h"
#include "data/memory/operation.h"
#include "rl/workloads/memory_agent/episode_report.h"
#include "rl/workloads/memory_agent/memory_task.h"
#include "rl/workloads/memory_agent/section/memory_section.h"

namespace reprise::rl {
namespace {

using data::MemoryOperation;
using Operations = std::vector<MemoryOperation>;
using Choose = std::function<MemoryOperation(const MemoryTask&, size_t t)>;

constexpr size_t kBeam = 24, kLongest = static_cast<size_t>(kLengthsOfStage[kMemoryStages - 1].most);
constexpr uint64_t kSearchTasks = 96, kTableTasks = 2000;

struct Outcome {
  double reward = 0, failed = 0;
};

// Returns the mean over tasks of their first episode, and the share of operations that fail.
Outcome ComputeMean(uint64_t seed, Purpose purpose, uint64_t tasks, const Choose& choose) {
  const MemoryConfig memory;
  Outcome mean;
  size_t operations = 0;
  for (uint64_t prompt = 0; prompt < tasks; ++prompt) {
    const MemoryTask task = DrawMemoryTask(seed, purpose, kMemoryStages, /*step=*/0, prompt);
    Operations chosen;
    while (static_cast<int64_t>(chosen.size()) < DrawEpisodeLength(seed, task, 0)) {
      chosen.push_back(choose(task, chosen.size()));
    }
    const EpisodeReport report = ReportEpisode(memory, seed, task, 0, chosen);
    mean.reward += report.reward / static_cast<double>(tasks);
    mean.failed += static_cast<double>(report.num_failed());
    operations += chosen.size();
  }
  mean.failed /= static_cast<double>(operations);
  return mean;
}

MemoryOperation Numbered(size_t number) { return static_cast<MemoryOperation>(number); }

// Returns a sequence as long as the longest episode. A prefix is valued by what it earns when `add` follows.
Operations SearchSequence(uint64_t seed) {
  std::vector<std::pair<double, Operations>> beam = {{0, {}}};
  for (size_t length = 1; length <= kLongest; ++length) {
    std::vector<std::pair<double, Operations>> longer;
    for (const auto& [value, prefix] : beam) {
      for (size_t number = 0; number < data::kMemoryOperationCount; ++number) {
        Operations candidate = prefix;
        candidate.push_back(Numbered(number));
        const Outcome outcome = ComputeMean(seed, Purpose::kTask, kSearchTasks, [&](const MemoryTask&, size_t t) {
          return t < candidate.size() ? candidate[t] : MemoryOperation::kAdd;
        });
        longer.emplace_back(outcome.reward, std::move(candidate));
      }
    }
    std::stable_sort(longer.begin(), longer.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    longer.resize(std::min(longer.size(), kBeam));
    beam = std::move(longer);
  }
  return beam.front().second;
}

void PrintRow(const std::string& name, const Outcome& outcome) {
  std::printf("| %s | %.3f | %.1f%% |\n", name.c_str(), outcome.reward, 100 * outcome.failed);
  std::fflush(stdout);
}

void PrintTable(uint64_t seed) {
  std::printf("| operations | mean reward | fail |\n|---|---|---|\n");
  const auto row = [seed](const std::string& name, const Choose& choose) {
    PrintRow(name, ComputeMean(seed, Purpose::kEvaluationTask, kTableTasks, choose));
  };
  row("random", [seed](const MemoryTask& task, size_t t) {
    return Numbered(DrawBelow(seed, Purpose::kTest, {.prompt = task.prompt, .token = t}, data::kMemoryOperationCount));
  });
  for (size_t number = 0; number < data::kMemoryOperationCount; ++number) {
    row(absl::StrCat("`", data::NameOf(Numbered(number)), "` alone"),
        [number](const MemoryTask&, size_t) { return Numbered(number); });
  }
  const Operations best = SearchSequence(seed);
  row(absl::StrCat(absl::StrJoin(best, ", ",
                                 [](std::string* text, MemoryOperation operation) {
                                   absl::StrAppend(text, "`", data::NameOf(operation), "`");
                                 })),
      [&best](const MemoryTask&, size_t t) { return best[t]; });
}

}  // namespace
}  // namespace reprise::rl

int main(int argc, char** argv) {
  reprise::rl::PrintTable(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  return 0;
}
