#ifndef RL_GRADIENT_SHARDED_ADAMW_H_
#define RL_GRADIENT_SHARDED_ADAMW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/optimizer/adamw.h"
#include "rl/gradient/sharded_optimizer.h"

namespace reprise::rl {

// AdamW (kernels/optimizer/adamw.h). Its groups are the first and the second moments.
class ShardedAdamW final : public ShardedOptimizer {
 public:
  explicit ShardedAdamW(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> groups() const override { return {"first_moments", "second_moments"}; }
  bool is_elementwise() const override { return true; }
  void Reset(const FlatLayout& layout, const std::vector<ParameterUnit>& units) override;
  bool Update(const OptimizerStep& step, FlatRange range) override;
  std::optional<Damage> FindCorruption(absl::Span<const float> parameters) const override;
  void CopyGroup(size_t group, absl::Span<float> flat) const override;
  void SetGroup(size_t group, absl::Span<const float> flat) override;

 private:
  struct Unit {
    int spec = 0;
    int64_t offset = 0, size = 0;
    int64_t begin = 0;   // in the moments
    bool decays = true;  // whether weight_decay applies
    double rate_factor = 1;
  };
  // The step of units whose learning rate has this factor, and that decay.
  kernels::AdamWStep StepAt(const OptimizerStep& step, double rate_factor) const;

  const OptimizerConfig config_;
  std::vector<Unit> units_;
  std::vector<float> moments_[2];  // first and second, of one unit after the other
};

}  // namespace reprise::rl

#endif  // RL_GRADIENT_SHARDED_ADAMW_H_
