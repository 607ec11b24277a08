#include "data/artifact/directory/journal.h"

#include <algorithm>
#include <cerrno>

#include "core/io/fake_file_system.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace reprise::internal {
namespace {

using ::reprise::testing::StatusIs;
using ::testing::HasSubstr;

JournalEntry Entry(int64_t number) {
  return {"segment", number, 100 + number, Sha256("contents"), "segments/E0001-000001.h5"};
}

std::string Lines(int count) {
  std::string bytes;
  JournalPosition position;
  for (int i = 0; i < count; ++i) bytes += EncodeEntry(Entry(i), &position);
  return bytes;
}

TEST(JournalTest, ReadsBackWhatWasAppended) {
  FakeFileSystem files;
  ASSERT_OK_AND_ASSIGN(JournalWriter writer, JournalWriter::Create(files, "journal"));
  for (int i = 0; i < 5; ++i) ASSERT_OK(writer.Append(Entry(i)));
  files.LosePower();
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(files, "journal", 1 << 20));
  ASSERT_OK_AND_ASSIGN(const ParsedJournal journal, ParseJournal(bytes));
  EXPECT_EQ(journal.entries, (std::vector<JournalEntry>{Entry(0), Entry(1), Entry(2), Entry(3), Entry(4)}));
  EXPECT_EQ(journal.ends.back().bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_FALSE(journal.is_torn);
  EXPECT_FALSE(JournalWriter::Create(files, "journal").ok());
}

TEST(JournalTest, AnEntryThatACrashTruncatedIsDroppedAndThoseBeforeItRemain) {
  const std::string whole = Lines(4);
  const size_t three = Lines(3).size();
  for (size_t size = three; size < whole.size(); ++size) {
    ASSERT_OK_AND_ASSIGN(const ParsedJournal journal, ParseJournal(whole.substr(0, size)));
    EXPECT_EQ(journal.entries.size(), 3u);
    EXPECT_EQ(journal.is_torn, size > three);
  }
}

TEST(JournalTest, SectorsThatNeverReachedTheDiskEndTheJournal) {
  const std::string whole = Lines(4);
  const size_t three = Lines(3).size();
  for (size_t sector = three / 512; sector <= whole.size() / 512; ++sector) {
    std::string torn = whole;
    for (size_t i = std::max(three, sector * 512); i < std::min(whole.size(), (sector + 1) * 512); ++i) torn[i] = '\0';
    ASSERT_OK_AND_ASSIGN(const ParsedJournal journal, ParseJournal(torn));
    EXPECT_EQ(journal.entries.size(), 3u) << sector;
    EXPECT_TRUE(journal.is_torn);
  }
}

TEST(JournalTest, ZerosThatDoNotFillWholeSectorsAreCorruption) {
  int bounds = 0;
  for (int entries = 1; entries <= 8; ++entries) {
    const std::string whole = Lines(entries);
    const size_t last = Lines(entries - 1).size();
    const size_t bound = (last / 512 + 1) * 512;
    if (bound + 1 >= whole.size()) continue;  // the last entry lies within one sector
    ++bounds;
    const auto zeroed = [&](size_t begin, size_t end) {
      std::string torn = whole;
      std::fill(torn.begin() + static_cast<int64_t>(begin), torn.begin() + static_cast<int64_t>(end), '\0');
      return ParseJournal(torn).status();
    };
    for (size_t end = bound + 1; end < whole.size(); ++end) {
      EXPECT_THAT(zeroed(bound, end), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged"))) << end;
    }
    for (size_t begin = last + 1; begin < bound; ++begin) {
      EXPECT_THAT(zeroed(begin, bound), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged"))) << begin;
    }
    EXPECT_OK(zeroed(last, bound));
    EXPECT_OK(zeroed(bound, whole.size()));
  }
  EXPECT_GT(bounds, 0);
}

TEST(JournalTest, EveryFlippedBitIsDetected) {
  const std::string whole = Lines(3);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto journal = ParseJournal(damaged);
    EXPECT_THAT(journal.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged"))) << bit;
  }
}

TEST(JournalTest, AMissingOrMovedEntryIsDetected) {
  const size_t one = Lines(1).size(), two = Lines(2).size();
  const std::string whole = Lines(3);
  EXPECT_FALSE(ParseJournal(whole.substr(one)).ok());
  EXPECT_FALSE(ParseJournal(whole.substr(0, one) + whole.substr(two)).ok());
}

RC_GTEST_PROP(JournalTest, NoBytesMakeItCrash, (const std::string& bytes)) {
  const auto journal = ParseJournal(bytes);
  const bool has_entries = journal.ok() && !journal->entries.empty();
  RC_ASSERT(!has_entries);
}

TEST(JournalTest, AnErrorOfTheDiskIsReportedFromEveryCall) {
  const auto write = [](FakeFileSystem& files) -> absl::Status {
    auto writer = JournalWriter::Create(files, "journal");
    return writer.ok() ? writer->Append(Entry(1)) : writer.status();
  };
  FakeFileSystem whole;
  ASSERT_OK(write(whole));
  for (int64_t call = 0; call < whole.calls(); ++call) {
    FakeFileSystem files;
    files.FailCall(call, EIO);
    EXPECT_TRUE(IsFileError(write(files))) << whole.log()[call];
  }
}

}  // namespace
}  // namespace reprise::internal
