#ifndef MODELS_DECODER_PARAMETERS_H_
#define MODELS_DECODER_PARAMETERS_H_

// The parameters of a decoder: plain named tensors, under their Hugging Face names.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/flat_layout.h"
#include "models/decoder/config.h"
#include "models/lora/adapter_weights.h"

namespace reprise::models {

// The tensors of one layer: indices into DecoderLayout::specs; -1: the tensor is frozen.
struct LayerParameters {
  int input_norm, q, k, v, o, q_norm, k_norm, post_norm, router;
  std::vector<int> gate_E, up_E, down_E;
};

// The tensors of the value function; indices into DecoderLayout::specs, -1 if there is none.
struct ValueParameters {
  int weight = -1,
      bias = -1;             // v_head.summary.weight [1, D] and v_head.summary.bias [1], as in TRL's value-head models
  int embedding = -1;        // of the value network
  int64_t trunk_offset = 0;  // offset of the value network's first tensor
};

// The trained rows of the embedding and of the lm-head of a frozen model (DecoderConfig::new_rows): indices into
// DecoderLayout::specs, the same where the two are tied; -1 if there are none.
struct NewRowParameters {
  int embedding = -1, lm_head = -1;
};

// The parameters that are trained, and stored in one flat array. The order of specs is that of the network, from the
// embedding to the lm-head; then come the value network's tensors (their names begin with "value_model."), then the
// value head's. An encoder has no lm-head: behind its trunk are the tensors of the heads that read its hidden states,
// those of a value function last. With adapters the decoder's own tensors are frozen and in no flat array: in their
// place are the adapters', under their names in files of the PEFT library, and behind them new rows of the vocabulary.
struct DecoderLayout : FlatLayout {
  int embedding = 0, final_norm = 0, lm_head = 0;  // lm_head == embedding when tied, -1 without one; all -1 if frozen
  std::vector<LayerParameters> layers;
  std::vector<LayerAdapterParameters> adapters;  // by layer; empty without adapters
  int64_t policy_total = 0;                      // number of floats before those of the value function
  int policy_specs = 0;                          // number of tensors before those of the value function
  ValueParameters value;
  NewRowParameters new_rows;

  // The tensors of the embedding and the lm-head that have gradients: whole, or new rows; -1: none.
  int trained_embedding() const { return embedding < 0 ? new_rows.embedding : embedding; }
  int trained_lm_head() const { return lm_head < 0 ? new_rows.lm_head : lm_head; }
};

DecoderLayout MakeDecoderLayout(const DecoderConfig& config);

// Returns the layout of the language model itself, trained or frozen, without adapters and value function.
DecoderLayout MakeBaseLayout(const DecoderConfig& config);

// Returns the layout of the language model alone, to which a value function was added. Its tensors keep their offsets.
DecoderLayout PolicyPart(DecoderLayout layout);

// Returns the layout of a decoder without lm-head: that of an encoder, and that of a value network from its first
// tensor on (names without prefix). Adapters are not in it.
DecoderLayout TrunkLayout(const DecoderConfig& config);

// Returns the layout of an encoder, behind which its heads are appended: TrunkLayout, or with adapters theirs alone.
DecoderLayout EncoderLayout(const DecoderConfig& config);

// Fills `flat` (layout.total floats) with the initial weights of a new model: norms 1, matrices and embeddings normal
// with standard deviation initializer_range, the padding token's embedding and the value head's bias 0. Of adapters, A
// is normal with variance 1 / (3 in), that of PEFT's uniform initialisation (Kaiming's with a = sqrt(5)), and B is 0. A
// pure function of seed and layout; adding a value function or adapters changes nothing in the language model. Does not
// change tensors before first_spec.
void InitializeParameters(const DecoderConfig& config, const DecoderLayout& layout, uint64_t seed,
                          absl::Span<float> flat, int first_spec = 0);

// Fills one tensor of the layout, as InitializeParameters does.
void InitializeTensor(const DecoderConfig& config, const DecoderLayout& layout, uint64_t seed, int spec,
                      absl::Span<float> values);

}  // namespace reprise::models

#endif  // MODELS_DECODER_PARAMETERS_H_
