// edit_run RUN.h5 EDIT OUTPUT.h5: writes the run with one value falsified and all digests recomputed. Without arguments
// it lists the edits.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "tests/tamper/edits.h"

namespace reprise::testing {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

int EditRun(const std::string& input, const std::string& name, const std::string& output) {
  const std::vector<Edit> edits = AllEdits();
  const auto edit = std::find_if(edits.begin(), edits.end(), [&](const Edit& each) { return each.name == name; });
  if (edit == edits.end()) {
    std::fprintf(stderr, "edit_run: there is no edit named %s\n", name.c_str());
    return 1;
  }
  const absl::StatusOr<std::string> file = ReadFile(PosixFileSystem(), input, kMostBytes);
  const absl::StatusOr<std::string> edited = file.ok() ? edit->apply(*file) : file;
  if (!edited.ok()) {
    std::fprintf(stderr, "edit_run: %s\n", std::string(edited.status().message()).c_str());
    return 1;
  }
  std::ofstream(output, std::ios::binary) << *edited;
  return 0;
}

}  // namespace
}  // namespace reprise::testing

int main(int argc, char** argv) {
  using namespace reprise::testing;
  if (argc == 4) return EditRun(argv[1], argv[2], argv[3]);
  std::printf("edit_run RUN.h5 EDIT OUTPUT.h5, where EDIT is one of\n");
  for (const Edit& edit : AllEdits()) std::printf("  %s\n", edit.name.c_str());
  return 1;
}
