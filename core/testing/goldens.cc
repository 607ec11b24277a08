#include "core/testing/goldens.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace reprise::testing {

std::string GoldensDirectory() {
  const char* const named = std::getenv("REPRISE_GOLDENS");
  return named != nullptr && *named != '\0' ? named : "tests/goldens";  // a test's working directory is its runfiles
}

std::vector<std::string> GoldenModels() {
  const std::filesystem::path root = GoldensDirectory();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models")) {
    const std::string name = entry.path().filename();
    if (std::filesystem::exists(root / ("fwd_" + name + ".safetensors"))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace reprise::testing
