#include "data/artifact/directory/lineage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/read_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/own_files.h"

namespace reprise::internal {
namespace {

constexpr absl::string_view kRestore = "; restore the journal from a copy, or restart the run in another directory";

// Returns a journal without entries if the epoch's process died before it wrote one.
absl::StatusOr<ParsedJournal> ReadJournal(FileSystem& files, absl::string_view run_directory, int64_t epoch) {
  const std::string path = JournalPath(run_directory, epoch);
  RETURN_IF_ERROR(CheckIsNoLink(path));
  const absl::StatusOr<std::string> bytes = ReadFile(files, path, kLargestJournal);
  if (absl::IsNotFound(bytes.status())) return ParsedJournal();
  if (absl::IsDataLoss(bytes.status())) {
    return absl::DataLossError(absl::StrCat(bytes.status().message(), kRestore));
  }
  RETURN_IF_ERROR(bytes.status());
  absl::StatusOr<ParsedJournal> journal = ParseJournal(*bytes);
  if (!journal.ok()) return absl::DataLossError(absl::StrCat(path, ": ", journal.status().message(), kRestore));
  if (!journal->entries.empty() && journal->entries[0].kind != kParentKind) {
    return absl::DataLossError(absl::StrCat(path, ": it does not name the journal that it continues", kRestore));
  }
  return journal;
}

// Inserts the entries of `journal` up to `end`, and those that it continues, before `entries`.
absl::Status PrependPast(FileSystem& files, absl::string_view run_directory, int64_t epoch, ParsedJournal journal,
                         JournalPosition end, std::vector<JournalEntry>* entries) {
  for (;;) {
    const auto found = std::find(journal.ends.begin(), journal.ends.end(), end);
    if (found == journal.ends.end()) {
      return absl::DataLossError(absl::StrCat(JournalPath(run_directory, epoch), ": its first ", end.bytes,
                                              " bytes are not those that a later epoch continues", kRestore));
    }
    entries->insert(entries->begin(), journal.entries.begin() + 1,
                    journal.entries.begin() + (found - journal.ends.begin()) + 1);
    const JournalEntry parent = journal.entries[0];
    if (parent.number == 0) return absl::OkStatus();
    if (parent.number >= epoch) {
      return absl::DataLossError(
          absl::StrCat(JournalPath(run_directory, epoch), ": it continues a later epoch", kRestore));
    }
    epoch = parent.number;
    end = {parent.size, parent.sha256};
    ASSIGN_OR_RETURN(journal, ReadJournal(files, run_directory, epoch));
  }
}

// Returns `status`, the error of a call on the epochs' directory; or, if it is NotFound, an error that says that
// another process is writing the same run: that process has removed our temporary file, or has finished the run and
// removed the directory.
absl::Status OrFaster(absl::string_view run_directory, const absl::Status& status) {
  if (!absl::IsAlreadyExists(status) && !absl::IsNotFound(status)) return status;
  return absl::FailedPreconditionError(
      absl::StrCat(run_directory, ": another process is taking over this run at this moment; let it run"));
}

bool LooksLikeAClaim(absl::string_view name) {
  return name.size() > 1 && name[0] == 'E' && std::all_of(name.begin() + 1, name.end(), absl::ascii_isdigit);
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ListEpochs(FileSystem& files, absl::string_view run_directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(EpochDirectory(run_directory)));
  std::vector<int64_t> epochs;
  for (const std::string& name : names) {
    if (EpochOf(name) > 0) epochs.push_back(EpochOf(name));
  }
  std::sort(epochs.begin(), epochs.end());
  return epochs;
}

absl::StatusOr<int64_t> NewestEpochNamed(FileSystem& files, absl::string_view run_directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(run_directory));
  absl::StatusOr<std::vector<std::string>> segments = files.List(SegmentDirectory(run_directory));
  if (absl::IsNotFound(segments.status())) segments = std::vector<std::string>();
  RETURN_IF_ERROR(segments.status());
  int64_t newest = 0;
  for (const std::string& name : names) newest = std::max(newest, EpochOfJournal(name));
  for (const std::string& name : *segments) newest = std::max(newest, EpochOfSegment(name));
  return newest;
}

absl::Status CheckClaims(FileSystem& files, absl::string_view run_directory) {
  const std::string directory = EpochDirectory(run_directory);
  const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (!LooksLikeAClaim(name)) continue;
    const std::string path = JoinPath(directory, name);
    const absl::StatusOr<FileInfo> info = files.Stat(path);
    if (absl::IsNotFound(info.status())) continue;  // another process is finishing the run
    RETURN_IF_ERROR(info.status());
    if (EpochOf(name) > 0 && !info->is_directory) continue;
    return absl::DataLossError(absl::StrCat(path, ": it is not the claim of an epoch, because ",
                                            info->is_directory ? "it is a directory" : "no epoch can have its number",
                                            "; move it out of the run's directory"));
  }
  return absl::OkStatus();
}

