#ifndef MODELS_DECODER_MODEL_H_
#define MODELS_DECODER_MODEL_H_

#include <memory>

#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "core/tensor/tensor.h"
#include "models/decoder/decoder.h"

namespace reprise::models {

// A decoder with its parameters: the flat array that optimizers step and files hold, and the packed copy that the
// kernels read. Not copyable; heap-allocated, since its parts refer to each other.
class Model {
 public:
  // All parameters are 0 until the caller fills them and calls Refresh. config is valid (ValidateDecoderConfig).
  // Without `training` only sampling and Forward work.
  static std::unique_ptr<Model> Create(const DecoderConfig& config, bool training);

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const DecoderConfig& config() const { return config_; }
  const ParameterLayout& layout() const { return layout_; }
  absl::Span<const float> parameters() const { return flat_.data<float>(); }
  absl::Span<float> mutable_parameters() { return flat_.mutable_data<float>(); }
  TensorView parameter(int spec) const;  // a view of one tensor

  // Packs the parameters for the kernels; after every change of them.
  void Refresh(ThreadPool& pool) { weights_.Refresh(pool); }

  const Decoder& decoder() const { return decoder_; }

 private:
  Model(const DecoderConfig& config, bool training);

  const DecoderConfig config_;
  const ParameterLayout layout_;
  Tensor flat_;
  PackedWeights weights_;
  const kernels::RotaryTable rotary_;
  const Decoder decoder_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_MODEL_H_
