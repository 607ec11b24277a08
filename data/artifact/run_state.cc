#include "data/artifact/run_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/io/atomic_file.h"
#include "core/io/directory_entry.h"
#include "core/io/read_file.h"
#include "core/status/status_macros.h"
#include "data/artifact/directory/checkpoint_files.h"
#include "data/artifact/format/container.h"
#include "data/artifact/format/run_arrays.h"

namespace reprise {
namespace {

std::string StateName(int64_t step) { return absl::StrFormat("%08d.h5", step); }

std::string StatePath(absl::string_view run_directory, int64_t step) {
  return JoinPath(StateDirectory(run_directory), StateName(step));
}

// Returns the step in a name like 00000064.h5; -1 for any other name.
int64_t StepOf(absl::string_view name) {
  int64_t step = -1;
  const bool is_number = absl::SimpleAtoi(absl::StripSuffix(name, ".h5"), &step) && step >= 0;
  return is_number && name == StateName(step) ? step : -1;
}

absl::StatusOr<std::vector<std::string>> NamesIn(FileSystem& files, const std::string& directory) {
  RETURN_IF_ERROR(CheckIsNoLink(directory));
  absl::StatusOr<std::vector<std::string>> names = files.List(directory);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

// Returns the steps of the states among the names, ascending.
std::vector<int64_t> StepsIn(absl::Span<const std::string> names) {
  std::vector<int64_t> steps;
  for (const std::string& name : names) {
    if (StepOf(name) >= 0) steps.push_back(StepOf(name));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// Not an error if another process has already removed the file.
absl::Status Remove(FileSystem& files, const std::string& path) {
  const absl::Status removed = files.Unlink(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

// Whatever only has the name of a state is somebody's, and stays.
absl::Status RemoveState(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  if (entry.is_link) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool is_own, internal::IsContainerFile(files, path));
  return is_own ? Remove(files, path) : absl::OkStatus();
}

// Whether the name of a state is taken, be it by a link that leads nowhere.
absl::StatusOr<bool> IsTaken(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const DirectoryEntry entry, LookUp(path));
  return entry.exists ? absl::StatusOr<bool>(true) : Exists(files, path);
}

bool IsTemporaryState(absl::string_view name) { return IsTemporaryName(name) && StepOf(FinalName(name)) >= 0; }

}  // namespace

std::string StateDirectory(absl::string_view run_directory) { return JoinPath(run_directory, "states"); }

absl::Status WriteState(FileSystem& files, absl::string_view run_directory, const RunHeader& header, int64_t step,
                        absl::Span<const TensorGroup> groups) {
  RETURN_IF_ERROR(CheckIsNoLink(StateDirectory(run_directory)));
  const std::string path = StatePath(run_directory, step);
  ASSIGN_OR_RETURN(const bool exists, IsTaken(files, path));
  // The process that wrote it may have died before its name was durable; older states are removed after this.
  if (exists) return files.SyncDirectory(StateDirectory(run_directory));
  RunHeader sorted = header;
  Sort(sorted);
  internal::StepBatch batch(sorted);
  std::vector<internal::ArraySource> tensors;
  for (const TensorGroup& group : groups) {
    ASSIGN_OR_RETURN(const internal::CheckpointGroup index, internal::DescribeGroup(step, group.name, group.tensors));
    internal::AppendGroup(index, batch.checkpoint_index);
    for (size_t i = 0; i < group.tensors.size(); ++i) {
      const TensorView& tensor = group.tensors[i];
      tensors.push_back(internal::SourceOf(
          {internal::TensorPath(index, index.tensors[i]), tensor.dtype, tensor.shape},
          absl::string_view(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())));
    }
  }
  std::vector<internal::ArraySource> arrays = internal::SourcesOf(sorted, batch);
  std::move(tensors.begin(), tensors.end(), std::back_inserter(arrays));
  RETURN_IF_ERROR(CreateDirectories(files, StateDirectory(run_directory)));
  ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(files, path, kReadOnly));
  RETURN_IF_ERROR(internal::WriteContainer(std::move(arrays), file.file()).status());
  return file.Commit();
}

absl::StatusOr<std::vector<int64_t>> ListStates(FileSystem& files, absl::string_view run_directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(files, StateDirectory(run_directory)));
  return StepsIn(names);
}

absl::StatusOr<RunReader> OpenState(FileSystem& files, absl::string_view run_directory, const RunHeader& header,
                                    int64_t step) {
  const std::string path = StatePath(run_directory, step);
  ASSIGN_OR_RETURN(RunReader state, RunReader::Open(files, path));
  RunHeader sorted = header;
  Sort(sorted);
  const std::vector<CheckpointInfo> groups = state.checkpoints();
  const bool is_of_step =
      std::all_of(groups.begin(), groups.end(), [&](const CheckpointInfo& group) { return group.step == step; });
  if (!(state.header() == sorted) || !is_of_step || !state.steps().empty()) {
    return absl::DataLossError(absl::StrCat(path, ": it is not the state of this run after step ", step));
  }
  return state;
}

absl::Status RetireStates(FileSystem& files, absl::string_view run_directory, int64_t keep,
                          const std::function<absl::Status()>& check_owner) {
  const std::string directory = StateDirectory(run_directory);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(files, directory));
  std::vector<int64_t> steps = StepsIn(names);
  steps.resize(static_cast<size_t>(std::max<int64_t>(0, static_cast<int64_t>(steps.size()) - keep)));
  if (check_owner) RETURN_IF_ERROR(check_owner());
  for (const int64_t step : steps) RETURN_IF_ERROR(RemoveState(files, StatePath(run_directory, step)));
  for (const std::string& name : names) {
    if (!IsTemporaryState(name)) continue;
    ASSIGN_OR_RETURN(const bool is_own, internal::IsUnfinishedContainer(files, JoinPath(directory, name)));
    if (is_own) RETURN_IF_ERROR(Remove(files, JoinPath(directory, name)));
  }
  if (keep > 0) return absl::OkStatus();
  files.RemoveDirectory(directory).IgnoreError();  // fails if it does not exist or contains other files
  return absl::OkStatus();
}

}  // namespace reprise
