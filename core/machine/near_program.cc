#include "core/machine/near_program.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace reprise {

std::string PathNearProgram(absl::string_view name) {
  char program[4096] = {};
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
  std::string folder(program, length > 0 ? static_cast<size_t>(length) : 0);
  while (folder.find('/') != std::string::npos) {
    folder.resize(folder.rfind('/'));
    std::string path = absl::StrCat(folder, "/", name);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

}  // namespace reprise
