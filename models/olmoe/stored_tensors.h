#ifndef MODELS_OLMOE_STORED_TENSORS_H_
#define MODELS_OLMOE_STORED_TENSORS_H_

// The tensors in the files of a model's weights, before they are converted.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/tensor/tensor.h"
#include "models/decoder/parameters.h"
#include "models/safetensors/reader.h"

namespace reprise::models {

struct StoredTensor {
  TensorView view;
  std::string path;  // of its file
};

struct StoredTensors {
  std::vector<SafetensorsFile> files;  // hold the bytes
  absl::flat_hash_map<std::string, StoredTensor> by_name;
  absl::flat_hash_map<std::string, absl::Status> unreadable;  // by name; why the tensor is not among them
};

// Opens the files and reads their headers. InvalidArgument for a tensor that is in two files; else the files' errors.
absl::StatusOr<StoredTensors> OpenTensors(const std::vector<std::string>& paths);

// Replaces the experts of a layer that Transformers 5 stores in two tensors, mlp.experts.gate_up_proj [E, 2 F, D] (each
// expert's gate above its up) and mlp.experts.down_proj [E, D, F], by those of each expert, which are views of the same
// bytes. InvalidArgument, naming the tensor, for another shape than the layout's experts have, or where an expert is
// stored twice.
absl::Status SplitFusedExperts(const DecoderLayout& layout, StoredTensors* stored);

// Gives the lm-head's matrix the embedding's name where a layout with tied embeddings finds only the former.
void NameTiedEmbedding(const DecoderLayout& layout, StoredTensors* stored);

// InvalidArgument, beginning with `directory` and listing them, where the files lack tensors of the layout or have
// others; Unimplemented where they have one of the layout with elements that cannot be read. Allowed are buffers
// "rotary_emb.inv_freq" of old checkpoints, an lm-head that the layout has not, and other tensors without elements or
// with elements that cannot be read.
absl::Status RequireTheSameNames(const std::string& directory, const DecoderLayout& layout,
                                 const StoredTensors& stored);

// The tensor's name of an lm-head that is not the embedding.
inline constexpr char kLmHeadName[] = "lm_head.weight";

}  // namespace reprise::models

#endif  // MODELS_OLMOE_STORED_TENSORS_H_