int64_t UnlikelyEpoch() { return 100'000'000 + DrawNumber() % 800'000'000; }

absl::Status Claim(FileSystem& files, absl::string_view run_directory, int64_t epoch) {
  return OrFaster(run_directory, WriteFileAtomically(files, JoinPath(EpochDirectory(run_directory), EpochName(epoch)),
                                                     kClaimText, kReadOnly));
}

absl::StatusOr<int64_t> ClaimEpoch(FileSystem& files, absl::string_view run_directory, int64_t first_epoch) {
  const absl::StatusOr<std::vector<int64_t>> epochs = ListEpochs(files, run_directory);
  RETURN_IF_ERROR(OrFaster(run_directory, epochs.status()));
  const int64_t newest = epochs->empty() ? 0 : epochs->back();
  ASSIGN_OR_RETURN(const int64_t named, NewestEpochNamed(files, run_directory));
  // A later epoch has left files but no claim, so claims are lost, perhaps also those of epochs that wrote nothing.
  const int64_t epoch = named > newest ? named + UnlikelyEpoch() : newest > 0 ? newest + 1 : first_epoch;
  if (epoch > kLastEpoch) {
    return absl::DataLossError(absl::StrCat(run_directory, " names epoch ", std::max(named, newest),
                                            ", after which there are no numbers left; no process claims such a number: "
                                            "move the files that have it in their names out of the run's directory"));
  }
  RETURN_IF_ERROR(Claim(files, run_directory, epoch));
  return epoch;
}

absl::Status CheckNotFenced(FileSystem& files, absl::string_view run_directory, int64_t epoch) {
  absl::StatusOr<std::vector<int64_t>> epochs = ListEpochs(files, run_directory);
  if (absl::IsNotFound(epochs.status())) epochs = std::vector<int64_t>();
  RETURN_IF_ERROR(epochs.status());
  const int64_t newest = epochs->empty() ? 0 : epochs->back();
  if (newest == epoch) return absl::OkStatus();
  const std::string what = newest > epoch ? absl::StrCat("has taken over this run (epoch ", newest, "; this one is ")
                                          : absl::StrCat("has finished or removed this run (the claim of epoch ");
  return absl::FailedPreconditionError(absl::StrCat(run_directory, ": another process ", what, epoch,
                                                    newest > epoch ? ")" : " is gone)",
                                                    "; this one stops, and adds nothing more to it"));
}

absl::StatusOr<Lineage> ReadLineage(FileSystem& files, absl::string_view run_directory, int64_t before_epoch) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(run_directory));
  std::vector<int64_t> epochs;
  for (const std::string& name : names) {
    if (EpochOfJournal(name) > 0) epochs.push_back(EpochOfJournal(name));
  }
  std::sort(epochs.rbegin(), epochs.rend());
  Lineage lineage;
  for (const int64_t epoch : epochs) {
    if (epoch >= before_epoch) continue;
    ASSIGN_OR_RETURN(ParsedJournal journal, ReadJournal(files, run_directory, epoch));
    if (journal.entries.empty()) continue;
    lineage.epoch = epoch;
    lineage.end = journal.ends.back();
    RETURN_IF_ERROR(PrependPast(files, run_directory, epoch, std::move(journal), lineage.end, &lineage.entries));
    break;
  }
  return lineage;
}

}  // namespace reprise::internal
