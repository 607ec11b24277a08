#ifndef RL_GRADIENT_SHARDED_OPTIMIZER_H_
#define RL_GRADIENT_SHARDED_OPTIMIZER_H_

// An optimizer over the parameters that a rank owns: their state is stored on that rank only (ZeRO stage 1, Rajbhandari
// et al. 2020). The state consists of named groups, each with one float for each parameter. No bit of an update may
// depend on which rank owns a unit.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/comm/exchange/ownership.h"
#include "core/tensor/flat_layout.h"
#include "rl/config/config.h"
#include "rl/gradient/parameter_units.h"
#include "rl/schedule/rate_factors.h"

namespace reprise::rl {

// One update; the arrays are flat, in the layout's order.
struct OptimizerStep {
  int64_t number = 1;  // since the last Reset, from 1
  double learning_rate = 0;
  double gradient_scale = 1;  // from norm clipping
  absl::Span<const float> gradient;
  absl::Span<float> parameters;
};

class ShardedOptimizer {
 public:
  virtual ~ShardedOptimizer() = default;

  // Returns the names of the groups, in the order in which files store them. They are the same for every object of the
  // class, also before the first Reset.
  virtual std::vector<std::string> groups() const = 0;

  // Returns whether the update of an element needs no other element. Then Update may be called with parts of units.
  virtual bool is_elementwise() const = 0;

  // Sets the state to that before the first update of `units`, ascending: those of `layout` that this rank owns. Called
  // before the functions below.
  virtual void Reset(const FlatLayout& layout, const std::vector<ParameterUnit>& units) = 0;

  // Updates this rank's parameters within `range`, and their state: whole units unless is_elementwise. Called by
  // several threads at once for ranges that do not overlap. Returns whether the results are within bounds
  // (core/tensor/bounds.h).
  virtual bool Update(const OptimizerStep& step, FlatRange range) = 0;

  // The first result of this rank, in parameter order, that an update left out of bounds.
  struct Damage {
    int spec = 0;       // index of the tensor in the layout
    int64_t place = 0;  // index in the flat array
    std::string of;     // "first moment of ", or "" for the parameter itself
    float value = 0;
    std::string remedy;  // besides a lower learning rate: "raise optimizer.epsilon (1e-08)"
  };
  virtual std::optional<Damage> FindCorruption(absl::Span<const float> parameters) const = 0;

  // Copy this rank's part of a group (an index into groups()) to or from a flat array; other elements do not change.
  virtual void CopyGroup(size_t group, absl::Span<float> flat) const = 0;
  virtual void SetGroup(size_t group, absl::Span<const float> flat) = 0;
};

// Returns optimizer.learning_rate_factors of a checked configuration. Both optimizers multiply the learning rate of a
// tensor, and with it its decay, by its factor.
std::vector<RateFactor> ReadRateFactors(const OptimizerConfig& config);

// Returns the learning rate of the tensors that AdamW updates under muon_grokfast, before their factors, in a step in
// which that of matrices is `learning_rate`: optimizer.fallback_learning_rate in proportion. Pure.
double FallbackRate(const OptimizerConfig& config, double learning_rate);

// Returns the optimizer that `config`, which must be checked, names. It takes no memory before its first Reset.
std::unique_ptr<ShardedOptimizer> MakeOptimizer(const OptimizerConfig& config);

}  // namespace reprise::rl

#endif  // RL_GRADIENT_SHARDED_OPTIMIZER_H_
