// Promise: a key of [execution] changes no bit. Every such key of the configuration has its trials here.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/config/field_list.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rl/config/config.h"
#include "tests/determinism/trial.h"

namespace reprise::testing {
namespace {

// Updates of small.toml: two of SFT, and two in each of three steps.
constexpr int64_t kUpdates = 2 + 3 * 2;

struct KeyTrial {
  std::string value;
  std::function<void(const TrainedRun&)> expect_effect;
  int ranks = 1;
};

// Returns how often rank 0 printed its progress.
int64_t ProgressLines(const TrainedRun& run) {
  int64_t lines = 0;
  for (size_t at = 0; (at = run.process.err.find("step", at)) != std::string::npos; ++at) ++lines;
  return lines;
}

const std::map<std::string, std::vector<KeyTrial>>& KeyTrials() {
  static const auto* const trials = new std::map<std::string, std::vector<KeyTrial>>{
      {"threads",
       {{"0", [](const TrainedRun& run) { EXPECT_GE(run.counts.threads, 1); }},
        {"4", [](const TrainedRun& run) { EXPECT_EQ(run.counts.threads, 4); }}}},
      {"micro_batch_tokens",
       {{"1", [](const TrainedRun& run) { EXPECT_GT(run.counts.cut_groups, Baseline().counts.cut_groups); }},
        {"1000000",
         [](const TrainedRun& run) { EXPECT_EQ(run.counts.micro_batches, Baseline().counts.micro_batches); }}}},
      {"decode_slots",
       {{"1", [](const TrainedRun& run) { EXPECT_GT(run.counts.refills, Baseline().counts.refills); }},
        {"1000000", [](const TrainedRun& run) { EXPECT_EQ(run.counts.refills, Baseline().counts.refills); }}}},
      {"activation_checkpointing",
       {{"true",
         [](const TrainedRun& run) { EXPECT_LT(run.counts.activation_bytes, Baseline().counts.activation_bytes); }}}},
      {"overlap",
       {{"true", [](const TrainedRun& run) { EXPECT_GT(run.counts.buckets, 0); }, 2},
        {"false", [](const TrainedRun& run) { EXPECT_EQ(run.counts.early_buckets, 0); }, 3}}},
      {"exchange_floats",
       {{"1024", [](const TrainedRun& run) { EXPECT_GT(run.counts.early_buckets, 0); }, 2},
        {"1000000000", [](const TrainedRun& run) { EXPECT_EQ(run.counts.buckets, 2 * kUpdates); }, 2}}},
      {"commit_every",
       {{"1", [](const TrainedRun& run) { EXPECT_GT(run.counts.segments, Baseline().counts.segments); }},
        {"1000000", [](const TrainedRun& run) { EXPECT_EQ(run.counts.segments, Baseline().counts.segments); }}}},
      {"save_every",
       {{"1", [](const TrainedRun& run) { EXPECT_EQ(run.counts.states, 5); }},
        {"3", [](const TrainedRun& run) { EXPECT_EQ(run.counts.states, 1); }}}},
      {"process_time_limit", {}},  // tried in tests/environments: without an external process it is refused
      {"process_restarts", {}},    // likewise
      {"process_count", {}},
      {"log_completions",
       {{"true",
         [](const TrainedRun& run) {
           EXPECT_THAT(run.process.err, ::testing::HasSubstr("completion of step 3: "));
           EXPECT_THAT(Baseline().process.err, ::testing::Not(::testing::HasSubstr("completion of step ")));
         }}}},
      {"watchdog", {{"false", [](const TrainedRun&) {}, 2}}},  // tests/faults tries what it does
      {"watchdog_seconds", {{"1000", [](const TrainedRun&) {}, 2}}},
      {"log_every", {{"1", [](const TrainedRun& run) { EXPECT_GT(ProgressLines(run), ProgressLines(Baseline())); }}}},
  };
  return *trials;
}

TEST(ExecutionKeysTest, EveryKeyHasATrialAndChangesNoByte) {
  rl::Config config;
  config::FieldList list;
  rl::Visit(list, config);
  size_t tried = 0;
  for (const config::Field& field : list.fields()) {
    if (field.kind != config::Kind::kExecution) continue;
    const auto trials = KeyTrials().find(std::string(field.key));
    ASSERT_NE(trials, KeyTrials().end()) << field.Name() << " is a new execution key: add its trials";
    for (const KeyTrial& trial : trials->second) {
      SCOPED_TRACE(field.Name() + "=" + trial.value);
      const TrainedRun run = Train(kSmallRun, {field.Name() + "=" + trial.value}, {.ranks = trial.ranks});
      EXPECT_EQ(run.run_sha256, Baseline().run_sha256);
      trial.expect_effect(run);
    }
    ++tried;
  }
  EXPECT_EQ(tried, KeyTrials().size()) << "a trial has a key that no longer exists";
}

}  // namespace
}  // namespace reprise::testing
