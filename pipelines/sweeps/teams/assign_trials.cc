#include "pipelines/sweeps/teams/assign_trials.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/status/check.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

constexpr int64_t kNone = -1;
constexpr char kAll[] = "all";

std::string Ranks(int64_t ranks) { return absl::StrCat(ranks, ranks == 1 ? " rank" : " ranks"); }

absl::Status Foreign(const std::string& path, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is ", what, ", and nothing that a sweep writes: move it away, and start the sweep again"));
}

// What is at the path itself: a link is not followed.
std::filesystem::file_type TypeOf(const std::string& path) {
  std::error_code error;  // then the type is that of nothing, or unknown
  return std::filesystem::symlink_status(path, error).type();
}

// "all.03f1a2b4", as Prepare makes it.
bool IsNameOfClaims(absl::string_view name) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits('.', 1));
  const auto is_alnum = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); };
  const auto is_hex = [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
  };
  return !parts.first.empty() && std::all_of(parts.first.begin(), parts.first.end(), is_alnum) &&
         parts.second.size() == 8 && std::all_of(parts.second.begin(), parts.second.end(), is_hex);
}

// FailedPrecondition unless this is a claim: an empty file whose name is a number. One that is gone is none of ours.
absl::Status CheckIsClaim(FileSystem& files, const std::string& path, absl::string_view name) {
  const std::filesystem::file_type type = TypeOf(path);
  if (type == std::filesystem::file_type::not_found) return absl::OkStatus();
  if (type == std::filesystem::file_type::symlink) return Foreign(path, "a link");
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); };
  const bool is_number = !name.empty() && std::all_of(name.begin(), name.end(), is_digit);
  if (type != std::filesystem::file_type::regular || !is_number) return Foreign(path, "foreign");
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (absl::IsNotFound(info.status())) return absl::OkStatus();
  RETURN_IF_ERROR(info.status());
  return info->size == 0 ? absl::OkStatus() : Foreign(path, "a file with contents");
}

// Removes a directory of claims. A process that is still alive may make another claim meanwhile. FailedPrecondition,
// naming it, for something in the directory that no sweep wrote: it is not deleted, and nothing beside it is.
absl::Status RemoveClaims(FileSystem& files, const std::string& directory) {
  if (TypeOf(directory) == std::filesystem::file_type::symlink) return Foreign(directory, "a link");
  absl::Status removed;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const absl::StatusOr<std::vector<std::string>> names = files.List(directory);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) RETURN_IF_ERROR(CheckIsClaim(files, JoinPath(directory, name), name));
    for (const std::string& name : *names) {
      const absl::Status unlinked = files.Unlink(JoinPath(directory, name));
      if (!unlinked.ok() && !absl::IsNotFound(unlinked)) return unlinked;
    }
    removed = files.RemoveDirectory(directory);
    if (removed.ok() || absl::IsNotFound(removed)) return absl::OkStatus();
  }
  return removed;
}

// The claims of one execution.
class Claims {
 public:
  // Removes those of earlier executions of the same trials. Called on one rank; the name is for the others.
  static absl::StatusOr<std::string> Prepare(FileSystem& files, const std::string& directory, const std::string& part) {
    if (TypeOf(directory) == std::filesystem::file_type::symlink) return Foreign(directory, "a link");
    RETURN_IF_ERROR(CreateDirectories(files, directory));
    ASSIGN_OR_RETURN(const std::vector<std::string> earlier, files.List(directory));
    for (const std::string& name : earlier) {
      if (!IsNameOfClaims(name)) continue;
      const absl::string_view other = absl::string_view(name).substr(0, name.find('.'));
      if (other == part || other == kAll || part == kAll) {
        RETURN_IF_ERROR(RemoveClaims(files, JoinPath(directory, name)));
      }
    }
    const std::string name = absl::StrCat(part, ".", absl::Hex(DrawNumber(), absl::kZeroPad8));
    RETURN_IF_ERROR(files.CreateDirectory(JoinPath(directory, name)));
    return name;
  }

  Claims(FileSystem& files, const TeamPlan& plan, const std::string& name, std::vector<int64_t> trials)
      : files_(files),
        directory_(plan.directory),
        part_(plan.part),
        mine_(JoinPath(directory_, name)),
        trials_(std::move(trials)) {}

