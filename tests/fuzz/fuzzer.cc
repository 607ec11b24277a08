// One program for all targets: REPRISE_FUZZ_TARGET names one. tools/fuzz.sh builds it and runs it (libFuzzer).

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "tests/fuzz/targets.h"

namespace {

const reprise::testing::FuzzTarget& Target() {
  const char* name = std::getenv("REPRISE_FUZZ_TARGET");
  const reprise::testing::FuzzTarget* target = reprise::testing::FindFuzzTarget(name == nullptr ? "" : name);
  if (target != nullptr) return *target;
  std::fprintf(stderr, "REPRISE_FUZZ_TARGET must be one of:");
  for (const auto& known : reprise::testing::FuzzTargets()) {
    std::fprintf(stderr, " %.*s", static_cast<int>(known.name.size()), known.name.data());
  }
  std::fprintf(stderr, "\n");
  std::exit(64);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const reprise::testing::FuzzTarget& target = Target();
  target.run(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
