#include "pipelines/sweeps/sweep_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/testing/status_matchers.h"
#include "data/artifact/run_reader.h"
#include "data/artifact/table_file.h"
#include "gtest/gtest.h"
#include "pipelines/sweeps/sweep_folder.h"
#include "pipelines/sweeps/table_markdown.h"
#include "pipelines/sweeps/table_streams.h"
#include "pipelines/sweeps/verify_sweep.h"
#include "rl/record/record_schema.h"

namespace reprise {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TrialOutcome Done(double reward, const std::string& metric = "reward") {
  TrialOutcome outcome = {.status = TrialStatus::kDone, .run_digest = std::string(64, 'a'), .steps = 10};
  outcome.metrics = {{.name = metric, .count = 10, .last = reward, .tail = reward}};
  return outcome;
}

// Two variants with five seeds each: b is better by 1 to 1.4, although seeds differ by 100.
StoredPlan TwoVariants() {
  StoredPlan plan = {.axes = {"algorithm.name", "run.seed"}, .compare = {}, .trials = {}};
  for (const char* arm : {"a", "b"}) {
    for (int64_t seed = 1; seed <= 5; ++seed) {
      plan.trials.push_back({.name = absl::StrCat(plan.trials.size(), "-", arm, "-seed", seed),
                             .arm = arm,
                             .problem = "p",
                             .config_sha256 = std::string(64, 'c'),
                             .base = 0,
                             .seed = seed,
                             .settings = {absl::StrCat("\"", arm, "\""), absl::StrCat(seed)}});
    }
  }
  return plan;
}

std::vector<TrialOutcome> Outcomes() {
  std::vector<TrialOutcome> outcomes;
  for (int seed = 1; seed <= 5; ++seed) outcomes.push_back(Done(100 * seed));
  for (int seed = 1; seed <= 5; ++seed) outcomes.push_back(Done(100 * seed + 1 + 0.1 * (seed - 1)));
  return outcomes;
}

// A failure may quote what a process replied, and names are a user's.
TEST(SweepTableTest, TheMarkdownShowsTextOfOtherSourcesAndInterpretsNoneOfIt) {
  StoredPlan plan = TwoVariants();
  for (PlannedTrial& trial : plan.trials) {
    if (trial.arm == "b") trial.arm = "*b* _c_ d_e";
  }
  plan.trials[0].settings[0] = "\"`<u>`|&amp;\"";
  std::vector<TrialOutcome> outcomes = Outcomes();
  outcomes[0].status = TrialStatus::kFailed;
  outcomes[0].code = "DATA_LOSS";
  outcomes[0].sentence = "<script>alert(1)</script> ![a](http://x.y/z) www.x.y\n# b\x1b[2J";
  const std::string text = ToMarkdown(MakeTable(plan, outcomes));
  EXPECT_THAT(
      text, HasSubstr("| DATA_LOSS: &lt;script&gt;alert(1)&lt;/script&gt; !\\[a\\](http&#58;//x.y/z) www&#46;x.y\\\\n# "
                      "b\\\\x1b\\[2J |\n"));
  EXPECT_THAT(text, HasSubstr("| \"\\`&lt;u&gt;\\`\\|&amp;amp;\" |"));
  EXPECT_THAT(text, HasSubstr("- \\*b\\* \\_c\\_ d_e is better than a by "));
  EXPECT_THAT(text, HasSubstr("| \\*b\\* \\_c\\_ d_e | "));
}

TEST(SweepTableTest, PairsBySeedDecideWhatSeedsAloneCanNot) {
  const SweepTable table = MakeTable(TwoVariants(), Outcomes());
  ASSERT_EQ(table.comparisons.size(), 1u);
  const ComparisonRow& row = table.comparisons[0];
  EXPECT_NEAR(row.paired.value, 1.2, 1e-9);
  EXPECT_GT(row.paired.interval.low, 0.9);
  EXPECT_EQ(row.better, Verdict::kSecond);
  EXPECT_LT(row.unpaired.interval.low, -100);
  EXPECT_GT(row.unpaired.p, 0.9);
  EXPECT_EQ(row.improvement, 0.6);  // of 25 pairs 10 are of greater seeds, and all 5 of the same
  // 1.2 sqrt(n) / 0.158: 10.7 < 12.7 + 1.4 of one degree of freedom, 13.1 >= 4.3 + 1.1 of two.
  EXPECT_EQ(row.seeds_paired, 3);
  EXPECT_GT(row.seeds_unpaired, 100'000);
  EXPECT_EQ(table.variants[0].interquartile_mean, 300);
  EXPECT_THAT(ToMarkdown(table), HasSubstr("- b is better than a by 1.2 (95%: 1.004 to 1.396, 5 seeds)\n"));
}

TEST(SweepTableTest, LessIsBetterWhereTheFileSaysSo) {
  StoredPlan plan = TwoVariants();
  plan.compare.greater_is_better = false;
  const SweepTable table = MakeTable(plan, Outcomes());
  EXPECT_EQ(table.comparisons[0].better, Verdict::kFirst);
  EXPECT_EQ(table.comparisons[0].improvement, 0.4);
  EXPECT_THAT(ToMarkdown(table), HasSubstr("- a is better than b by 1.2 (95%: 1.004 to 1.396, 5 seeds)\n"));
}

TEST(SweepTableTest, OnlySharedSeedsArePaired) {
  StoredPlan plan = TwoVariants();
  plan.trials[9].seed = 17;
  const SweepTable table = MakeTable(plan, Outcomes());
  EXPECT_EQ(table.comparisons[0].paired.n, 4);
  EXPECT_EQ(table.comparisons[0].unpaired.n, 10);
}

TEST(SweepTableTest, OtherProblemsMetricsAndLoneSeedsAreNotCompared) {
  StoredPlan plan = TwoVariants();
  for (size_t i = 5; i < 10; ++i) plan.trials[i].problem = "q";
  EXPECT_TRUE(MakeTable(plan, Outcomes()).comparisons.empty());
  std::vector<TrialOutcome> outcomes = Outcomes();
  for (size_t i = 5; i < 10; ++i) outcomes[i] = Done(1, "eval_greedy_reward");
  EXPECT_TRUE(MakeTable(TwoVariants(), outcomes).comparisons.empty());
  plan = TwoVariants();
  for (size_t i = 5; i < 10; ++i) plan.trials[i].seed += 100;
  EXPECT_TRUE(MakeTable(plan, Outcomes()).comparisons.empty());
  EXPECT_THAT(ToMarkdown(MakeTable(plan, Outcomes())), HasSubstr("No two variants share a seed"));
}

TEST(SweepTableTest, AFailureIsARowWithoutAScore) {
  std::vector<TrialOutcome> outcomes = Outcomes();
  outcomes[7] = {.status = TrialStatus::kFailed, .code = "DATA_LOSS", .sentence = "it says \"no\", twice"};
  const SweepTable table = MakeTable(TwoVariants(), outcomes);
  EXPECT_EQ(table.comparisons[0].paired.n, 4);
  EXPECT_EQ(table.variants[1].failed, 1);
  EXPECT_THAT(ToCsv(table),
              HasSubstr("7-b-seed3,b,3,\"\"\"b\"\"\",3,failed,DATA_LOSS,\"it says \"\"no\"\", twice\",0,,,,\n"));
}

TEST(SweepTableTest, ManyComparisonsRaiseTheBar) {
  StoredPlan plan = {.axes = {}, .compare = {}, .trials = {}};
  std::vector<TrialOutcome> outcomes;
  const double noise[] = {0, 0.9, -0.8};
  for (int arm = 0; arm < 12; ++arm) {
    for (int seed = 0; seed < 3; ++seed) {
      plan.trials.push_back({.name = absl::StrCat(arm, ".", seed),
                             .arm = absl::StrCat(arm),
                             .problem = "p",
                             .config_sha256 = "",
                             .base = 0,
                             .seed = seed,
                             .settings = {}});
      outcomes.push_back(Done(arm == 11 ? 4 + noise[(seed + 1) % 3] : noise[(seed * arm) % 3]));
    }
  }
  const SweepTable table = MakeTable(plan, outcomes);
  EXPECT_EQ(table.comparisons.size(), 66u);
  for (const ComparisonRow& row : table.comparisons) {
    EXPECT_GE(row.adjusted_p, row.paired.p);
    EXPECT_EQ(row.better, Verdict::kUndecided) << row.first << " " << row.second << " " << row.paired.p;
  }
}

// A large sweep: so many variants with so many seeds each.
std::pair<StoredPlan, std::vector<TrialOutcome>> Large(int variants, int seeds) {
  std::pair<StoredPlan, std::vector<TrialOutcome>> large;
  large.first.axes = {"optimizer.learning_rate", "algorithm.beta", "run.seed"};
  for (int v = 0; v < variants; ++v) {
    for (int seed = 1; seed <= seeds; ++seed) {
      const std::string arm = absl::StrCat("draw", v);
      large.first.trials.push_back(
          {.name = absl::StrCat(arm, "-seed", seed),
           .arm = arm,
           .problem = "p",
           .config_sha256 = std::string(64, 'c'),
           .base = 0,
           .seed = seed,
           .settings = {absl::StrCat("0.", 1000 + v), absl::StrCat(v % 3), absl::StrCat(seed)}});
      TrialOutcome outcome = Done((v * 7919 % variants) + 0.1 * ((v + 3 * seed) % 5));
      outcome.facts.keys = {{"optimizer.learning_rate", absl::StrCat("0.", 1000 + v)}};
      large.second.push_back(std::move(outcome));
    }
  }
  return large;
}

TEST(SweepTableTest, OfManyVariantsEachIsComparedWithTheBestAndOfManyValuesWithTheNext) {
  const auto [plan, outcomes] = Large(200, 5);
  int64_t calls = 0;
  const SweepTable table = MakeTable(plan, outcomes, [&](absl::string_view, int64_t, int64_t) { ++calls; });
  const std::string markdown = ToMarkdown(table);
  EXPECT_EQ(table.variants.size(), 200u);
  EXPECT_EQ(table.comparisons.size(), 199u);
  EXPECT_EQ(table.pairs, 199 * 200 / 2);
  EXPECT_GE(calls, 200 + 199) << "signs of life";
  const auto best = std::max_element(table.variants.begin(), table.variants.end(), [](const auto& a, const auto& b) {
    return a.interquartile_mean < b.interquartile_mean;
  });
  const size_t index = static_cast<size_t>(best - table.variants.begin());
  for (const ComparisonRow& row : table.comparisons) {
    EXPECT_TRUE(row.first == index || row.second == index);
    // Which is the best is known from the scores: the family is that of all pairs.
    EXPECT_GE(row.adjusted_p, std::min(1.0, row.paired.p * static_cast<double>(table.pairs - 199)));
  }
  EXPECT_THAT(markdown, HasSubstr("for all comparisons (19900), is below 0.05. Of more than 45 variants of one"));
  // beta decides nothing of what else differs here, and each rate occurs with one beta: no two trials differ in one
  // key.
  EXPECT_TRUE(table.effects.empty());

  StoredPlan rates = plan;
  for (PlannedTrial& trial : rates.trials) trial.settings[1] = "0";
  const SweepTable of_rates = MakeTable(rates, outcomes);
  ASSERT_EQ(of_rates.effects.size(), 199u) << "of neighbouring rates";
  EXPECT_EQ(of_rates.effects[0].paired.n, 5);
  EXPECT_EQ(of_rates.effects[7].first, "0.1007");
  EXPECT_EQ(of_rates.effects[7].second, "0.1008");
}

TEST(SweepTableTest, TheKeysInWhichVariantsDifferAreListedWhetherTheFileVariesThemOrNot) {
  std::vector<TrialOutcome> outcomes = Outcomes();
  for (size_t i = 0; i < 10; ++i) {
    outcomes[i].facts.keys = {{"algorithm.name", i < 5 ? "\"a\"" : "\"b\""}, {"run.steps", "9"}};
    if (i >= 5) outcomes[i].facts.keys.insert(outcomes[i].facts.keys.begin(), {"algorithm.beta", "0.05"});
  }
  const SweepTable table = MakeTable(TwoVariants(), outcomes);
  ASSERT_EQ(table.keys.size(), 4u) << "run.steps is the same";
  EXPECT_EQ(table.keys[0].key, "algorithm.beta");
  EXPECT_EQ(table.keys[0].value, "0.0") << "its default";
  EXPECT_EQ(table.keys[2].value, "0.05");
  const std::string markdown = ToMarkdown(table);
  EXPECT_THAT(markdown, HasSubstr("| variant | algorithm.beta \\* | algorithm.name |\n|---|---|---|\n"
                                  "| a | 0.0 | \"a\" |\n| b | 0.05 | \"b\" |\n"));
  EXPECT_THAT(markdown, HasSubstr("\n\\* The sweep's file does not vary this key"));
}

TEST(SweepTableTest, SeedsNeededSaysThatNothingIsCorrected) {
  EXPECT_THAT(SeedsNeededMarkdown(MakeTable(TwoVariants(), Outcomes())),
              HasSubstr("has a p below 0.05 in 80% of cases. That is the p of one comparison alone, without Holm's"));
}

// eval_greedy_accuracy is a multiple of 1/n: ties are common, and two of them are no decision.
TEST(SweepTableTest, EqualDifferencesOfTwoSeedsDecideNothing) {
  std::vector<TrialOutcome> outcomes = Outcomes();
  for (size_t i = 0; i < 10; ++i) outcomes[i] = i % 5 < 2 ? Done(i < 5 ? 0.5 : 0.75) : TrialOutcome();
  const SweepTable table = MakeTable(TwoVariants(), outcomes);
  EXPECT_EQ(table.comparisons[0].better, Verdict::kUndecided);
  EXPECT_EQ(table.comparisons[0].adjusted_p, 0.5);
  EXPECT_THAT(ToMarkdown(table), HasSubstr("- b - a: 0.25 (95%: -, 2 seeds)\n"));
}

TEST(SweepTableTest, TheFileHoldsTheTables) {
  const SweepTable table = MakeTable(TwoVariants(), Outcomes());
  ASSERT_OK_AND_ASSIGN(const TableBytes bytes, EncodeTable(table));
  ASSERT_OK_AND_ASSIGN(TableFile file, ParseTableFile(bytes.h5, "sweep.h5"));
  ASSERT_EQ(file.tables.size(), 7u);
  EXPECT_EQ(file.tables[5].schema().name, "trials");
  EXPECT_EQ(file.tables[5].rows(), 10);
  ASSERT_OK_AND_ASSIGN(const StoredPlan plan, ParsePlan(file.plan));
  EXPECT_EQ(PlanText(plan), PlanText(table.plan));
  TableFile changed = file;
  changed.tables[5].MutableValues<double>(10)[4] = 501;
  EXPECT_EQ(FirstDifference(file, changed), "trials, row 4 (4-a-seed5), score: stored 500.0, computed 501.0");
  changed.tables[5].MutableValues<uint8_t>(4)[2] = 0;
  changed.tables[0].MutableValues<int64_t>(3)[0] = 4;
  EXPECT_EQ(FirstDifference(file, changed), "trials, row 2 (2-a-seed3), status: stored done, computed unfinished")
      << "the comparisons that follow from it come later";
  EXPECT_EQ(FirstDifference(file, file), "");
  for (const size_t place : {size_t{100}, size_t{600}, bytes.h5.size() - 1}) {
    std::string damaged = bytes.h5;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    EXPECT_THAT(ParseTableFile(damaged, "sweep.h5"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("sweep.h5: ")));
  }
  EXPECT_THAT(RunReader::Parse(PosixFileSystem(), bytes.h5, "sweep.h5"),
              StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
}

TEST(StoredPlanTest, ACorruptedPlanIsRejected) {
  const std::string text = PlanText(TwoVariants());
  ASSERT_OK(ParsePlan(text));
  EXPECT_THAT(ParsePlan(text.substr(0, 100)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the plan is damaged")));
  std::string outside = text;
  outside.replace(outside.find("0-a-seed1"), 9, "../../etc");
  EXPECT_THAT(ParsePlan(outside), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its name is not that of a trial")));
}

TEST(TrialOutcomeTest, AFailureNamesNeitherRankNorFolder) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "/sweep/trials/00-a");
  const PlannedTrial trial = TwoVariants().trials[0];
  FileSystem& files = PosixFileSystem();
  ASSERT_OK_AND_ASSIGN(TrialOutcome outcome, ReadOutcome(files, directory, {}, trial));
  EXPECT_EQ(outcome.status, TrialStatus::kUnfinished);
  const absl::Status failure = absl::DataLossError(absl::StrCat("rank 3: ", directory, "/segments/x.h5 is damaged"));
  ASSERT_OK(WriteFailure(files, directory, failure));
  ASSERT_OK(WriteFailure(files, directory, failure)) << "the second replaces the first";
  ASSERT_OK_AND_ASSIGN(outcome, ReadOutcome(files, directory, {}, trial));
  EXPECT_EQ(outcome.status, TrialStatus::kFailed);
  EXPECT_EQ(outcome.code, "DATA_LOSS");
  EXPECT_EQ(outcome.sentence, "segments/x.h5 is damaged");
  ASSERT_OK(ClearFailure(files, directory));
  ASSERT_OK(ClearFailure(files, directory));
  ASSERT_OK_AND_ASSIGN(outcome, ReadOutcome(files, directory, {}, trial));
  EXPECT_EQ(outcome.status, TrialStatus::kUnfinished);
}

// A failed trial has no run: one of the two was put there.
TEST(TrialOutcomeTest, AFailureBesideARunIsCorruption) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "/sweep/trials/03-a");
  FileSystem& files = PosixFileSystem();
  ASSERT_OK(WriteFailure(files, directory, absl::DataLossError("x")));
  ASSERT_OK(WriteFileAtomically(files, JoinPath(directory, "run.h5"), "anything"));
  EXPECT_THAT(ReadOutcome(files, directory, {}, TwoVariants().trials[0]),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("03-a/failure.json: a failure is noted beside a complete run.h5")));
}

TEST(TrialOutcomeTest, AFailureWithinAStepNamesNeitherTheRankNorTheNumberOfARequest) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "/sweep/trials/02-a");
  FileSystem& files = PosixFileSystem();
  const auto stored = [&](absl::string_view sentence) {
    EXPECT_OK(WriteFailure(files, directory, absl::InternalError(sentence)));
    const absl::StatusOr<TrialOutcome> outcome = ReadOutcome(files, directory, {}, TwoVariants().trials[0]);
    return outcome.ok() ? outcome->sentence : std::string(outcome.status().message());
  };
  EXPECT_EQ(stored("rank 1: step 1: rank 12: the process exited with code 3"),
            "step 1: the process exited with code 3");
  EXPECT_EQ(stored("of rank 1: no rank: rank 2 is said"), "of rank 1: no rank: rank 2 is said");
  EXPECT_EQ(stored(R"(step 1: it replied {"id": 13, "reward": {}} and {\"id\":5} to "ids" and "id": x)"),
            R"(step 1: it replied {"id": ..., "reward": {}} and {\"id\":...} to "ids" and "id": x)");
}

