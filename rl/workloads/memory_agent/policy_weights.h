#ifndef RL_WORKLOADS_MEMORY_AGENT_POLICY_WEIGHTS_H_
#define RL_WORKLOADS_MEMORY_AGENT_POLICY_WEIGHTS_H_

// The weights of a memory agent's policy: where a run begins, and how they are exported.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/parallel/thread_pool.h"
#include "data/memory/operation.h"
#include "models/decoder/config.h"
#include "models/decoder/parameters.h"
#include "models/olmoe/model_directory.h"
#include "rl/config/config.h"
#include "rl/policy/encoder/encoder_policy.h"

namespace reprise::rl {

// One action for each operation, and no value function.
inline constexpr EncoderShape kMemoryShape = {.actions = static_cast<int64_t>(data::kMemoryOperationCount)};

// Returns the configuration of the encoder of [model], with the adapters of [lora]. Errors are those of model.path;
// InvalidArgument where the encoder cannot have these adapters.
absl::StatusOr<models::DecoderConfig> ReadTrainedEncoderConfig(const Config& config);

// Returns the layout of a policy with this encoder, which is valid: encoder or adapters, action head, value function.
models::DecoderLayout MakePolicyLayout(const models::DecoderConfig& encoder, bool has_values);

// Sets the weights with which a run begins: those of model.path, a language model, whose lm-head is left out, or an
// encoder that a run has exported, with its action head; else they are random. With adapters these are initial, and the
// encoder of model.path is the frozen one. Errors of the model's files. The caller must then call Refresh.
absl::Status SetFirstPolicyWeights(const Config& config, ThreadPool& pool, EncoderPolicy* policy);

// Writes weights, flat in the layout of a policy with this encoder, without a value function (models::ExportEncoder).
// With adapters the encoder is the merged one, and DIRECTORY/adapter is their directory for the PEFT library; the
// frozen encoder is read again, whole. Errors of the model's files, and of writing.
absl::Status ExportPolicy(const Config& config, const models::DecoderConfig& encoder, absl::Span<const float> weights,
                          const models::CopiedFiles& copied, FileSystem& files, const std::string& directory);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_MEMORY_AGENT_POLICY_WEIGHTS_H_
