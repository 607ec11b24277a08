#ifndef RL_WORKLOADS_QUIET_STAR_THINKER_WEIGHTS_H_
#define RL_WORKLOADS_QUIET_STAR_THINKER_WEIGHTS_H_

// The weights of a model that thinks: where a run begins, and how they are exported.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/config.h"
#include "models/olmoe/model_directory.h"
#include "models/quiet_star/thought_heads.h"
#include "models/quiet_star/thought_model.h"
#include "rl/config/config.h"

namespace reprise::rl {

// What a run trains: a decoder with the thinking tokens, or with [lora] its adapters and the thinking tokens' rows of a
// frozen one; and heads.
struct Thinker {
  models::DecoderConfig grown;
  models::ThoughtHeadsShape heads;
};

// Returns that of a configuration. Errors of model.path; InvalidArgument for heads or adapters that
// the model cannot have.
absl::StatusOr<Thinker> ReadThinker(const Config& config);

// Sets the weights with which a run begins. like_token: models::InitializeThinkingTokens. With adapters the model of
// model.path, or a random one, is the frozen one. Errors of the model's files. The caller must then call Refresh.
absl::Status SetFirstWeights(const Config& config, int32_t like_token, ThreadPool& pool, models::ThoughtModel* model);

// Writes weights, flat in the layout of the thinker, without a value function, as a model directory: the heads are
// further tensors, which Transformers leaves out. With adapters the decoder is the merged one, and DIRECTORY/adapter is
// their directory for the PEFT library, which has no thinking tokens; the frozen model is read again, whole. Errors of
// the model's files, and of writing.
absl::Status ExportThinker(const Config& config, const Thinker& thinker, absl::Span<const float> weights,
                           const models::CopiedFiles& copied, FileSystem& files, const std::string& directory);

}  // namespace reprise::rl

#endif  // RL_WORKLOADS_QUIET_STAR_THINKER_WEIGHTS_H_
