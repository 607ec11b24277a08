#include "rl/config/workload_keys.h"

#include <algorithm>
#include <iterator>

#include "core/status/check.h"

namespace reprise::rl {
namespace {

struct Reader {
  absl::string_view workload;
  bool (*reads)(absl::string_view section, absl::string_view key);
};

bool CompletionsRead(absl::string_view, absl::string_view) { return true; }

constexpr Reader kReaders[] = {{"completions", CompletionsRead}};

}  // namespace

bool WorkloadReads(absl::string_view workload, absl::string_view section, absl::string_view key) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& each) { return each.workload == workload; });
  CHECK(reader != std::end(kReaders));
  return reader->reads(section, key);
}

absl::string_view ReaderOf(absl::string_view section, absl::string_view key) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const Reader& each) { return each.reads(section, key); });
  return reader == std::end(kReaders) ? "" : reader->workload;
}

}  // namespace reprise::rl
