#ifndef MODELS_QUIET_STAR_THOUGHT_MODEL_H_
#define MODELS_QUIET_STAR_THOUGHT_MODEL_H_

// A decoder with the heads of a model that thinks, in one flat array of parameters. Not copyable; heap-allocated.

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/parallel/thread_pool.h"
#include "models/decoder/model.h"
#include "models/quiet_star/thought_heads.h"

namespace reprise::models {

class ThoughtModel {
 public:
  // All parameters are 0 until the caller fills them and calls Refresh. The decoder's come first, in the order of
  // MakeDecoderLayout(config); then the heads'. InvalidArgument if the configuration or the shape is not valid, has a
  // value model of the decoder's, or drops inputs of adapters.
  static absl::StatusOr<std::unique_ptr<ThoughtModel>> Create(const DecoderConfig& config,
                                                              const ThoughtHeadsShape& shape, bool training);

  Model& model() { return *model_; }
  const Model& model() const { return *model_; }
  const Decoder& decoder() const { return model_->decoder(); }
  const DecoderConfig& config() const { return model_->config(); }
  const ThoughtHeads& heads() const { return heads_; }
  const DecoderLayout& layout() const { return model_->layout(); }
  absl::Span<const float> parameters() const { return model_->parameters(); }
  absl::Span<float> mutable_parameters() { return model_->mutable_parameters(); }

  // With adapters, once: reads the frozen model, whose layout is MakeBaseLayout(config). Errors of `read`.
  absl::Status LoadBase(ThreadPool& pool, const TensorReader& read) { return model_->LoadBase(pool, read); }

  void InitializeDecoder(uint64_t seed);
  void InitializeHeads(uint64_t seed) { heads_.Initialize(seed, mutable_parameters()); }

  // As Model::Refresh; the heads too.
  void Refresh(ThreadPool& pool, const RangeFunction& change = nullptr);

  // Returns a copy without value function, for forward passes only, which shares the packed weights until either is
  // refreshed. This model must have been refreshed since its last change.
  std::unique_ptr<ThoughtModel> FrozenCopy() const;
  // For a frozen copy: parameters become alpha `other` + (1 - alpha) own ones, a copy where alpha is 1.
  void MoveTowards(const ThoughtModel& other, double alpha, ThreadPool& pool);
  bool SharesWith(const ThoughtModel& other) const { return model_->SharesWith(*other.model_); }

 private:
  ThoughtModel(const DecoderConfig& config, const ThoughtHeadsShape& shape, DecoderLayout layout, bool training);

  ThoughtHeads heads_;  // appends its tensors to the layout, before the model is made
  std::unique_ptr<Model> model_;
};

}  // namespace reprise::models

#endif  // MODELS_QUIET_STAR_THOUGHT_MODEL_H_
