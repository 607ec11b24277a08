#ifndef RL_GRADIENT_SHARDED_MUON_H_
#define RL_GRADIENT_SHARDED_MUON_H_

#include "rl/gradient/sharded_optimizer.h"

namespace reprise::rl {

// MuonGrokfast: gradients pass a filter that amplifies their slow part (kernels/optimizer/muon.h). Of hidden matrices
// the update is the momentum of the filtered gradient, orthogonalised (kernels/optimizer/orthogonalize.h), times
// sqrt(max(1, rows / columns)) or 0.2 sqrt(max(rows, columns)); vectors, embeddings and heads, and all tensors where
// optimizer.muon is false, take AdamW's update of the filtered gradient, at a learning rate of their own that follows
// the same schedule. A matrix needs all of its elements, so that it is one unit of one rank; its orthogonalisation runs
// on one thread.
//
// Groups: the gradients' running means; the momenta, of AdamW's tensors their first moments; and AdamW's second
// moments, 0 in matrices, where they take no memory.
class ShardedMuonGrokfast final : public ShardedOptimizer {
 public:
  explicit ShardedMuonGrokfast(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> groups() const override { return {"gradient_means", "momenta", "second_moments"}; }
  bool is_elementwise() const override { return false; }
  void Reset(const FlatLayout& layout, const std::vector<ParameterUnit>& units) override;
  bool Update(const OptimizerStep& step, FlatRange range) override;
  std::optional<Damage> FindCorruption(absl::Span<const float> parameters) const override;
  void CopyGroup(size_t group, absl::Span<float> flat) const override;
  void SetGroup(size_t group, absl::Span<const float> flat) override;

 private:
  static constexpr size_t kMeans = 0, kMomenta = 1, kSecondMoments = 2, kGroups = 3;

  struct Unit {
    int spec = 0;
    int64_t offset = 0, size = 0;
    int64_t rows = 0, width = 0;  // of a matrix that is orthogonalised; 0: AdamW's
    int64_t begin[kGroups] = {};  // in each group's state
    bool decays = true;           // whether weight_decay applies
    double rate_factor = 1;
    bool is_matrix() const { return rows > 0; }
    bool has(size_t group) const { return group != kSecondMoments || !is_matrix(); }
  };

  bool UpdateMatrix(const OptimizerStep& step, const Unit& unit, absl::Span<float> filtered);
  bool UpdateByAdamW(const OptimizerStep& step, const Unit& unit, absl::Span<const float> filtered);
  float* UnitState(const Unit& unit, size_t group) { return state_[group].data() + unit.begin[group]; }

  const OptimizerConfig config_;
  std::vector<Unit> units_;
  std::vector<float> state_[kGroups];  // of one unit after the other
};

}  // namespace reprise::rl

#endif  // RL_GRADIENT_SHARDED_MUON_H_
