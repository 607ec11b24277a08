#include "core/io/full_transfer.h"

#include <algorithm>
#include <cerrno>

#include "core/parallel/activity.h"
#include "core/status/conditions.h"

namespace reprise::internal {
namespace {

constexpr int64_t kLargestTransfer = int64_t{1} << 30;  // Linux transfers at most 2^31 - 4096 bytes a call

}  // namespace

absl::Status WriteFully(const WriteCall& write, absl::string_view bytes, absl::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = write(bytes.data(), std::min<size_t>(bytes.size(), kLargestTransfer));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, "write", path);
    if (written == 0) return FileError(ENOSPC, "write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
    MarkActivity();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFully(const ReadCall& read, int64_t offset, int64_t size, absl::string_view path) {
  std::string bytes;
  while (static_cast<int64_t>(bytes.size()) < size) {
    const size_t done = bytes.size();
    const size_t wanted = static_cast<size_t>(std::min(size - static_cast<int64_t>(done), kLargestTransfer));
    bytes.resize(done + wanted);
    const ssize_t got = read(bytes.data() + done, wanted, static_cast<off_t>(offset + static_cast<int64_t>(done)));
    bytes.resize(done + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "read", path);
    if (got == 0) break;
    MarkActivity();
  }
  return bytes;
}

}  // namespace reprise::internal
