#ifndef MODELS_DECODER_TEAM_LAYER_H_
#define MODELS_DECODER_TEAM_LAYER_H_

// One layer of sampling's forward pass, its work shared by a team: rows where there are many of them, else the outputs
// of each product, and the experts one by one. A row's bits depend on that row alone, so no cut changes one.

#include <cstdint>
#include <functional>

#include "core/parallel/team.h"
#include "models/decoder/layer.h"

namespace reprise::models {

class TeamLayer {
 public:
  // Of `rows` rows with these positions. All must outlive this.
  TeamLayer(const DecoderConfig& config, const kernels::RotaryTable& rotary, int64_t rows, const int32_t* position_T,
            const Team& team)
      : config_(config), rotary_(rotary), rows_(rows), position_T_(position_T), team_(team) {}

  void Project(const LayerWeights& weights, const LayerRows& layer) const;
  void Mix(const LayerWeights& weights, const LayerRows& layer) const;
  void Experts(const LayerWeights& weights, const LayerRows& layer, float* x_next_TD) const;

 private:
  // Calls work(begin, end, team for its products) for ranges that make up all rows.
  void ForRows(const std::function<void(int64_t begin, int64_t end, const Team& team)>& work) const;
  void RunFewExperts(const std::vector<int64_t>& active, const LayerWeights& weights, const LayerRows& layer) const;
  void RunManyExperts(const std::vector<int64_t>& active, const LayerWeights& weights, const LayerRows& layer) const;

  const DecoderConfig& config_;
  const kernels::RotaryTable& rotary_;
  const int64_t rows_;
  const int32_t* const position_T_;
  const Team& team_;
};

}  // namespace reprise::models

#endif  // MODELS_DECODER_TEAM_LAYER_H_
