#ifndef RL_WORKLOAD_RUN_PARTS_H_
#define RL_WORKLOAD_RUN_PARTS_H_

// What a run works with, as verbs see it: prepared from a checked configuration before anything is executed.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/comm/communicator.h"
#include "core/io/file_system.h"
#include "core/parallel/thread_pool.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environments/process/process_client.h"
#include "rl/policy/policy.h"
#include "rl/record/step_tables.h"
#include "rl/workload/external_file.h"
#include "rl/workload/workload.h"

namespace reprise::rl {

// How a workload is executed. All references must outlive it.
struct WorkloadRun {
  const Config& config;  // that of the preparation; keys of [execution] and run.extended_at may differ
  Communicator& comm;
  ThreadPool& pool;
  // Stored steps: they are executed from what the record stores. Null: all steps are live.
  const std::vector<StepTables>* records = nullptr;
  bool continues_live = false;  // steps after the last stored one are live; else they are an error
};

// Tasks of evaluations, and those of them whose prompts are known.
struct HeldOutCount {
  int64_t tasks = 0, known = 0;
};

class PreparedWorkload {
 public:
  virtual ~PreparedWorkload() = default;

  // Refreshed, with the weights that the run begins with. Training changes them.
  virtual Policy& policy() const = 0;

  // Called at most once. Collective. The result refers to this.
  virtual absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) = 0;

  // Returns the client of the run's external process; null where it has none.
  virtual ProcessClient* process() const { return nullptr; }
  // Calls the external process of the run, if it has one, before the run relies on it.
  virtual absl::Status ProbeProcess(const Config&) const { return absl::OkStatus(); }

  // Returns the tokenizer of texts that tasks and episodes consist of; null where they are no text.
  virtual const models::Tokenizer* text_tokenizer() const { return nullptr; }

  // Counts the held-out tasks of evaluations, and those with one of these prompts, which were read with the options
  // `trained`; none where tasks have no prompts.
  virtual HeldOutCount CountHeldOut(const Config&, const std::set<std::string>& /*prompts*/,
                                    const RolloutConfig& /*trained*/) const {
    return {};
  }

  // Writes the policy into a directory, in the form in which other programs read it. NotFound or AlreadyExists where
  // another process writes there at the same time.
  virtual absl::Status Export(FileSystem& files, const std::string& directory) const = 0;

  // Sets the policy's adapters to those of a directory of the PEFT library; the caller must then call Refresh.
  // FailedPrecondition where the policy has none; else errors of models::LoadAdapters.
  virtual absl::Status TakeAdapters(const std::string& directory) {
    return absl::FailedPreconditionError(directory +
                                         " has adapters of a language model, which this run does not train");
  }
};

struct RunParts {
  std::unique_ptr<ThreadPool> pool;          // of this rank
  std::vector<ExternalFile> external_files;  // that the run depends on
  std::vector<std::string> warnings;         // to be shown to the user before the run begins
  std::unique_ptr<PreparedWorkload> workload;
};

// What the parts are for. Training checks and warns about the training problems; an evaluation alone checks only the
// held-out ones.
enum class RunUse { kTraining, kEvaluation };

}  // namespace reprise::rl

#endif  // RL_WORKLOAD_RUN_PARTS_H_
