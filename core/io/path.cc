#include "absl/strings/str_cat.h"
#include "core/io/file_system.h"

namespace reprise {

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty()) return std::string(name);
  return absl::StrCat(directory, directory.back() == '/' ? "" : "/", name);
}

std::string DirectoryOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace reprise
