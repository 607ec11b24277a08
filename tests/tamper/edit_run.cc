// edit_run RUN.h5 EDIT OUTPUT.h5: writes the run with one value falsified and all digests redone. Without arguments it
// lists the edits.

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/file_system.h"
#include "core/io/read_file.h"
#include "data/artifact/rewrite.h"
#include "tests/tamper/edits.h"

namespace reprise::testing {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

int EditRun(const std::string& input, const std::string& name, const std::string& output) {
  for (const auto& edits : {PlausibleEdits(), ImpossibleEdits()}) {
    for (const Edit& edit : edits) {
      if (edit.name != name) continue;
      const absl::StatusOr<std::string> file = ReadFile(PosixFileSystem(), input, kMostBytes);
      const absl::StatusOr<std::string> edited = file.ok() ? RewriteRun(*file, edit.apply) : file;
      if (!edited.ok()) {
        std::fprintf(stderr, "edit_run: %s\n", std::string(edited.status().message()).c_str());
        return 1;
      }
      std::ofstream(output, std::ios::binary) << *edited;
      return 0;
    }
  }
  std::fprintf(stderr, "edit_run: no edit is called %s\n", name.c_str());
  return 1;
}

}  // namespace
}  // namespace reprise::testing

int main(int argc, char** argv) {
  using namespace reprise::testing;
  if (argc == 4) return EditRun(argv[1], argv[2], argv[3]);
  std::printf("edit_run RUN.h5 EDIT OUTPUT.h5, where EDIT is one of\n");
  for (const auto& edits : {PlausibleEdits(), ImpossibleEdits()}) {
    for (const Edit& edit : edits) std::printf("  %s\n", edit.name.c_str());
  }
  return 1;
}
