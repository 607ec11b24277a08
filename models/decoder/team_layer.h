#ifndef MODELS_DECODER_TEAM_LAYER_H_
#define MODELS_DECODER_TEAM_LAYER_H_

// One layer of the forward pass of sampling, divided among a team's threads: by rows if there are many, otherwise by
// the outputs of each product, and by experts. A row's bits depend on that row alone, so no division changes a bit.

#include <cstdint>
#include <functional>

#include "core/parallel/team.h"
#include "models/decoder/layer.h"

namespace reprise::models {

class TeamLayer {
 public:
  // A layer for `rows` rows with these positions. All arguments must outlive this object.
  TeamLayer(const DecoderConfig& config, const kernels::RotaryTable& rotary, int64_t rows, const int32_t* position_T,
            const Team& team)
      : config_(config), rotary_(rotary), rows_(rows), position_T_(position_T), team_(team) {}

  void Project(const LayerWeights& weights, const LayerRows& layer) const;
  void Mix(const LayerWeights& weights, const LayerRows& layer) const;
  void Experts(const LayerWeights& weights, const LayerRows& layer, const kernels::Rows& x_next_TD) const;

 private:
  // Calls work(begin, end, team for its products) for ranges that cover all rows.
  void ForRows(const std::function<void(int64_t begin, int64_t end, const Team& team)>& work) const;
  void RunFewExperts(const std::vector<int64_t>& active, const kernels::ExpertLayer& experts,
                     const kernels::ConstRows& x_TD) const;
  void RunManyExperts(const std::vector<int64_t>& active, const kernels::ExpertLayer& experts,
                      const kernels::ConstRows& x_TD) const;

  const DecoderConfig& config_;
  const kernels::RotaryTable& rotary_;
  const int64_t rows_;
  const int32_t* const position_T_;
  const Team& team_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_TEAM_LAYER_H_
