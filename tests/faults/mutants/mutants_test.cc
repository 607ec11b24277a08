// Promise: every corruption of a run's file is detected. Every mutant is rejected or yields only correct values; none
// crashes the reader, and none takes it a second.

#include <algorithm>
#include <cstdio>

#include "core/io/atomic_file.h"
#include "core/io/fake_file_system.h"
#include "data/artifact/directory/journal.h"
#include "data/artifact/directory/lineage.h"
#include "data/artifact/run_reader.h"
#include "gtest/gtest.h"
#include "tests/faults/mutants/judge.h"
#include "tests/faults/mutants/subjects.h"

namespace reprise::testing {
namespace {

using internal::JournalEntry;

constexpr int64_t kMutantsOfAKind = MUTANTS_OF_A_KIND;

Verdict JudgeRunFile(const std::string& bytes) {
  FakeFileSystem files;
  EXPECT_TRUE(WriteFileAtomically(files, "a.h5", bytes).ok());
  const absl::StatusCode code = RunReader::Open(files, "a.h5").status().code();
  const bool refused = code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kUnimplemented;
  return refused ? Verdict::kRejected : Verdict::kWronglyAccepted;
}

bool IsPrefix(const std::vector<JournalEntry>& entries, const std::vector<JournalEntry>& of) {
  return entries.size() <= of.size() && std::equal(entries.begin(), entries.end(), of.begin());
}

std::vector<JournalEntry> ParseEntries(const std::string& journal) {
  return internal::ParseJournal(journal).value().entries;
}

// A truncated journal equals an earlier state of it, so its entries may be accepted. A journal does not name its run:
// the lineage (below) detects that the beginning of another journal is in its place.
Verdict JudgeJournal(const std::vector<std::string>& journals, const std::string& bytes) {
  const auto journal = internal::ParseJournal(bytes);
  if (!journal.ok()) return absl::IsDataLoss(journal.status()) ? Verdict::kRejected : Verdict::kWronglyAccepted;
  const bool harmless = std::any_of(journals.begin(), journals.end(), [&](const std::string& original) {
    return IsPrefix(journal->entries, ParseEntries(original));
  });
  return harmless ? Verdict::kHarmless : Verdict::kWronglyAccepted;
}

absl::StatusOr<std::vector<JournalEntry>> ParseLineage(const std::vector<std::string>& journals) {
  FakeFileSystem files;
  EXPECT_TRUE(CreateDirectories(files, "run/epochs").ok());
  for (size_t i = 0; i < journals.size(); ++i) {
    const int64_t epoch = static_cast<int64_t>(i) + 1;
    EXPECT_TRUE(WriteFileAtomically(files, "run/epochs/" + internal::EpochName(epoch), "claimed\n").ok());
    EXPECT_TRUE(WriteFileAtomically(files, internal::JournalPath("run", epoch), journals[i]).ok());
  }
  const auto lineage = internal::ReadLineage(files, "run", 100);
  if (!lineage.ok()) return lineage.status();
  return lineage->entries;
}

// Returns the run's entries at the end of each of its epochs. Each prefix of one of them is a state that the run had.
std::vector<std::vector<JournalEntry>> CollectPasts(std::vector<std::string> journals) {
  std::vector<std::vector<JournalEntry>> pasts;
  for (; !journals.empty(); journals.pop_back()) pasts.push_back(ParseLineage(journals).value());
  return pasts;
}

Verdict JudgeLineage(const std::vector<std::vector<JournalEntry>>& pasts, const std::vector<std::string>& journals) {
  const auto entries = ParseLineage(journals);
  if (!entries.ok()) return absl::IsDataLoss(entries.status()) ? Verdict::kRejected : Verdict::kWronglyAccepted;
  const bool harmless =
      std::any_of(pasts.begin(), pasts.end(), [&](const auto& past) { return IsPrefix(*entries, past); });
  return harmless ? Verdict::kHarmless : Verdict::kWronglyAccepted;
}

void ExpectAllNoticed(const char* kind, const Tally& tally, int64_t mutants) {
  std::printf("%s: %s\n", kind, tally.text().c_str());
  EXPECT_EQ(tally.mutants, mutants);
  EXPECT_EQ(tally.wrongly_accepted, 0);
  EXPECT_LT(tally.slowest_seconds, 1.0);
  for (const int64_t count : tally.by_corruption) EXPECT_GT(count, mutants / (2 * kCorruptions));
}

TEST(MutantsTest, OfARunFileAreRejected) {
  const Tally tally = JudgeMutants(ExampleRunFile(4), ExampleRunFile(3), 0, kMutantsOfAKind, JudgeRunFile);
  ExpectAllNoticed("run.h5", tally, kMutantsOfAKind);
  EXPECT_EQ(tally.harmless, 0);
}

TEST(MutantsTest, OfASegmentAreRejected) {
  const Tally tally = JudgeMutants(ExampleSegment(3), ExampleSegment(2), 0, kMutantsOfAKind, JudgeRunFile);
  ExpectAllNoticed("segments", tally, kMutantsOfAKind);
  EXPECT_EQ(tally.harmless, 0);
}

TEST(MutantsTest, OfAJournalAreRejectedOrEqualAnEarlierState) {
  const std::vector<std::string> journals = ExampleJournals();
  const auto judge = [&](const std::string& bytes) { return JudgeJournal({journals[1], journals[2]}, bytes); };
  ExpectAllNoticed("journals", JudgeMutants(journals[1], journals[2], 0, kMutantsOfAKind, judge), kMutantsOfAKind);
}

TEST(MutantsTest, OfTheJournalsOfSeveralEpochsAreRejectedOrEqualAnEarlierState) {
  const std::vector<std::string> journals = ExampleJournals();
  const auto pasts = CollectPasts(journals);
  for (size_t damaged = 0; damaged < journals.size(); ++damaged) {
    const auto judge = [&](const std::string& bytes) {
      std::vector<std::string> mutated = journals;
      mutated[damaged] = bytes;
      return JudgeLineage(pasts, mutated);
    };
    const int64_t mutants = kMutantsOfAKind / static_cast<int64_t>(journals.size());
    const std::string& other = journals[(damaged + 1) % journals.size()];
    const Tally tally = JudgeMutants(journals[damaged], other, 1'000'000'000 * damaged, mutants, judge);
    ExpectAllNoticed("journals of a lineage", tally, mutants);
    EXPECT_GT(tally.refused, mutants / 4);
  }
}

// Shows that the tests above can fail: the judges report accepted files whose contents are wrong.
TEST(MutantsTest, JudgesReportAnAcceptedFileWithWrongContents) {
  EXPECT_EQ(JudgeRunFile(ExampleRunFile(3)), Verdict::kWronglyAccepted);
  const std::vector<std::string> journals = ExampleJournals();
  EXPECT_EQ(JudgeJournal({journals[1]}, journals[2]), Verdict::kWronglyAccepted);
  EXPECT_EQ(JudgeJournal({journals[1]}, journals[1].substr(0, 900)), Verdict::kHarmless);
  EXPECT_EQ(JudgeLineage({ParseEntries("")}, journals), Verdict::kWronglyAccepted);
  EXPECT_EQ(JudgeLineage(CollectPasts(journals), journals), Verdict::kHarmless);
}

}  // namespace
}  // namespace reprise::testing