TEST(TrialOutcomeTest, AFailureHasNoNamesOfTemporaryFiles) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "/sweep/trials/01-a");
  FileSystem& files = PosixFileSystem();
  ASSERT_OK(WriteFailure(files, directory,
                         absl::ResourceExhaustedError(absl::StrCat(
                             "cannot write ", directory, "/run.h5.tmp-8678-ac75d4bb-34: No space left on device; ",
                             "beside it are a.tmp-1-2-3 and x.tmp-old"))));
  ASSERT_OK_AND_ASSIGN(const TrialOutcome outcome, ReadOutcome(files, directory, {}, TwoVariants().trials[0]));
  EXPECT_EQ(outcome.sentence, "cannot write run.h5: No space left on device; beside it are a and x.tmp-old");
}

TEST(TrialOutcomeTest, SummariesAreOfTrainingSteps) {
  StreamTable metrics(rl::RecordStream("metrics", {StringColumn("name"), ScalarColumn("value", DType::kF64)}));
  const auto add = [&](uint8_t phase, int64_t step, const char* name, double value) {
    metrics.AppendU8(0, phase);
    metrics.AppendI64(1, step);
    metrics.AppendString(2, name);
    metrics.AppendF64(3, value);
  };
  add(0, 1, "reward", 1000);
  for (int64_t step = 1; step <= 11; ++step) add(1, step, "reward", static_cast<double>(step));
  add(1, 11, "kl", -1);
  ASSERT_OK_AND_ASSIGN(const std::vector<MetricSummary> summaries, Summarize(metrics));
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].name, "kl");
  EXPECT_EQ(summaries[1].count, 11);
  EXPECT_EQ(summaries[1].first, 1);
  EXPECT_EQ(summaries[1].last, 11);
  EXPECT_EQ(summaries[1].mean, 6);
  EXPECT_EQ(summaries[1].tail, 10.5) << "the last tenth of 11 values are two";
}

TEST(TrialOutcomeTest, AStreamThatIsNotOfMetricsIsCorruption) {
  const StreamTable others[] = {
      StreamTable(rl::RecordStream("metrics", {StringColumn("name"), ScalarColumn("values", DType::kF64)})),
      StreamTable(rl::RecordStream("metrics", {StringColumn("name"), ScalarColumn("value", DType::kI64)})),
      StreamTable(rl::RecordStream("metrics", {StringColumn("name"), RaggedColumn("value", DType::kF64)})),
      StreamTable(
          rl::RecordStream("metrics", {ScalarColumn("name", DType::kI32), ScalarColumn("value", DType::kF64)}))};
  for (const StreamTable& other : others) {
    EXPECT_THAT(Summarize(other),
                testing::StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("other columns")));
  }
}

}  // namespace
}  // namespace reprise
