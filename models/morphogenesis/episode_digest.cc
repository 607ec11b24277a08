// Prints digests of small episodes, for instruction_sets_test.sh. Usage: episode_digest [THREADS]

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "kernels/isa/isa.h"
#include "models/morphogenesis/network_session.h"
#include "models/morphogenesis/small_episode.h"
#include "models/morphogenesis/small_examples.h"

int main(int argc, char** argv) {
  using reprise::models::testing::Play;
  if (const absl::Status status = reprise::kernels::InitializeIsa(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  // A thread's first session asks LibTorch for one thread; here, later ones get more all the same.
  static_cast<void>(reprise::models::HostSession::Create({.task = reprise::models::testing::SmallImageTask()}, {}));
  if (argc > 1) at::set_num_threads(std::atoi(argv[1]));
  const auto print = [](const reprise::models::HostTask& task, const char* blueprint) {
    const auto played = Play({.task = task,
                              .blueprints = {blueprint},
                              .epochs = 9,
                              .training_batches = 1,
                              .thresholds = {.min_training_improvement = -100}});  // all are blended
    std::printf("%s %s %s\n", task.name.c_str(), blueprint, played.digest.c_str());
  };
  for (const char* const blueprint : {"norm", "attention", "depthwise", "conv_light", "conv_heavy"}) {
    print(reprise::models::testing::SmallImageTask(), blueprint);
  }
  for (const char* const blueprint : {"norm", "lora", "attention", "mlp"}) {
    print(reprise::models::testing::SmallTokenTask(), blueprint);
  }
  std::fprintf(stderr, "%s, kernels %s\n", reprise::models::HostLibrary().c_str(),
               std::string(reprise::kernels::NameOf(reprise::kernels::ActiveIsa())).c_str());
  return 0;
}