  // Returns the first trial that nobody has claimed, which is now claimed, or kNone.
  absl::StatusOr<int64_t> Next() {
    while (at_ < trials_.size()) {
      const int64_t trial = trials_[at_++];
      absl::StatusOr<std::unique_ptr<File>> claim =
          files_.Open(JoinPath(mine_, absl::StrCat(trial)), OpenMode::kCreate);
      if (absl::IsAlreadyExists(claim.status())) continue;
      if (absl::IsNotFound(claim.status())) return TakenOver();
      RETURN_IF_ERROR(claim.status());
      RETURN_IF_ERROR((*claim)->Close());
      return trial;
    }
    return kNone;
  }

  // Unavailable if another execution has removed the claims.
  absl::Status CheckExist() const {
    const absl::Status found = files_.Stat(mine_).status();
    return absl::IsNotFound(found) ? TakenOver() : found;
  }

  absl::Status Remove() const {
    RETURN_IF_ERROR(RemoveClaims(files_, mine_));
    // That of all claims stays if other parts have claims in it, or may be about to make one.
    if (part_ == kAll) (void)files_.RemoveDirectory(directory_);
    return absl::OkStatus();
  }

 private:
  absl::Status TakenOver() const {
    return absl::UnavailableError(absl::StrCat(
        mine_,
        " is gone: another execution of this sweep deals its trials now; let it run, and start the sweep again "
        "when it has ended"));
  }

  FileSystem& files_;
  const std::string directory_, part_, mine_;
  const std::vector<int64_t> trials_;  // in the order in which they are dealt
  size_t at_ = 0;                      // those before it are claimed
};

// The most expensive first; else, and among equals, in the given order.
std::vector<int64_t> InOrder(absl::Span<const int64_t> pending, const std::vector<double>& costs) {
  if (costs.empty()) return {pending.begin(), pending.end()};
  CHECK_EQ(costs.size(), pending.size());
  std::vector<size_t> order(pending.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<int64_t> trials;
  for (const size_t i : order) trials.push_back(pending[i]);
  return trials;
}

int FindTeam(const std::vector<int>& sizes, int rank) {
  int team = 0;
  for (int end = sizes[0]; rank >= end; end += sizes[team]) ++team;
  return team;
}

struct TrialWork {
  absl::FunctionRef<absl::Status(Communicator& team, int64_t trial)> run;
  absl::FunctionRef<absl::Status(int64_t trial, const absl::Status& error)> fail;
};

// The part of a team. The functions are collective over the team.
class TrialAssignment {
 public:
  // `takes`: whether this team takes trials.
  TrialAssignment(Communicator& world, Communicator& team, bool takes, Claims claims, const TrialWork& work)
      : world_(world), team_(team), takes_(takes), claims_(std::move(claims)), work_(work) {}

  // Takes trials until there is none or the assignment has ended. Returns an error on every rank or on none: Cancelled
  // where only another rank's run returned Unavailable.
  absl::Status Work() {
    for (;;) {
      ASSIGN_OR_RETURN(const int64_t trial, Next());
      if (trial == kNone) return absl::OkStatus();
      RETURN_IF_ERROR(Run(trial));
      if (team_.rank() == 0) ++trials_;
    }
  }

  int64_t trials() const { return trials_; }  // that the team has done; 0 on all ranks but its first
  const Claims& claims() const { return claims_; }

 private:
  absl::StatusOr<int64_t> Next() {
    absl::StatusOr<int64_t> trial = kNone;
    // A team that has stopped early has reported that to the world.
    if (takes_ && team_.rank() == 0 && !world_.PeerHasFailed()) trial = claims_.Next();
    ASSIGN_OR_RETURN(int64_t agreed, AgreeOk(team_, trial));
    RETURN_IF_ERROR(team_.Broadcast(0, AsWritableBytes(absl::MakeSpan(&agreed, 1))));
    return agreed;
  }

  absl::Status Run(int64_t trial) {
    absl::Status error = work_.run(team_, trial);
    int64_t ranks[] = {error.ok() ? 0 : 1, absl::IsUnavailable(error) ? 1 : 0};
    RETURN_IF_ERROR(AllreduceSum(team_, absl::MakeSpan(ranks)));
    const auto [failed, unavailable] = ranks;
    if (failed == 0) return absl::OkStatus();
    if (unavailable > 0) {
      return absl::IsUnavailable(error) ? error : absl::CancelledError("another rank of this team has stopped");
    }
    if (failed < team_.size()) error = AgreeOk(team_, error);
    return AgreeOk(team_, team_.rank() == 0 ? Fail(trial, error) : absl::OkStatus());
  }

  // Another execution may have caused the error, because it runs the trial now.
  absl::Status Fail(int64_t trial, const absl::Status& error) {
    RETURN_IF_ERROR(claims_.CheckExist());
    return work_.fail(trial, error);
  }

  Communicator& world_;
  Communicator& team_;
  const bool takes_;
  Claims claims_;
  const TrialWork work_;
  int64_t trials_ = 0;
};

}  // namespace

