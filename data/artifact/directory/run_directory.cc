#include "data/artifact/directory/run_directory.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/file_system.h"
#include "core/status/status_macros.h"

namespace reprise::internal {

std::string RunPath(absl::string_view run_directory) { return JoinPath(run_directory, "run.h5"); }
std::string EpochDirectory(absl::string_view run_directory) { return JoinPath(run_directory, "epochs"); }
std::string SegmentDirectory(absl::string_view run_directory) { return JoinPath(run_directory, "segments"); }

std::string AsideDirectory(absl::string_view run_directory) { return JoinPath(run_directory, "aside"); }

absl::Status CheckNoLinks(absl::string_view run_directory) {
  for (const absl::string_view name : {"epochs", "segments", "checkpoints", "states", "aside"}) {
    RETURN_IF_ERROR(CheckIsNoLink(JoinPath(run_directory, name)));
  }
  return absl::OkStatus();
}

std::string EpochName(int64_t epoch) { return absl::StrFormat("E%04d", epoch); }

int64_t EpochOf(absl::string_view name) {
  int64_t epoch = 0;
  const bool is_number = name.size() > 1 && name[0] == 'E' && absl::SimpleAtoi(name.substr(1), &epoch);
  return is_number && epoch > 0 && epoch <= kLastEpoch && name == EpochName(epoch) ? epoch : 0;
}

std::string JournalPath(absl::string_view run_directory, int64_t epoch) {
  return JoinPath(run_directory, absl::StrCat("journal.", EpochName(epoch)));
}

int64_t EpochOfJournal(absl::string_view name) { return absl::ConsumePrefix(&name, "journal.") ? EpochOf(name) : 0; }

std::string SegmentName(int64_t epoch, int64_t index) { return absl::StrFormat("%s-%06d.h5", EpochName(epoch), index); }

int64_t EpochOfSegment(absl::string_view name) {
  const absl::string_view final_name = FinalName(name);
  const size_t dash = final_name.find('-');
  if (dash == absl::string_view::npos) return 0;
  const int64_t epoch = EpochOf(final_name.substr(0, dash));
  absl::string_view digits = final_name.substr(dash + 1);
  int64_t index = -1;
  const bool is_index = absl::ConsumeSuffix(&digits, ".h5") && absl::SimpleAtoi(digits, &index) && index >= 0;
  return epoch > 0 && is_index && final_name == SegmentName(epoch, index) ? epoch : 0;
}

}  // namespace reprise::internal
