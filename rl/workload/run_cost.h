#ifndef RL_WORKLOAD_RUN_COST_H_
#define RL_WORKLOAD_RUN_COST_H_

// What a workload can say of a run's cost before the run is prepared.

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/flat_layout.h"

namespace reprise::rl {

// A symbol of the formulas.
struct MemorySymbol {
  std::string letter, meaning;
  int64_t value = 0;
};

struct MemoryItem {
  std::string what, formula;  // "gradient partial sums", "4 W b"
  int64_t bytes = 0;
};

struct MemoryEstimate {
  std::vector<MemorySymbol> symbols;
  std::vector<MemoryItem> items;
  std::string not_predicted = "";  // further memory that the items do not include, in words; empty: none
  std::string remedy = "";         // what of the workload's own keys would need less, in words; empty: nothing
  int64_t total_bytes() const {
    int64_t total = 0;
    for (const MemoryItem& item : items) total += item.bytes;
    return total;
  }
};

// Floating-point operations of matrix products, counting multiplications and additions, over all ranks.
struct StepOperations {
  double sampling = 0, forward = 0, backward = 0;
  double total() const { return sampling + forward + backward; }
};

struct RunCost {
  FlatLayout layout;          // of the policy's parameters
  MemoryEstimate memory;      // of the rank that needs the most
  StepOperations operations;  // of the training step that `step` describes
  std::string step;           // in words: "a step with completions of full length"
};

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_RUN_COST_H_
