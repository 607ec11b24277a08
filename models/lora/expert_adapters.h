#ifndef MODELS_LORA_EXPERT_ADAPTERS_H_
#define MODELS_LORA_EXPERT_ADAPTERS_H_

#include <cstdint>
#include <vector>

#include "kernels/experts/experts.h"
#include "models/lora/adapter.h"
#include "models/lora/adapter_weights.h"

namespace reprise::models {

// Where the gradients of the experts' adapters of one layer go.
struct ExpertAdapterGradients {
  std::vector<AdapterGradient> gate_E, up_E, down_E;
};

// The adapters of the experts of one layer: added to their products over the rows that chose them. An expert's adapter
// has its gradients' chains over the expert's own rows of the shard, as the expert's matrices have.
class ExpertAdapters final : public kernels::ExpertAdditions {
 public:
  // All arguments must outlive this. dropout_T: the rows' seeds, null where nothing is dropped; gradients: for the
  // backward passes.
  ExpertAdapters(const LayerAdapters& adapters, const kernels::ExpertPlan& plan,
                 const kernels::ExpertActivations& activations, const uint64_t* dropout_T,
                 const ExpertAdapterGradients* gradients = nullptr)
      : adapters_(adapters), plan_(plan), activations_(activations), dropout_T_(dropout_T), gradients_(gradients) {}

  void AddToGateUp(int64_t expert, const kernels::Range& panels) const override;
  void AddToDown(int64_t expert, const kernels::Range& panels) const override;
  void DownBackward(int64_t expert, const kernels::ConstRows& dout_RD, const kernels::Rows& dhidden_RF) const override;
  void GateUpBackward(int64_t expert, const kernels::ConstRows& dgate_up_R2F,
                      const kernels::Rows& dx_RD) const override;

 private:
  RowSeeds SeedsOf(const kernels::Range& rows) const;

  const LayerAdapters& adapters_;
  const kernels::ExpertPlan& plan_;
  const kernels::ExpertActivations& activations_;
  const uint64_t* const dropout_T_;
  const ExpertAdapterGradients* const gradients_;
};

}  // namespace reprise::models

#endif  // MODELS_LORA_EXPERT_ADAPTERS_H_
