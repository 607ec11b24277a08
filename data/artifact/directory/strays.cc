#include "data/artifact/directory/strays.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/digest/sha256.h"
#include "core/io/atomic_file.h"
#include "core/status/conditions.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/run_directory.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_arrays.h"

namespace reprise::internal {
namespace {

std::string PathOf(absl::string_view run_directory, absl::string_view name) {
  return JoinPath(SegmentDirectory(run_directory), name);
}

// A run file in memory.
struct ReadRun {
  std::string bytes;
  StoredRun run;  // refers to bytes
};

// Returns null if the file is gone, damaged, or of a format or kind that this program cannot read.
absl::StatusOr<std::unique_ptr<ReadRun>> TryRead(FileSystem& files, const std::string& path) {
  auto read = std::make_unique<ReadRun>();
  absl::StatusOr<std::string> bytes = ReadContainerFile(files, path);
  if (IsFileError(bytes.status())) return bytes.status();
  if (!bytes.ok()) return nullptr;
  read->bytes = *std::move(bytes);
  absl::StatusOr<StoredRun> run = ParseRun(read->bytes);
  if (!run.ok()) return nullptr;
  read->run = *std::move(run);
  return read;
}

// Returns whether a step's rows of one stream are the same in both files, or the segment has none.
bool SameRows(const StreamTable& segment, const StreamTable& holder) {
  if (segment.rows() == 0) return true;
  if (segment.rows() != holder.rows() || !(segment.schema() == holder.schema())) return false;
  for (size_t i = 0; i < segment.schema().columns.size(); ++i) {
    const int column = static_cast<int>(i);
    if (segment.ValueBytes(column) != holder.ValueBytes(column)) return false;
    if (segment.Offsets(column) != holder.Offsets(column)) return false;
  }
  return true;
}

StreamTable RowsOfStep(const StoredStream& stream, size_t step) {
  return stream.table.Rows(step == 0 ? 0 : stream.row_ends[step - 1], stream.row_ends[step]);
}

bool HoldsStep(const StoredRun& holder, size_t place, const StoredRun& segment, size_t step) {
  for (const StoredStream& stream : segment.streams) {
    const StreamTable rows = RowsOfStep(stream, step);
    const auto same = std::find_if(holder.streams.begin(), holder.streams.end(), [&](const StoredStream& other) {
      return other.table.schema().name == stream.table.schema().name;
    });
    if (same == holder.streams.end() ? rows.rows() > 0 : !SameRows(rows, RowsOfStep(*same, place))) return false;
  }
  return true;
}

// Removes the segment's steps that `holder` also has from `left`.
void CrossOut(const StoredRun& holder, const StoredRun& segment, std::set<int64_t>* left) {
  for (size_t step = 0; step < segment.steps.size(); ++step) {
    const auto found = std::lower_bound(holder.steps.begin(), holder.steps.end(), segment.steps[step]);
    if (found == holder.steps.end() || *found != segment.steps[step]) continue;
    if (HoldsStep(holder, static_cast<size_t>(found - holder.steps.begin()), segment, step)) left->erase(*found);
  }
}

// A stray that continues what is committed.
struct Continuation {
  int64_t first_step = -1;  // -1: it has none
  JournalEntry entry;       // as its process would have written it
};

// Returns nothing if the stray does not continue `committed`.
absl::StatusOr<std::optional<Continuation>> ContinuationBy(FileSystem& files, absl::string_view run_directory,
                                                           const std::string& name, const RunHeader& header,
                                                           const Committed& committed, int64_t next_step) {
  if (committed.segments.empty()) return std::nullopt;  // a run's first segment holds no steps
  const int64_t epoch = EpochOfSegment(name);
  const auto is_of_epoch = [&](const std::string& path) {
    return EpochOfSegment(absl::string_view(path).substr(path.rfind('/') + 1)) == epoch;
  };
  const int64_t named = std::count_if(committed.segments.begin(), committed.segments.end(), is_of_epoch);
  if (name != SegmentName(epoch, named)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadRun> read, TryRead(files, PathOf(run_directory, name)));
  if (read == nullptr || read->run.header != header) return std::nullopt;
  const std::vector<int64_t>& steps = read->run.steps;
  const bool is_next = steps.empty() || committed.last_step < 0 || steps.front() == next_step;
  if (!is_next) return std::nullopt;
  return Continuation{.first_step = steps.empty() ? -1 : steps.front(),
                      .entry = {.kind = kSegmentKind,
                                .number = steps.empty() ? committed.last_step : steps.back(),
                                .size = static_cast<int64_t>(read->bytes.size()),
                                .sha256 = Sha256(read->bytes),
                                .name = name}};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListSegments(FileSystem& files, absl::string_view run_directory,
                                                      int64_t last_epoch) {
  absl::StatusOr<std::vector<std::string>> names = files.List(SegmentDirectory(run_directory));
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  RETURN_IF_ERROR(names.status());
  std::erase_if(*names, [&](const std::string& name) {
    const int64_t epoch = EpochOfSegment(name);
    return epoch == 0 || epoch > last_epoch || IsTemporaryName(name);
  });
  return names;
}

absl::StatusOr<std::vector<std::string>> StraysOf(absl::string_view run_directory,
                                                  absl::Span<const std::string> segments, const Lineage& lineage) {
  std::set<std::string> named;
  for (const JournalEntry& entry : lineage.entries) named.insert(entry.name);
  std::vector<std::string> strays;
  std::map<int64_t, int64_t> strays_of_epoch;
  for (const std::string& name : segments) {
    if (named.contains(name)) continue;
    strays.push_back(name);
    ++strays_of_epoch[EpochOfSegment(name)];
  }
  for (const auto& [epoch, count] : strays_of_epoch) {
    if (count <= 1) continue;
    return absl::DataLossError(absl::StrCat(JournalPath(run_directory, epoch),
                                            ": it was truncated or lost: it does not name ", count,
                                            " segments of epoch ", epoch, " in ", SegmentDirectory(run_directory),
                                            ", and a crash leaves at most one; restore the journal from a copy, or "
                                            "restart the run in another directory"));
  }
  return strays;
}

namespace {

// Returns the number of the step that follows those of `committed`; any number may follow if it has none.
absl::StatusOr<int64_t> NextStep(const Committed& committed, const NextStepAfter& next_step_after) {
  if (committed.last_step < 0 || next_step_after == nullptr) return committed.last_step + 1;
  for (auto path = committed.segments.rbegin(); path != committed.segments.rend(); ++path) {
    ASSIGN_OR_RETURN(const int64_t next, next_step_after(JoinPath("segments", path->substr(path->rfind('/') + 1))));
    if (next > 0) return next;
  }
  return committed.last_step + 1;
}

// Adds one stray to `committed`: of those that continue it the one with the earliest first step, of several of these
// the one with the most steps. Returns nothing if there is none.
absl::StatusOr<std::optional<JournalEntry>> AdoptOne(FileSystem& files, absl::string_view run_directory,
                                                     const RunHeader& header, int64_t keep_checkpoints,
                                                     const NextStepAfter& next_step_after,
                                                     std::vector<std::string>* strays, Committed* committed) {
  if (strays->empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const int64_t next_step, NextStep(*committed, next_step_after));
  std::vector<Continuation> continuations;
  for (const std::string& name : *strays) {
    ASSIGN_OR_RETURN(const std::optional<Continuation> found,
                     ContinuationBy(files, run_directory, name, header, *committed, next_step));
    if (found.has_value()) continuations.push_back(*found);
  }
  std::stable_sort(continuations.begin(), continuations.end(), [](const Continuation& a, const Continuation& b) {
    return std::pair(a.first_step, -a.entry.number) < std::pair(b.first_step, -b.entry.number);
  });
  for (const auto& [first_step, entry] : continuations) {
    Committed more = *committed;
    const absl::Status added = AddSegment(files, run_directory, entry, keep_checkpoints, &more);
    if (added.ok()) {
      *committed = std::move(more);
      std::erase(*strays, entry.name);
      return entry;
    }
    if (!absl::IsDataLoss(added)) return added;  // DataLoss: a checkpoint that it names does not exist
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<JournalEntry>> AdoptStrays(FileSystem& files, absl::string_view run_directory,
                                                      const RunHeader& header, int64_t keep_checkpoints,
                                                      const NextStepAfter& next_step_after,
                                                      std::vector<std::string>* strays, Committed* committed) {
  std::vector<JournalEntry> adopted;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<JournalEntry> entry,
                     AdoptOne(files, run_directory, header, keep_checkpoints, next_step_after, strays, committed));
    if (!entry.has_value()) return adopted;
    adopted.push_back(*entry);
  }
}

absl::StatusOr<DividedSegments> DivideSegments(FileSystem& files, absl::string_view run_directory,
                                               absl::Span<const std::string> segments,
                                               absl::Span<const std::string> holders) {
  DividedSegments divided;
  std::map<std::string, std::set<int64_t>> left;  // the remaining steps of each segment that can be read
  for (const std::string& name : segments) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadRun> read, TryRead(files, PathOf(run_directory, name)));
    if (read != nullptr) left[name] = std::set<int64_t>(read->run.steps.begin(), read->run.steps.end());
  }
  for (const std::string& path : holders) {
    const auto has_steps = [](const auto& segment) { return !segment.second.empty(); };
    if (std::none_of(left.begin(), left.end(), has_steps)) break;
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadRun> holder, TryRead(files, path));
    if (holder == nullptr) continue;
    for (auto& [name, steps] : left) {
      if (steps.empty()) continue;
      ASSIGN_OR_RETURN(const std::unique_ptr<ReadRun> segment, TryRead(files, PathOf(run_directory, name)));
      if (segment != nullptr) CrossOut(holder->run, segment->run, &steps);
    }
  }
  for (const std::string& name : segments) {
    const auto found = left.find(name);
    (found != left.end() && found->second.empty() ? divided.held : divided.others).push_back(name);
  }
  return divided;
}

absl::StatusOr<std::vector<std::string>> MoveAside(FileSystem& files, absl::string_view run_directory,
                                                   absl::Span<const std::string> paths) {
  std::vector<std::string> moved;
  if (paths.empty()) return moved;
  const std::string directory = AsideDirectory(run_directory);
  RETURN_IF_ERROR(CreateDirectories(files, directory));
  for (const std::string& path : paths) {
    const std::string name = JoinPath(directory, path.substr(path.rfind('/') + 1));
    std::string target = name;
    absl::Status renamed = files.RenameNoReplace(path, target);
    for (int64_t count = 2; absl::IsAlreadyExists(renamed); ++count) {
      target = absl::StrCat(name, ".", count);
      renamed = files.RenameNoReplace(path, target);
    }
    if (absl::IsNotFound(renamed)) continue;
    RETURN_IF_ERROR(renamed);
    moved.push_back(target);
  }
  RETURN_IF_ERROR(files.SyncDirectory(directory));
  return moved;
}

}  // namespace reprise::internal
