// What fixed rules achieve where a memory agent is asked for facts: random operations, always retrieving, storing each
// message while there is room, rules that know how many turns are left, and the rule that looks at messages and memory.
// Prints a markdown table of a configuration's held-out tasks: means over seeds, with the 95% interval of Student's t.
//
//   facts_rules [configs/memory_facts.toml]

#include "rl/workloads/memory_agent/facts_rules.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "core/random/draw.h"
#include "data/memory/operation.h"
#include "rl/config/load.h"
#include "rl/workloads/memory_agent/episode_report.h"
#include "rl/workloads/memory_agent/memory_metrics.h"
#include "rl/workloads/memory_agent/section/memory_section.h"
#include "rl/workloads/memory_agent/simulated_episode.h"

namespace reprise::rl {
namespace {

using enum data::MemoryOperation;
using data::MemoryOperation;
using Rule = std::function<MemoryOperation(uint64_t seed, const MemoryTask&, const SimulatedEpisode&)>;

constexpr int64_t kSeeds = 5;
constexpr double kStudent = 2.776;  // 97.5% quantile for five values

struct Score {
  double accuracy = 0, reward = 0, failed = 0;
};

Score ScoreRule(const Config& config, const Rule& rule) {
  const uint64_t seed = static_cast<uint64_t>(config.run.seed);
  const double tasks = static_cast<double>(config.evaluation.num_prompts);
  Score score;
  double operations = 0;
  for (int64_t index = 0; index < config.evaluation.num_prompts; ++index) {
    const MemoryTask task = HeldOutMemoryTask(config, kMemoryStages, index);
    SimulatedEpisode episode(config.memory, seed, task, /*sample=*/0);
    while (!episode.is_over()) episode.Act(rule(seed, task, episode));
    const EpisodeReport report = ReportEpisode(config.memory, seed, task, 0, episode.operations());
    score.accuracy += (report.is_correct() ? 1 : 0) / tasks;
    score.reward += report.reward / tasks;
    score.failed += static_cast<double>(report.num_failed());
    operations += static_cast<double>(report.decision_T.size());
  }
  score.failed /= operations;
  return score;
}

// Returns the mean and the half width of its interval.
std::string FormatMean(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double n = static_cast<double>(values.size()), mean = sum / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f ± %.3f", mean, kStudent * std::sqrt(squares / (n - 1) / n));
  return text;
}

void PrintRow(Config config, const char* name, const Rule& rule) {
  std::vector<double> accuracy, reward, failed;
  for (config.run.seed = 1; config.run.seed <= kSeeds; ++config.run.seed) {
    const Score score = ScoreRule(config, rule);
    accuracy.push_back(score.accuracy);
    reward.push_back(score.reward);
    failed.push_back(score.failed);
  }
  std::printf("| %s | %s | %s | %s |\n", name, FormatMean(accuracy).c_str(), FormatMean(reward).c_str(),
              FormatMean(failed).c_str());
}

// The best order of operations that looks at nothing but the turns that are left; found by search.
MemoryOperation OpenLoop(uint64_t, const MemoryTask&, const SimulatedEpisode& episode) {
  const int64_t left = episode.num_steps() - static_cast<int64_t>(episode.operations().size());
  if (left > kQuestionTurns + kFactsLastTalk) return kAdd;
  return left > kQuestionTurns ? kFilter : kRetrieve;
}

// The same, which also replaces what is known.
MemoryOperation OpenLoopWithKnown(uint64_t seed, const MemoryTask& task, const SimulatedEpisode& episode) {
  const MemoryOperation operation = OpenLoop(seed, task, episode);
  return operation == kAdd && SaysKnown(episode) ? kUpdate : operation;
}

int Print(const std::string& path) {
  const auto text = ReadFile(PosixFileSystem(), path, 1 << 20);
  const auto resolved = text.ok() ? LoadConfig(*text, path, {}) : text.status();
  if (!resolved.ok()) {
    std::fprintf(stderr, "%s\n", std::string(resolved.status().message()).c_str());
    return 1;
  }
  const Config& config = resolved->config;
  std::printf("| rule | accuracy | reward | failed operations |\n|---|---|---|---|\n");
  PrintRow(config, "random operations", [](uint64_t seed, const MemoryTask& task, const SimulatedEpisode& episode) {
    const DrawAt at = {.step = task.step, .prompt = task.prompt, .token = episode.operations().size()};
    return static_cast<MemoryOperation>(DrawBelow(seed, Purpose::kTest, at, data::kMemoryOperationCount));
  });
  PrintRow(config, "heuristic: store while there is room, retrieve at the question",
           [](uint64_t, const MemoryTask&, const SimulatedEpisode& episode) { return episode.Solution(); });
  PrintRow(config, "by the turns left: `add`, `filter` in the small talk, `retrieve` at the question", OpenLoop);
  PrintRow(config, "the same, and `update` of what is known", OpenLoopWithKnown);
  PrintRow(config, "always retrieve", [](uint64_t, const MemoryTask&, const SimulatedEpisode&) { return kRetrieve; });
  PrintRow(config, "best rule", [](uint64_t, const MemoryTask& task, const SimulatedEpisode& episode) {
    return BestFactsOperation(task, episode);
  });
  return 0;
}

}  // namespace
}  // namespace reprise::rl

int main(int argc, char** argv) { return reprise::rl::Print(argc > 1 ? argv[1] : "configs/memory_facts.toml"); }
