#include "pipelines/watchdog/watchdog.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/comm/collectives.h"
#include "core/parallel/activity.h"
#include "core/status/conditions.h"
#include "core/status/printable.h"
#include "core/status/status_macros.h"
#include "pipelines/program/status_file.h"
#include "pipelines/watchdog/alarm.h"
#include "pipelines/watchdog/heartbeat.h"
#include "pipelines/watchdog/judge.h"
#include "pipelines/watchdog/stacks.h"

namespace reprise {
namespace {

int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double Seconds() { return static_cast<double>(Nanoseconds()) * 1e-9; }

// Returns a descriptor that becomes readable when the process ends, -1 where there is none: the process has ended, or
// the kernel is older than Linux 5.3.
int OpenProcess(const Heartbeat& heartbeat) {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, heartbeat.pid, 0));
  if (descriptor < 0) return -1;
  // The number may belong to another process by now.
  if (StartOfProcess(heartbeat.pid) == heartbeat.pid_start) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace

// The watching thread. Only it reads and writes the members, except for `shared_`.
class Watchdog::Watch {
 public:
  Watch(const Communicator& comm, double seconds, const WatchedWork& work, Shared* shared)
      : comm_(comm), seconds_(seconds), work_(work), shared_(*shared), judge_(seconds, comm.rank(), comm.size()) {
    own_.rank = comm.rank();
    DescribeThisProcess(&own_);
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  ~Watch() {
    for (const auto& [rank, descriptor] : processes_) ::close(descriptor);
    if (wake_ >= 0) ::close(wake_);
  }

  void Run() {
    while (!shared_.stop.load(std::memory_order_acquire)) {
      const std::optional<int> dead = Pause(judge_.Tick());
      if (shared_.stop.load(std::memory_order_acquire)) break;
      TakeFiles();
      Observe();
      Publish();
      if (files_ && comm_.size() > 1) {
        if (const std::optional<std::string> alarm = files_->ReadAlarm()) HandleAlarm(*alarm);
      }
      std::optional<Hang> hang = judge_.CheckHeartbeats(Seconds(), signs_);
      if (dead && !HasLeft(*dead)) hang = Hang{Hang::kDead, *dead, 0};
      shared_.attended_ns.store(static_cast<int64_t>(judge_.attended() * 1e9), std::memory_order_relaxed);
      if (hang) Raise(*hang);
    }
    if (files_ && comm_.size() > 1) {
      files_->Remove(own_.rank);
      ::rmdir(directory_.c_str());  // succeeds for the last rank, unless there are reports
    }
  }

  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
  }

