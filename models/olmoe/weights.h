#ifndef MODELS_OLMOE_WEIGHTS_H_
#define MODELS_OLMOE_WEIGHTS_H_

// The weights of a Hugging Face model directory: model.safetensors, or shards named by model.safetensors.index.json.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/io/file_system.h"
#include "models/decoder/parameters.h"
#include "models/decoder/weights.h"

namespace reprise::models {

// Returns the paths of the files that hold the weights, sorted. NotFound if `directory` has neither model.safetensors
// nor an index, or lacks files of the index, counting them; InvalidArgument for a malformed index, including one that
// names a file in another directory; FailedPrecondition for a link to nowhere.
absl::StatusOr<std::vector<std::string>> WeightFiles(const std::string& directory);

// Returns "; ..." about weights in a format that is not read (GGUF, pickles of PyTorch), or about adapters, if the
// directory has some, else "".
std::string OtherWeights(const std::string& directory);

// Returns whether the directory's weights have a tensor of this name. Reads the files' headers. Errors: those of
// WeightFiles, and InvalidArgument or DataLoss for a malformed file.
absl::StatusOr<bool> HasTensor(const std::string& directory, absl::string_view name);

// Fills `flat` (layout.total floats; padding becomes 0) with the directory's weights, converted to float. The directory
// must contain exactly the tensors of `layout`, each once and with its shape; "rotary_emb.inv_freq" buffers of old
// checkpoints are ignored, and so are the lm-head for a layout without one, and others without elements or with
// elements of a type that cannot be read; the experts of a layer may be fused as Transformers 5 stores them
// (stored_tensors.h); with tied embeddings an lm_head.weight that equals the embedding is accepted, also in its place.
// InvalidArgument, listing missing or extra tensors, or naming a tensor of another shape; Unimplemented for a tensor
// that cannot be read; DataLoss for a damaged file or a value that is not finite.
absl::Status LoadWeights(const std::string& directory, const DecoderLayout& layout, absl::Span<float> flat);

// Memory in bytes.
struct MemoryBudget {
  int64_t held = 0;   // of other models that stay while this one is made
  int64_t limit = 0;  // 0: that of this machine
};

// InvalidArgument if this machine does not have the memory for a model's parameters and their packed copy, which for a
// training model is larger: a process that takes more is ended without a message.
absl::Status RequireMemory(const DecoderConfig& config, bool training, const MemoryBudget& budget = {});
// The same for an encoder, without the small heads that read its hidden states.
absl::Status RequireEncoderMemory(const DecoderConfig& config, bool training);
// Returns the bytes that RequireMemory compares.
int64_t MemoryOf(const DecoderConfig& config, bool training);

// Opens the same weights to be read tensor by tensor, in any order, so that they need no flat array. The files must not
// be truncated while the reader lives. Errors are those of LoadWeights; those of a tensor come when it is read.
absl::StatusOr<TensorReader> OpenWeights(const std::string& directory, const DecoderLayout& layout);

// Writes model.safetensors to `directory`: float32, with tensors sorted by name as Transformers does, so that the same
// weights give the same file. Atomic. AlreadyExists if the file exists; Internal, naming the tensor and before anything
// is written, for a weight that is not finite, which LoadWeights would refuse.
absl::Status SaveWeights(FileSystem& files, const std::string& directory, const FlatLayout& layout,
                         absl::Span<const float> flat);

}  // namespace reprise::models

#endif  // MODELS_OLMOE_WEIGHTS_H_
