#include "tests/faults/shim/watched.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "tests/faults/shim/plan.h"

namespace fault_shim {
namespace {

std::mutex& Mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::map<int, std::string>& Descriptors() {
  static auto* const descriptors = new std::map<int, std::string>;  // never destroyed: files are closed at exit
  return *descriptors;
}

// Returns the path with each sequence of slashes replaced by one.
std::string WithSingleSlashes(const std::string& path) {
  std::string result;
  for (const char c : path) {
    if (c != '/' || result.empty() || result.back() != '/') result += c;
  }
  return result;
}

}  // namespace

std::string Watched(int directory, const char* path) {
  static const auto* const watched_directory = new std::string(WithSingleSlashes(ThePlan().directory));
  const std::string& watched = *watched_directory;
  if (watched.empty() || path == nullptr) return "";
  std::string absolute = path;
  if (absolute.empty() || absolute[0] != '/') {
    std::string base = WatchedPath(directory);
    if (!base.empty()) return base == "." ? absolute : base + "/" + absolute;
    char current[4096];
    if (directory != AT_FDCWD || getcwd(current, sizeof(current)) == nullptr) return "";
    absolute = std::string(current) + "/" + absolute;
  }
  absolute = WithSingleSlashes(absolute);
  if (absolute == watched) return ".";
  // The watchdog's calls come at times of their own, and their failures must not matter.
  if (!absolute.starts_with(watched + "/") || absolute.starts_with(watched + "/watchdog")) return "";
  return absolute.substr(watched.size() + 1);
}

void Remember(int descriptor, const std::string& watched) {
  const std::lock_guard<std::mutex> lock(Mutex());
  Descriptors()[descriptor] = watched;
}

void Forget(int descriptor) {
  const std::lock_guard<std::mutex> lock(Mutex());
  Descriptors().erase(descriptor);
}

std::string WatchedPath(int descriptor) {
  if (ThePlan().directory.empty()) return "";
  const std::lock_guard<std::mutex> lock(Mutex());
  const auto found = Descriptors().find(descriptor);
  return found == Descriptors().end() ? "" : found->second;
}

}  // namespace fault_shim