 private:
  // Waits, also for the end of watched processes; returns a rank whose process has ended.
  std::optional<int> Pause(double seconds) {
    std::vector<pollfd> descriptors = {{wake_, POLLIN, 0}};
    std::vector<int> ranks;
    for (const auto& [rank, descriptor] : processes_) {
      descriptors.push_back({descriptor, POLLIN, 0});
      ranks.push_back(rank);
    }
    ::poll(descriptors.data(), descriptors.size(), static_cast<int>(seconds * 1000) + 1);
    uint64_t woken = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_, &woken, sizeof(woken));  // so that the next pause is one
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (descriptors[i + 1].revents == 0) continue;
      ::close(processes_[ranks[i]]);
      processes_[ranks[i]] = -1;  // poll ignores it from now on
      return ranks[i];
    }
    return std::nullopt;
  }

  // Begins to use the run's directory once it is known.
  void TakeFiles() {
    if (files_) return;
    const std::lock_guard<std::mutex> lock(shared_.mutex);
    if (shared_.output.empty()) return;
    directory_ = absl::StrCat(shared_.output, "/watchdog");
    struct stat info = {};
    if (::lstat(directory_.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) return;  // it may lead to another run's
    files_ = WatchdogFiles(absl::StrCat(directory_, "/", shared_.execution));
    // By this thread, which removes it at its end: a run may be shorter than the time until it comes here.
    if (comm_.size() > 1) ::mkdir(directory_.c_str(), 0755);
    judge_.WatchOthers([this](int rank) { return Read(rank); }, Seconds());
  }

  void Observe() {
    const CallPosition position = comm_.position();
    const int64_t phases = shared_.phases.load(std::memory_order_acquire);
    if (phases != signs_.phases) phase_begin_ = Seconds();
    own_.phase = shared_.phase.load(std::memory_order_relaxed);
    own_.in_phase_ms = static_cast<int64_t>((Seconds() - phase_begin_) * 1000);
    own_.calls = position.calls;
    own_.last_call = position.last;
    signs_.phases = phases;
    signs_.calls = position.calls;
    const RunPhase phase = RunPhase::Unpack(own_.phase);
    // In a sweep, signs of life are for the watchdog of the team's run.
    signs_.active = phase.kind == RunPhase::kSweep || TakeActivity();
    signs_.limit = PhaseLimit(phase, own_.rank == 0, seconds_, shared_.times);
    ++own_.beat;
  }

  void Publish() {
    if (files_ && comm_.size() > 1) files_->Write(own_);
  }

  std::optional<Heartbeat> Read(int rank) {
    const std::optional<Heartbeat> heartbeat = files_->Read(rank);
    if (!heartbeat || heartbeat->state == Heartbeat::kGone) return heartbeat;
    seen_.insert(rank);
    const std::vector<int> watched = judge_.watched();
    const bool is_watched = std::find(watched.begin(), watched.end(), rank) != watched.end();
    if (is_watched && heartbeat->machine == own_.machine && processes_.find(rank) == processes_.end()) {
      processes_[rank] = OpenProcess(*heartbeat);
    }
    return heartbeat;
  }

  // A rank that ends in order removes its heartbeat first.
  bool HasLeft(int rank) {
    const std::optional<Heartbeat> heartbeat = files_->Read(rank);
    return heartbeat && heartbeat->state != Heartbeat::kRunning;
  }

  // Reads the heartbeat of every rank, nothing for one that has never been seen.
  void ReadAll(std::vector<RankFinding>* finding_R) {
    for (int rank = 0; rank < comm_.size(); ++rank) {
      const std::optional<Heartbeat> now = Read(rank);
      RankFinding& finding = (*finding_R)[rank];
      const bool is_here = now && now->state != Heartbeat::kGone;
      finding.answers |= is_here && finding.last && now->beat != finding.last->beat;
      if (is_here || (now && seen_.count(rank) > 0)) finding.last = now;
    }
    (*finding_R)[own_.rank] = {own_, true};
  }

  // Reads all heartbeats, several times unless there is no time for it, to find out who answers.
  std::vector<RankFinding> Survey(const Hang& hang) {
    std::vector<RankFinding> finding_R(static_cast<size_t>(comm_.size()));
    finding_R[own_.rank] = {own_, true};
    if (!files_ || comm_.size() == 1) return finding_R;
    ReadAll(&finding_R);
    if (hang.kind == Hang::kDead) {
      for (RankFinding& finding : finding_R) finding.answers = finding.last && finding.last->state != Heartbeat::kGone;
    }
    const auto all_answer = [&] {
      return std::all_of(finding_R.begin(), finding_R.end(),
                         [](const RankFinding& finding) { return finding.answers; });
    };
    // A busy machine may keep a rank from one heartbeat.
    const int rounds = hang.kind == Hang::kDead ? 0 : hang.kind == Hang::kSilent ? 2 : 4;
    for (int round = 0; round < rounds && !all_answer(); ++round) {
      Pause(judge_.Tick());
      Observe();
      Publish();
      ReadAll(&finding_R);
    }
    if (hang.rank != own_.rank) finding_R[hang.rank].answers = false;
    return finding_R;
  }

  void Raise(const Hang& hang) {
    const std::vector<RankFinding> finding_R = Survey(hang);
    if (shared_.stop.load(std::memory_order_acquire)) return;  // this rank has just left the run
    if (!files_) return Act(DescribeAlarm(hang, {{own_, true}}, own_.rank, signs_.limit));
    ::mkdir(directory_.c_str(), 0755);
    const Alarm alarm = DescribeAlarm(hang, finding_R, own_.rank, signs_.limit);
    if (files_->RaiseAlarm(alarm.Encode())) return Act(alarm);
    const std::optional<std::string> earlier = files_->ReadAlarm();
    const std::optional<Alarm> theirs = earlier ? DecodeAlarm(*earlier) : std::nullopt;
    Act(theirs ? *theirs : alarm);
  }

  void HandleAlarm(const std::string& text) {
    if (const std::optional<Alarm> alarm = DecodeAlarm(text)) Act(*alarm);
  }

  // Reports, waits for the others' reports, and ends the process.
  [[noreturn]] void Act(const Alarm& alarm) {
    const bool speaks = alarm.speaker == own_.rank || !files_;
    if (speaks) Print(alarm.sentence);
    if (files_) {
      files_->WriteReport(own_.rank, absl::StrCat("The watchdog of rank ", own_.rank, " ended the ", work_.name, ": ",
                                                  alarm.sentence, ".\n\n", alarm.table, "\nStacks of rank ", own_.rank,
                                                  ":\n", StacksOfThisProcess(seconds_ / 20)));
      own_.state = Heartbeat::kReported;
      Observe();
      Publish();
      // Where a rank was killed, its launcher ends the others at once with that rank's exit code: it may do so.
      const double end = Seconds() + seconds_ / (alarm.is_death ? 10 : 5);
      while (Seconds() < end && (alarm.is_death || !AllHaveReported(alarm))) Pause(seconds_ / 100);
    }
    WriteStatusFile(kExitRetry);
    ::_exit(kExitRetry);
  }

  bool AllHaveReported(const Alarm& alarm) const {
    return std::all_of(alarm.answering_R.begin(), alarm.answering_R.end(),
                       [&](int rank) { return files_->HasReport(rank); });
  }

  void Print(const std::string& sentence) const {
    const std::string where = files_ ? absl::StrCat("; the reports are in ", directory_, ", and ", work_.remedy) : "";
    const std::string line = absl::StrCat("reprise: error: the watchdog ended the ", work_.name, ": ", sentence, where);
    std::fprintf(stderr, "%s\n", Printable(line).c_str());
    std::fflush(stderr);
  }

  const Communicator& comm_;
  const double seconds_;
  const WatchedWork work_;
  Shared& shared_;
  Judge judge_;
  std::string directory_;
  std::optional<WatchdogFiles> files_;
  Heartbeat own_;
  OwnSigns signs_;
  double phase_begin_ = Seconds();
  std::set<int> seen_;            // ranks whose heartbeat has been read
  std::map<int, int> processes_;  // by rank: descriptors of processes on this machine; -1: none, or it has ended
  int wake_ = -1;
};

