#ifndef RL_WORKLOADS_MEMORY_AGENT_KIND_EXPECTED_ROWS_H_
#define RL_WORKLOADS_MEMORY_AGENT_KIND_EXPECTED_ROWS_H_

// How many tokens the encoder of a memory agent reads in a step: equal states are encoded once, so that this depends on
// what is drawn. It is counted in episodes of the run's own tasks whose operations are drawn uniformly, as a new policy
// draws them. A policy that has learned to prefer some operations meets fewer distinct states.

#include <cstdint>

#include "absl/status/statusor.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/algorithm/algorithm.h"
#include "rl/config/config.h"

namespace reprise::rl {

// Rows are tokens of distinct states. Those of passes are means over steps of the curriculum's last stage, summed over
// all ranks.
struct ExpectedRows {
  double drawn = 0;          // one forward pass over all states that a rank reads together
  double shards = 0;         // one pass over each shard's states
  double updates = 0;        // passes of all updates
  double repeated = 0;       // of these, forward passes that a backward pass repeats, because its shard was divided
  int64_t update_batch = 0;  // rows of the largest micro-batch of an update
  int64_t drawn_batch = 0;   // and of drawing, evaluations included
};

// positions: what the encoder reads of a state. parts: into how many parts a step's groups are divided, each of which a
// pass takes at once; a multiple of `ranks` where they are not logical shards. Errors: those of TokensOfState. Pure.
absl::StatusOr<ExpectedRows> ExpectRows(const Config& config, const AlgorithmConfig& algorithm,
                                        const models::Tokenizer& tokenizer, int64_t positions, int64_t ranks,
                                        int64_t parts);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_KIND_EXPECTED_ROWS_H_
