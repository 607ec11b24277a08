#include "tests/determinism/trial.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "gtest/gtest.h"
#include "kernels/isa/isa.h"

namespace reprise::testing {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 8};
constexpr int kThreads[] = {1, 2, 3};
constexpr Batches kBatches[] = {Batches::kWholeShards, Batches::kBetweenGroups, Batches::kInsideGroups};
constexpr Slots kSlots[] = {Slots::kAll, Slots::kFew};

// Of every trial run. No shard is empty: 21 and 19 prompts for 8 shards.
constexpr int64_t kShards = 8, kTrainingSteps = 3, kUpdates = 2 + kTrainingSteps * 2, kCompletions = 19 * 4;

constexpr int64_t kFewSlots = 3;

std::vector<std::string> IsaNames() {
  std::vector<std::string> names;
  for (kernels::Isa isa : kernels::AvailableIsas()) names.emplace_back(kernels::NameOf(isa));
  return names;
}

int64_t MicroBatchTokens(Batches batches, const TrialRun& run) {
  switch (batches) {
    case Batches::kWholeShards:
      return 0;
    case Batches::kBetweenGroups:
      return run.group_rows;
    case Batches::kInsideGroups:
      return run.few_rows;
  }
  return -1;
}

void ExpectExecutedAs(const Trial& trial, const Counts& counts, bool decodes) {
  EXPECT_EQ(counts.ranks, trial.ranks);
  EXPECT_EQ(counts.threads, trial.ranks * trial.threads);
  EXPECT_EQ(counts.avx512_ranks, trial.isa == "avx512" ? trial.ranks : 0);
  EXPECT_EQ(counts.avx2_ranks, trial.isa == "avx2" ? trial.ranks : 0);
  if (trial.batches == Batches::kWholeShards) {
    EXPECT_EQ(counts.micro_batches, kShards * kUpdates);
  } else {
    EXPECT_GT(counts.micro_batches, kShards * kUpdates);
  }
  if (!decodes) return;
  if (trial.batches == Batches::kInsideGroups) {
    EXPECT_GT(counts.cut_groups, 0);
  } else {
    EXPECT_EQ(counts.cut_groups, 0);
  }
  if (trial.slots == Slots::kFew) {
    EXPECT_GE(counts.refills, kTrainingSteps * (kCompletions - trial.ranks * kFewSlots));
  } else if (trial.threads == 1) {  // a thread that finishes early takes prompts and their slots from others
    EXPECT_EQ(counts.refills, 0);
  }
}

}  // namespace

std::string DescribeTrial(const Trial& trial) {
  static constexpr const char* kBatchNames[] = {"whole_shards", "between_groups", "inside_groups"};
  return std::to_string(trial.ranks) + "_ranks_" + std::to_string(trial.threads) + "_threads_" +
         kBatchNames[static_cast<size_t>(trial.batches)] +
         (trial.slots == Slots::kFew ? "_few_slots_" : "_all_slots_") + trial.isa;
}

Trial BaselineTrial() { return {.isa = IsaNames().back()}; }

std::vector<int> TrialLevels(const TestedWorkload& workload) {
  const int isas = static_cast<int>(IsaNames().size());
  if (isas == 1) std::printf("skipped: avx512, which this machine lacks\n");
  return {static_cast<int>(std::size(kRanks)), static_cast<int>(std::size(kThreads)),
          static_cast<int>(std::size(kBatches)), workload.trial.decodes ? static_cast<int>(std::size(kSlots)) : 1,
          isas};
}

Trial TrialFromRow(const Row& row) {
  return {.ranks = kRanks[row[0]],
          .threads = kThreads[row[1]],
          .batches = kBatches[row[2]],
          .slots = kSlots[row[3]],
          .isa = IsaNames()[static_cast<size_t>(row[4])]};
}

TrainedRun RunTrial(const Trial& trial, const TestedWorkload& workload) {
  const auto key = [](const char* name, int64_t value) {
    return "execution." + std::string(name) + "=" + std::to_string(value);
  };
  return Train(
      workload.trial.config,
      {key("threads", trial.threads), key("micro_batch_tokens", MicroBatchTokens(trial.batches, workload.trial)),
       key("decode_slots", trial.slots == Slots::kFew ? kFewSlots : 0)},
      {.ranks = trial.ranks, .isa = trial.isa});
}

const TrainedRun& Baseline(const TestedWorkload& workload) {
  static auto* const runs = new std::map<std::string, TrainedRun>;
  const auto found = runs->find(workload.name);
  if (found != runs->end()) return found->second;
  return runs->emplace(workload.name, RunTrial(BaselineTrial(), workload)).first->second;
}

void ExpectSameBytes(const Trial& trial, const TrainedRun& run, const TestedWorkload& workload) {
  const TrainedRun& baseline = Baseline(workload);
  EXPECT_EQ(run.run_sha256, baseline.run_sha256);
  EXPECT_EQ(run.weights_sha256, baseline.weights_sha256);
  EXPECT_EQ(run.counts.prompt_rows, baseline.counts.prompt_rows);  // computed once for all completions of a prompt
  EXPECT_EQ(run.counts.completion_rows, baseline.counts.completion_rows);
  ExpectExecutedAs(trial, run.counts, workload.trial.decodes);
}

}  // namespace reprise::testing
