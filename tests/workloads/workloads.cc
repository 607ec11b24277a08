#include "tests/workloads/workloads.h"

namespace reprise::testing {

const std::vector<TestedWorkload>& Workloads() {
  static const auto* const workloads = new std::vector<TestedWorkload>{
      // A group has at most 5 + 4 * 6 rows, and two groups have more than that, except the shortest.
      {.name = "completions",
       .trial = {"tests/determinism/small.toml", /*group_rows=*/29, /*few_rows=*/9, /*decodes=*/true},
       .quick = "tests/workloads/quick_completions.toml"},
      {.name = "bandit",
       .trial = {"tests/workloads/bandit.toml", /*group_rows=*/5, /*few_rows=*/3, /*decodes=*/false},
       .quick = "tests/workloads/quick_bandit.toml"},
  };
  return *workloads;
}

}  // namespace reprise::testing
