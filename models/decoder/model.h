#ifndef MODELS_DECODER_MODEL_H_
#define MODELS_DECODER_MODEL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/parallel/thread_pool.h"
#include "core/tensor/tensor.h"
#include "models/decoder/decoder.h"
#include "models/heads/value_head.h"
#include "models/lora/adapter_weights.h"

namespace reprise::models {

// A decoder with its parameters, and those of a value function if there is one: the flat array that optimizers update
// and files store, and the packed copy that the kernels read. With adapters (config.lora) the parameters are theirs;
// the language model itself is frozen and only in the packed copy, which models can share. Not copyable;
// heap-allocated, because its parts refer to each other.
class Model {
 public:
  // All parameters are 0 until the caller fills them and calls Refresh. config must be valid (ValidateDecoderConfig).
  // Without `training` only sampling and Forward work. With adapters, LoadBase or ShareIfEqual comes before Refresh.
  static std::unique_ptr<Model> Create(const DecoderConfig& config, bool training);
  // The same for an encoder: `layout` begins with EncoderLayout(config), and what is behind it are tensors of heads,
  // which the caller packs. config.value_model must be kNone; its tie_word_embeddings does not matter.
  static std::unique_ptr<Model> CreateEncoder(const DecoderConfig& config, DecoderLayout layout, bool training);

  // The same for a decoder with heads: `layout` begins with MakeDecoderLayout(config). config.value_model must be
  // kNone.
  static std::unique_ptr<Model> CreateWithHeads(const DecoderConfig& config, DecoderLayout layout, bool training);

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const DecoderConfig& config() const { return config_; }
  const DecoderLayout& layout() const { return layout_; }
  absl::Span<const float> parameters() const { return flat_.data<float>(); }
  absl::Span<float> mutable_parameters() { return flat_.mutable_data<float>(); }
  TensorView parameter(int spec) const;  // a view of one tensor

  // With adapters, once: reads the frozen language model, whose layout is MakeBaseLayout(config), or
  // TrunkLayout(config) for an encoder. Errors of `read`.
  absl::Status LoadBase(ThreadPool& pool, const TensorReader& read) { return weights_.Load(pool, read); }
  // With adapters, instead of LoadBase: uses another model's frozen weights, which have the same shape and were loaded
  // with the same `training`, or with it. Adapters may have other sizes.
  void ShareBase(const Model& other);

  // Packs the parameters for the kernels; must be called after every change of the parameters. `change`, if any, is
  // called for ranges of the flat parameters, which it may modify: the ranges cover all parameters, without overlap,
  // and each is packed by the thread that changed it while it is in cache. It is called by several threads at once.
  void Refresh(ThreadPool& pool, const RangeFunction& change = nullptr);

  // For a model without `training` and without a value function: if its parameters equal those of another model of the
  // same shape bit for bit, the other model's packed copy is used for this one too, instead of a Refresh, until either
  // is refreshed. A Refresh does not change the other's copy: no change of one model is ever visible in the other.
  // Returns whether they are equal. The other model must have been refreshed since its last change. With adapters, this
  // model uses the other's frozen weights from then on, whether the adapters are equal or not.
  bool ShareIfEqual(const Model& other);
  // Returns whether both compute the same bits from the same copy.
  bool SharesWith(const Model& other) const;

  const Decoder& decoder() const { return decoder_; }
  const AdapterWeights* adapters() const { return adapters_.get(); }  // null without adapters

  // With a value function (config().value_model): the decoder whose hidden states its head reads, which is either the
  // language model's own or the value network's, and the head.
  const Decoder& value_decoder() const { return value_network_ == nullptr ? decoder_ : value_network_->decoder; }
  ValueHead value_head() const;
  // Copies the language model's trunk to the value network. Does nothing without a value network. The caller must then
  // call Refresh.
  void CopyTrunkToValueNetwork();

 private:
  // base: of the language model or encoder that adapters are added to.
  Model(const DecoderConfig& config, const DecoderLayout& base, DecoderLayout layout, bool training);

  const float* ValuesOf(int spec) const;

  const DecoderConfig config_;
  const DecoderLayout layout_;
  Tensor flat_;
  PackedWeights weights_;
  std::unique_ptr<AdapterWeights> adapters_;           // null without adapters
  std::vector<std::pair<int64_t, int64_t>> unpacked_;  // ranges of parameters that are in no matrix: first, size
  const kernels::RotaryTable rotary_;
  const Decoder decoder_;

  struct ValueNetwork {
    ValueNetwork(const DecoderConfig& policy, const float* trunk, bool training, const kernels::RotaryTable& rotary);
    const DecoderConfig config;
    const DecoderLayout layout;
    PackedWeights weights;
    const Decoder decoder;
  };
  std::unique_ptr<ValueNetwork> value_network_;  // null if there is none
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_MODEL_H_
