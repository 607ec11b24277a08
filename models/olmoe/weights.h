#ifndef MODELS_OLMOE_WEIGHTS_H_
#define MODELS_OLMOE_WEIGHTS_H_

// The weights of a Hugging Face model directory: model.safetensors, or shards named by model.safetensors.index.json.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "models/decoder/parameters.h"

namespace reprise::models {

// The paths of the files that hold the weights, sorted. NotFound when `directory` has neither model.safetensors nor an
// index; InvalidArgument for a malformed index, also one that names a file elsewhere.
absl::StatusOr<std::vector<std::string>> WeightFiles(const std::string& directory);

// Fills `flat` (layout.total floats; padding becomes 0) from the directory's weights, converted to float. The tensors
// are exactly those of `layout`, each once and in its shape; "rotary_emb.inv_freq" buffers of old checkpoints are
// ignored, and with tied embeddings an lm_head.weight that equals the embedding is accepted.
// InvalidArgument listing missing or extra tensors, or naming a tensor of another shape; DataLoss for a damaged file or
// a value that is not finite.
absl::Status LoadWeights(const std::string& directory, const ParameterLayout& layout, absl::Span<float> flat);

// Writes model.safetensors into `directory`: float32, tensors sorted by name as Transformers does, so that the same
// weights give the same file. Atomic; AlreadyExists when it is there; Internal, naming the tensor and before anything
// is written, for a weight that is not finite, which LoadWeights would refuse.
absl::Status SaveWeights(FileSystem& files, const std::string& directory, const ParameterLayout& layout,
                         absl::Span<const float> flat);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_WEIGHTS_H_
