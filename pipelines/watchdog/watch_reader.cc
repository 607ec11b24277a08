#include "pipelines/watchdog/watch_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/comm/agree.h"
#include "core/comm/collectives.h"
#include "core/io/atomic_file.h"
#include "core/io/file_system.h"
#include "core/status/status_macros.h"

namespace reprise {
namespace {

// A file under a name that no other process uses; unlinked at the end. The calls go to the operating system directly:
// that the directory is read-only is no error.
class Token {
 public:
  explicit Token(const std::string& path) : path_(path) {
    const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0) ::close(descriptor);
  }
  ~Token() { ::unlink(path_.c_str()); }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;

 private:
  const std::string path_;
};

// Returns whether every rank can write into `directory` and sees there what rank 0 writes. Collective.
absl::StatusOr<bool> IsShared(Communicator& comm, const std::string& directory) {
  uint32_t number = DrawNumber();
  RETURN_IF_ERROR(comm.Broadcast(0, AsWritableBytes(absl::MakeSpan(&number, 1))));
  const std::string path = JoinPath(directory, absl::StrFormat("%08x.shared", number));
  std::unique_ptr<Token> token;
  if (comm.rank() == 0) token = std::make_unique<Token>(path);
  RETURN_IF_ERROR(comm.Barrier());
  const bool is_here = ::access(path.c_str(), F_OK) == 0 && ::access(directory.c_str(), W_OK) == 0;
  std::vector<int64_t> is_missing = {is_here ? 0 : 1};
  RETURN_IF_ERROR(AllreduceMax(comm, absl::MakeSpan(is_missing)));
  return is_missing[0] == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Watchdog>> WatchReader(const rl::ExecutionConfig& execution, absl::string_view name,
                                                      const std::string& read, Communicator& comm) {
  if (!execution.watchdog) return std::unique_ptr<Watchdog>();
  const WatchedWork work = {.name = name, .remedy = "the same command begins anew"};
  ASSIGN_OR_RETURN(std::unique_ptr<Watchdog> watchdog,
                   AgreeOk(comm, Watchdog::Start(comm, execution.watchdog_seconds, work)));
  struct stat info = {};
  const bool is_directory = ::stat(read.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  const std::string directory = is_directory ? read : DirectoryOf(read);
  if (comm.size() > 1) {
    ASSIGN_OR_RETURN(const bool is_shared, IsShared(comm, directory));
    if (!is_shared) return watchdog;
  }
  RETURN_IF_ERROR(watchdog->WatchOthers(comm, directory));
  return watchdog;
}

}  // namespace reprise
