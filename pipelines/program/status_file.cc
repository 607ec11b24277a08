#include "pipelines/program/status_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "core/io/missing_call.h"

namespace reprise {
namespace {

// Returns false if the name is taken. A file system without links (vboxsf, some FUSE ones) cannot tell that and give
// the name at once.
bool GiveName(const std::string& temporary, const std::string& path) {
  if (::link(temporary.c_str(), path.c_str()) == 0) return true;
  const bool has_no_links = errno == EPERM || IsMissingCall(errno);
  return has_no_links && ::access(path.c_str(), F_OK) != 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

bool CreateWhole(const std::string& path, absl::string_view bytes) {
  std::array<char, HOST_NAME_MAX + 1> host = {};
  ::gethostname(host.data(), host.size() - 1);
  const std::string temporary = absl::StrCat(path, ".", host.data(), "-", ::getpid(), ".tmp");
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool is_whole = true;
  while (is_whole && !bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    is_whole = written > 0;
    if (is_whole) bytes.remove_prefix(static_cast<size_t>(written));
  }
  is_whole = ::close(file) == 0 && is_whole && GiveName(temporary, path);
  ::unlink(temporary.c_str());
  return is_whole;
}

void WriteStatusFile(int exit_code) {
  const char* const path = std::getenv("REPRISE_STATUS_FILE");
  if (path != nullptr && *path != 0) CreateWhole(path, absl::StrCat(exit_code, "\n"));
}

}  // namespace reprise
