#ifndef RL_RUN_PREPARE_H_
#define RL_RUN_PREPARE_H_

// Creates what a run works with from a checked configuration: the model with its first weights, the tokenizer, and the
// digests of external files.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environments/environments.h"
#include "rl/run/data_file.h"
#include "rl/run/external_file.h"
#include "rl/run/model_files.h"

namespace reprise::rl {

struct RunParts {
  std::unique_ptr<ThreadPool> pool;      // of this rank
  std::unique_ptr<models::Model> model;  // refreshed
  std::unique_ptr<models::Tokenizer> tokenizer;
  std::string chat_template;               // of the model's directory; may be empty
  std::shared_ptr<ProcessClient> process;  // may be null, as the environment may be
  std::unique_ptr<Environment> environment;
  std::vector<data::Task> problems;          // of data.path, to train on
  std::vector<data::Task> held_out;          // of data.path, or of evaluation.path
  std::vector<ExternalFile> external_files;  // of the model, then of the data
  std::vector<std::string> warnings;         // to be shown to the user before the run begins
};

// What the parts are for. Training checks and warns about the training problems; an evaluation alone checks only the
// held-out ones.
enum class RunUse { kTraining, kEvaluation };

// Deterministic. The ranks of a machine share its cores (ThreadsOf). Errors: those of the model's and the data's files,
// which name the file; InvalidArgument when tokenizer and model are incompatible, or a task does not fit into the
// model's positions.
absl::StatusOr<RunParts> PrepareRun(const Config& config, int ranks_on_this_machine = 1,
                                    RunUse use = RunUse::kTraining);

// Returns the names of the model's tensors, in the order of its layout.
std::vector<std::string> TensorNamesOf(const RunParts& parts);

// Returns execution.threads; for 0, an equal share of the machine's cores for each of its ranks, at least one.
int ThreadsOf(const ExecutionConfig& execution, int ranks_on_this_machine);

// Returns the configuration as it is stored and hashed: paths of external files are replaced by "external", since the
// files' digests, not their paths, are the run's identity.
Config WithoutPaths(Config config);

}  // namespace reprise::rl

#endif  // RL_RUN_PREPARE_H_
