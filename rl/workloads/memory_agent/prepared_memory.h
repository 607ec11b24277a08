#ifndef RL_WORKLOADS_MEMORY_AGENT_PREPARED_MEMORY_H_
#define RL_WORKLOADS_MEMORY_AGENT_PREPARED_MEMORY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/record/record_schema.h"
#include "rl/workload/run_parts.h"

namespace reprise::rl {

// Sets the parts' workload: the memory agent of [memory], whose policy encodes states with the model of [model]. Its
// first weights are those of model.path, a language model, whose lm-head is left out, or an encoder that a run has
// exported, with its action head; else they are random. Adds the digests of model.path, and a warning where states are
// longer than the model's positions. Errors: those of the model's files; InvalidArgument when tokenizer and model are
// incompatible or a state cannot be encoded.
absl::Status PrepareMemory(const Config& config, RunUse use, RunParts* parts);

// Returns the layout of the policy's parameters. Errors as above.
absl::StatusOr<FlatLayout> MakeMemoryLayout(const Config& config);

// Writes weights of that layout, without a value function, as a Hugging Face model directory: the encoder, and the
// action head beside it. Errors as above, and those of writing.
absl::Status ExportMemory(const Config& config, absl::Span<const float> weights, FileSystem& files,
                          const std::string& directory);

// Describes the records of a run.
RecordSchema MakeMemorySchema(const Config& config);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_PREPARED_MEMORY_H_