Watchdog::Watchdog(const Communicator& comm, double seconds, const WatchedWork& work)
    : watch_(std::make_unique<Watch>(comm, seconds, work, &shared_)),
      begin_ns_(Nanoseconds()),
      slack_ns_(static_cast<int64_t>(seconds / 5 * 1e9)) {}

absl::StatusOr<std::unique_ptr<Watchdog>> Watchdog::Start(const Communicator& comm, double seconds,
                                                          const WatchedWork& work) {
  PrepareStacks();
  std::unique_ptr<Watchdog> watchdog(new Watchdog(comm, seconds, work));
  // Signals that ask the program to end belong to its other threads.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::Status started;
  try {
    watchdog->thread_ = std::thread([watch = watchdog->watch_.get()] { watch->Run(); });
  } catch (const std::system_error& error) {
    started = absl::ResourceExhaustedError(
        absl::StrCat("the system does not start the watchdog's thread (", error.what(),
                     "): raise the limit on processes (ulimit -u), or set execution.watchdog = false"));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  RETURN_IF_ERROR(started);
  return watchdog;
}

Watchdog::~Watchdog() {
  shared_.stop.store(true, std::memory_order_release);
  watch_->Wake();
  if (thread_.joinable()) thread_.join();
}

absl::Status Watchdog::WatchOthers(Communicator& comm, const std::string& output) {
  const std::string now = absl::FormatTime("%Y%m%dT%H%M%SZ", absl::Now(), absl::UTCTimeZone());
  ASSIGN_OR_RETURN(const std::string execution,
                   BroadcastBytes(comm, 0, absl::StrFormat("%s-%d", now, static_cast<int>(::getpid()))));
  {
    const std::lock_guard<std::mutex> lock(shared_.mutex);
    shared_.output = output;
    shared_.execution = execution;
  }
  watch_->Wake();  // the first heartbeat must not wait: a rank without one would not be missed as soon as others
  return absl::OkStatus();
}

void Watchdog::Enter(const RunPhase& phase) {
  const int64_t now = Nanoseconds(), attended = shared_.attended_ns.load(std::memory_order_relaxed);
  const int64_t duration = std::min(now - begin_ns_, attended - begin_attended_ns_ + slack_ns_);
  shared_.times.Add(RunPhase::Unpack(shared_.phase.load(std::memory_order_relaxed)).index(), duration);
  begin_ns_ = now;
  begin_attended_ns_ = attended;
  shared_.phase.store(phase.Pack(), std::memory_order_relaxed);
  shared_.phases.store(shared_.phases.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace reprise
