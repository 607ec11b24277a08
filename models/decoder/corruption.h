#ifndef MODELS_DECODER_CORRUPTION_H_
#define MODELS_DECODER_CORRUPTION_H_

// Finds where a model contains a number that no computation can have produced (core/tensor/bounds.h). Called only after
// a result was refused, to find what must be repaired; it costs nothing otherwise.

#include <string>

#include "models/decoder/batch.h"
#include "models/decoder/model.h"

namespace reprise::models {

// Describes the first corruption, causes before effects: a parameter ("model.norm.weight (element 3 is nan)");
// otherwise a tensor of the forward pass over the batch, which is repeated on one thread ("router_logits of layer 0
// (nan at row 5, column 2)", "logits (...)"), together with the parameter whose packed copy for the kernels differs
// from it, if there is one; otherwise only that copy. Returns "" if there is no corruption. An encoder has no logits,
// and of its heads only the parameters are read. No segment of `batch` may have an outside prefix. Takes the memory of
// a training pass over the batch in addition to the model.
std::string FindCorruption(const Model& model, const PackedBatch& batch);

}  // namespace reprise::models

#endif  // MODELS_DECODER_CORRUPTION_H_
