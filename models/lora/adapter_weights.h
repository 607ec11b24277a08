#ifndef MODELS_LORA_ADAPTER_WEIGHTS_H_
#define MODELS_LORA_ADAPTER_WEIGHTS_H_

// The adapters of a decoder (models/lora), packed for the kernels: a small copy, packed anew after every optimizer
// step. Two equal sets of adapters can share one copy until one of them is packed again, as PackedWeights do.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/parallel/thread_pool.h"
#include "core/tensor/flat_layout.h"
#include "core/tensor/tensor.h"
#include "models/lora/adapter.h"
#include "models/lora/lora_config.h"

namespace reprise::models {

// The two matrices of an adapter, A [r, in] and B [out, r]: indices into the layout's specs, -1 if there is none.
struct AdapterParameters {
  int a = -1, b = -1;
};
struct LayerAdapterParameters {
  AdapterParameters q, k, v, o;
  std::vector<AdapterParameters> gate_E, up_E, down_E;
};

// The adapters of a layout that has any.
struct AdapterLayout {
  const LoraConfig& config;
  const FlatLayout& layout;
  const std::vector<LayerAdapterParameters>& layers;
};

// The adapters of one layer; those that do not exist have rank 0, and without adapters in experts the vectors are
// empty.
struct LayerAdapters {
  Adapter q, k, v, o;
  std::vector<Adapter> gate_E, up_E, down_E;

  bool in_experts() const { return !gate_E.empty(); }
};

class AdapterWeights {
 public:
  // `flat` holds the parameters in the layout's order; it must outlive this. Nothing is packed yet.
  AdapterWeights(const AdapterLayout& layout, const float* flat);
  AdapterWeights(const AdapterWeights&) = delete;
  AdapterWeights& operator=(const AdapterWeights&) = delete;

  // Packs all adapters again; allocates new memory if the old copy is shared. `pool`'s threads divide the work.
  void Refresh(ThreadPool& pool);

  // Uses the copy of adapters of the same shapes, which must be equal bit for bit (the caller must ensure this).
  void Share(const AdapterWeights& other);
  bool SharesWith(const AdapterWeights& other) const { return copy_ != nullptr && copy_ == other.copy_; }

  const std::vector<LayerAdapters>& layers() const { return layers_; }

  // Returns the index, in the layout's specs, of the first matrix of an adapter whose packed copy differs from what
  // Refresh makes, or -1. For finding the cause of a failure: takes the time of a Refresh.
  int FirstDamage() const;

  // Returns the bytes that the copy takes.
  static int64_t Bytes(const AdapterLayout& layout);

 private:
  struct Place {
    Adapter* adapter;  // in layers_
    AdapterParameters specs;
    const float *a, *b;
    int64_t offset;  // in the copy
  };

  std::vector<LayerAdapters> layers_;
  std::vector<Place> places_;
  int64_t floats_ = 0;
  std::shared_ptr<Tensor> copy_;  // null until there is one
};

}  // namespace reprise::models

#endif  // MODELS_LORA_ADAPTER_WEIGHTS_H_
