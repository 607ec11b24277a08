#include "pipelines/program.h"

#include <cstdio>
#include <memory>
#include <string>

#include "core/comm/world.h"
#include "core/status/conditions.h"
#include "kernels/isa/isa.h"

namespace reprise {

int TellError(const CommandLine& command_line, const absl::Status& status) {
  std::fprintf(stderr, "reprise %s: error: %s\n", command_line.verb().c_str(), std::string(status.message()).c_str());
  return ExitCodeOf(status);
}

int RunProgram(const CommandLine& command_line,
               const std::function<absl::StatusOr<int>(Communicator&, Logger&)>& verb) {
  if (const absl::Status isa = kernels::InitializeIsa(); !isa.ok()) return TellError(command_line, isa);
  absl::StatusOr<std::unique_ptr<Communicator>> world = StartWorld(/*ranks=*/0);
  if (!world.ok()) return TellError(command_line, world.status());
  absl::StatusOr<int> result = 0;
  {
    LoggerOptions options;
    options.rank = (*world)->rank();
    options.verbosity = command_line.flags().quiet ? Verbosity::kQuiet : Verbosity::kNormal;
    Logger logger(options);
    result = verb(**world, logger);
  }
  if (!result.ok()) {
    // MPI is left as it is: a peer may be gone. The launcher takes the other ranks down.
    return (*world)->rank() == 0 ? TellError(command_line, result.status()) : ExitCodeOf(result.status());
  }
  std::fflush(stdout);
  if (const absl::Status finished = FinishWorld(*std::move(world)); !finished.ok()) {
    return TellError(command_line, finished);
  }
  return *result;
}

}  // namespace reprise
