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
      // A shard's micro-batches divide its distinct states, which have 2 to 26 tokens.
      {.name = "memory_agent",
       .trial = {"tests/workloads/memory_agent.toml", /*group_rows=*/60, /*few_rows=*/20, /*decodes=*/false},
       .quick = "tests/workloads/quick_memory_agent.toml"},
      // A group has at most 7 rows of text and 6 positions of two thoughts with at most 1 + 2 + 2 rows each.
      {.name = "quiet_star",
       .trial = {"tests/workloads/quiet_star.toml", /*group_rows=*/70, /*few_rows=*/9, /*decodes=*/false},
       .quick = "tests/workloads/quick_quiet_star.toml"},
      // An episode has 6 decisions, and a group two episodes.
      {.name = "morphogenesis",
       .trial = {"tests/workloads/morphogenesis.toml", /*group_rows=*/13, /*few_rows=*/7, /*decodes=*/false},
       .quick = "tests/workloads/quick_morphogenesis.toml"},
  };
  return *workloads;
}

}  // namespace reprise::testing
