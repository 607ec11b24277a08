#ifndef RL_WORKLOADS_COMPLETIONS_PREPARED_COMPLETIONS_H_
#define RL_WORKLOADS_COMPLETIONS_PREPARED_COMPLETIONS_H_

// The preparation of a run of completions: the model with its first weights, the tokenizer, the environment, the
// problems, and the digests of external files.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/tasks/task.h"
#include "models/decoder/model.h"
#include "models/tokenizer/tokenizer.h"
#include "rl/config/config.h"
#include "rl/environment/environment.h"
#include "rl/policy/decoder/decoder_policy.h"
#include "rl/workload/run_parts.h"
#include "rl/workloads/completions/completions_workload.h"

namespace reprise::rl {

class PreparedCompletions : public PreparedWorkload {
 public:
  Policy& policy() const override { return *decoder_policy; }
  // Errors: those of MakeDeps and of CompletionsWorkload::Create.
  absl::StatusOr<std::unique_ptr<Workload>> Start(const WorkloadRun& run) override;
  ProcessClient* process() const override { return process_client.get(); }
  // Calls the process once, with the answer of a first problem: checks that it exists and that its replies are valid.
  // The replies are not used. InvalidArgument, with a remedy, for a program that does not exist; else errors as
  // ProcessClient::Ask.
  absl::Status ProbeProcess(const Config& config) const override;
  const models::Tokenizer* text_tokenizer() const override { return tokenizer.get(); }
  HeldOutCount CountHeldOut(const Config& config, const std::set<std::string>& prompts,
                            const RolloutConfig& trained) const override;
  absl::Status Export(FileSystem& files, const std::string& directory) const override;
  absl::Status TakeAdapters(const std::string& directory) override;

  // Returns what the workload of a run works with. Errors: those of the configuration's names.
  absl::StatusOr<CompletionsDeps> MakeDeps(const WorkloadRun& run) const;

  Config config;  // of the preparation
  std::unique_ptr<models::Model> model;
  std::unique_ptr<models::Tokenizer> tokenizer;
  std::unique_ptr<DecoderPolicy> decoder_policy;  // of the model
  std::vector<int32_t> end_tokens;                // of the model, without rollout.stop_token_ids; at least one
  std::string chat_template, generation_config, special_tokens_map;  // of the model's directory; may be empty
  std::unique_ptr<Environment> environment;                          // may be null
  std::shared_ptr<ProcessClient> process_client;                     // may be null
  std::vector<data::Task> problems;                                  // of data.path, to train on
  std::vector<data::Task> held_out;                                  // of data.path, or of evaluation.path
};

// Sets the parts' workload, external files (of the model, then of the data) and warnings. Errors:
// those of the model's and the data's files, which name the file; InvalidArgument when tokenizer and model are
// incompatible, or a task does not fit into the model's positions.
absl::Status PrepareCompletions(const Config& config, RunUse use, RunParts* parts);

// Describes the records of a run of completions.
RecordSchema MakeCompletionSchema(const Config& config);

// Returns the layout of the model that a run trains. InvalidArgument for a shape that no model can have; else errors of
// the model's files.
absl::StatusOr<FlatLayout> MakeCompletionLayout(const Config& config);

// Writes weights of that layout as a Hugging Face model directory. Errors as above, and those of writing.
absl::Status ExportCompletions(const Config& config, absl::Span<const float> weights, FileSystem& files,
                               const std::string& directory);

// Returns the completions of a run that has this workload (checked).
PreparedCompletions& GetPreparedCompletions(const RunParts& parts);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_COMPLETIONS_PREPARED_COMPLETIONS_H_
