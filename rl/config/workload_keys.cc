#include "rl/config/workload_keys.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/status/check.h"
#include "rl/config/bandit_section.h"
#include "rl/config/memory_section.h"

namespace reprise::rl {
namespace {

struct Reader {
  absl::string_view workload;
  absl::string_view own_section;  // that no other workload reads; "": it has none
  bool (*reads)(absl::string_view section, absl::string_view key);
  int64_t (*most_decisions)(const Config& config);
  absl::string_view policy_keys;
};

bool CompletionsRead(absl::string_view, absl::string_view) { return true; }
int64_t MostTokens(const Config& config) { return config.rollout.max_completion_length; }
int64_t One(const Config&) { return 1; }
int64_t MostOperations(const Config&) { return kLengthsOfStage[kMemoryStages - 1].most; }

constexpr Reader kReaders[] = {{"completions", "", CompletionsRead, MostTokens, "[model], or its model.path"},
                               {"bandit", "bandit", BanditReads, One, "[bandit]"},
                               {"memory_agent", "memory", MemoryReads, MostOperations, "[model], or its model.path"}};

const Reader& Named(absl::string_view workload) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& each) { return each.workload == workload; });
  CHECK(reader != std::end(kReaders));
  return *reader;
}

bool Reads(const Reader& reader, absl::string_view section, absl::string_view key) {
  const bool is_of_another = std::any_of(std::begin(kReaders), std::end(kReaders), [&](const Reader& each) {
    return each.own_section == section && each.workload != reader.workload;
  });
  return !is_of_another && reader.reads(section, key);
}

}  // namespace

bool WorkloadReads(absl::string_view workload, absl::string_view section, absl::string_view key) {
  return Reads(Named(workload), section, key);
}

absl::string_view ReaderOf(absl::string_view section, absl::string_view key) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& each) { return Reads(each, section, key); });
  return reader == std::end(kReaders) ? "" : reader->workload;
}

absl::string_view PolicyKeys(const Config& config) { return Named(config.run.workload).policy_keys; }

int64_t MostDecisions(const Config& config) { return Named(config.run.workload).most_decisions(config); }

int64_t MinibatchUnits(const Config& config) {
  const std::string& unit = config.algorithm.minibatches_of;
  int64_t units = config.rollout.prompts_per_step;
  if (unit != "groups") units *= config.rollout.num_generations;
  return unit == "decisions" ? units * MostDecisions(config) : units;
}

int64_t MinibatchesOfIteration(const Config& config) {
  const int64_t size = config.algorithm.mini_batch_size;
  return size > 0 ? (MinibatchUnits(config) + size - 1) / size : config.algorithm.num_mini_batches;
}

}  // namespace reprise::rl