namespace {

// "3,3,1": teams of `size`, and one of the ranks that are left over.
std::string WithTheRest(int size, int ranks) {
  if (ranks / size > 8) return absl::StrCat(size, ",", size, ",...,", ranks % size);
  std::string text;
  for (int left = ranks; left >= size; left -= size) absl::StrAppend(&text, size, ",");
  return absl::StrCat(text, ranks % size);
}

}  // namespace

absl::StatusOr<std::vector<int>> ReadTeamSizes(absl::string_view text, int ranks) {
  CHECK_GE(ranks, 1);
  std::vector<int> sizes;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text,
                                                     "\" is not a number of ranks for each team (2), or one "
                                                     "number for every team (2,1,1)"));
    }
    sizes.push_back(size);
  }
  if (sizes.size() == 1) {
    const int size = sizes[0];
    if (size > ranks) {
      return absl::InvalidArgumentError(
          absl::StrCat("a team of ", Ranks(size), " needs more than the ", Ranks(ranks), " of this program"));
    }
    if (ranks % size != 0) {
      return absl::InvalidArgumentError(absl::StrCat(Ranks(ranks), " cannot be divided into teams of ", size, ": ",
                                                     ranks % size, " would be left over; name every team, as in ",
                                                     WithTheRest(size, ranks)));
    }
    sizes.assign(static_cast<size_t>(ranks / size), size);
  }
  const int64_t teams = static_cast<int64_t>(sizes.size());
  if (teams > ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat(teams, " teams are more than the ", Ranks(ranks), " of this program"));
  }
  const int64_t needed = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (needed != ranks) {
    return absl::InvalidArgumentError(absl::StrCat("teams of ", absl::StrJoin(sizes, ", "), " have ", Ranks(needed),
                                                   ", but this program has ", ranks));
  }
  return sizes;
}

std::vector<int64_t> TrialsOfTask(absl::Span<const int64_t> trials, int64_t task, int64_t tasks) {
  CHECK_GE(task, 0);
  CHECK_LT(task, tasks);
  std::vector<int64_t> mine;
  for (size_t i = static_cast<size_t>(task); i < trials.size(); i += static_cast<size_t>(tasks)) {
    mine.push_back(trials[i]);
  }
  return mine;
}

absl::Status AssignTrials(Communicator& world, const TeamPlan& plan, absl::Span<const int64_t> pending,
                          absl::FunctionRef<absl::Status(Communicator& team, int64_t trial)> run,
                          absl::FunctionRef<absl::Status(int64_t trial, const absl::Status& error)> fail) {
  CHECK_EQ(std::accumulate(plan.sizes.begin(), plan.sizes.end(), int64_t{0}), world.size());
  FileSystem& files = PosixFileSystem();
  const bool is_root = world.rank() == 0;
  absl::StatusOr<std::string> prepared = "";
  if (is_root) prepared = Claims::Prepare(files, plan.directory, plan.part);
  ASSIGN_OR_RETURN(prepared, AgreeOk(world, std::move(prepared)));
  ASSIGN_OR_RETURN(const std::string name, BroadcastBytes(world, 0, *prepared));
  Claims claims(files, plan, name, InOrder(pending, plan.costs));
  std::unique_ptr<Communicator> team;
  const int number = FindTeam(plan.sizes, world.rank());
  if (plan.sizes.size() > 1) {
    ASSIGN_OR_RETURN(team, world.Split(number));
  }
  const auto largest = std::max_element(plan.sizes.begin(), plan.sizes.end()) - plan.sizes.begin();
  const bool takes = number == largest || !plan.one_at_a_time;
  TrialAssignment assignment(world, team == nullptr ? world : *team, takes, std::move(claims), {run, fail});
  RETURN_IF_ERROR(AgreeOk(world, assignment.Work()));
  int64_t done = assignment.trials();
  RETURN_IF_ERROR(AllreduceSum(world, absl::MakeSpan(&done, 1)));
  RETURN_IF_ERROR(AgreeOk(world, is_root ? assignment.claims().Remove() : absl::OkStatus()));
  if (done == static_cast<int64_t>(pending.size())) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("trials that were claimed but not run: ",
                                             static_cast<int64_t>(pending.size()) - done, "; start the sweep again"));
}

}  // namespace reprise
