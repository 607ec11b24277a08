#include "rl/learner/step_divergence.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/comm/collectives.h"
#include "core/status/status_macros.h"
#include "kernels/sums/sums.h"
#include "rl/learner/step_loss.h"
#include "rl/learner/wire.h"

namespace reprise::rl {

absl::StatusOr<double> MeanDivergence(Communicator& comm, const Step& step) {
  WireWriter mine;
  for (const EpisodeRecord& episode : step.share.episode_N) mine.Put(SequenceDivergence(episode));
  ASSIGN_OR_RETURN(const std::vector<std::string> all, AllgatherBytes(comm, mine.bytes()));
  std::vector<double> divergence_N;
  for (const std::string& bytes : all) {
    for (WireReader reader(bytes); !reader.done();) divergence_N.push_back(reader.Get<double>());
  }
  return kernels::TreeSum(divergence_N) / static_cast<double>(std::max<int64_t>(step.num_tokens, 1));
}

}  // namespace reprise::rl
